// What charts have in common. Each is a function that draws into its place for a width, and again when that changes.

function choice(label, options, chosen, onChange) {
  const select = el("select", {}, ...options.map(([value, text]) => el("option", {value}, text)));
  select.value = String(chosen);
  select.addEventListener("change", () => onChange(select.value));
  return el("label", {}, label, " ", select);
}
const sentence = (text) => el("p", {class: "note"}, text);

const quantities = {
  time: {name: "step time", format: seconds, base: 10, measured: "measured_s", predicted: "predicted_s", error: "time_error",
    intervals: ["measured_interval_s", "predicted_interval_s"]},
  memory: {name: "peak memory", format: bytes, base: 2, measured: "measured_bytes", predicted: "predicted_bytes", error: "memory_error"},
};

/// Two drawings beside each other where there is room.
function beside(place, width, draw) {
  const both = width >= 760, each = both ? Math.floor((width - 24) / 2) : width;
  const pair = el("div", {class: both ? "pair" : null});
  place.append(pair);
  for (const picture of draw(each)) if (picture) pair.append(picture);
}

const mostBy = (rows, size) => rows.reduce((best, row) => (size(row) > size(best) ? row : best));
const caseOptions = (rows) => rows.map((row) => [String(data.rows.indexOf(row)), row.title]);
/// Rows of a drawing that are points of a line, by its name.
function seriesName(row) { return several ? `${row.series} (${data.files[row.file].label})` : row.series; }
