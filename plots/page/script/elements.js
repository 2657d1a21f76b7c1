// The data, and elements made of it. What comes from results files is set as text and as attributes' values, never as
// markup.

const data = JSON.parse(document.getElementById("data").textContent);
const counting = data.rows.filter((row) => row.counts);
const several = data.files.length > 1;
for (const row of data.rows) {
  row.title = several ? `${row.id} (${data.files[row.file].label})` : row.id;
  for (const scale of row.scaling || []) {
    scale.panel = data.panels[scale.panel];
    scale.reference = data.references[scale.reference];
  }
}

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) if (value !== null) node.setAttribute(name, value);
  for (const child of children) node.append(child);
  return node;
}
const el = (name, attributes = {}, ...children) => fill(document.createElement(name), attributes, children);
const svg = (name, attributes = {}, ...children) =>
  fill(document.createElementNS("http://www.w3.org/2000/svg", name), attributes, children);
const counted = (number, noun) => `${number} ${noun}${number === 1 ? "" : "s"}`;
const title = (text) => svg("title", {}, text);
const words = (x, y, anchor, text, kind = null) => svg("text", {x, y, "text-anchor": anchor, class: kind}, text);
const line = (x1, y1, x2, y2, kind) => svg("line", {x1, y1, x2, y2, class: kind});
/// The chart itself: an image with one sentence; its data stand in a table below.
const drawing = (width, height, what) => svg("svg", {width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": what});
