"use strict";
// Draws the page's charts from the JSON in #data and makes its tables sortable. What comes from results files is set as
// text and as attributes' values, never as markup.
(() => {
const data = JSON.parse(document.getElementById("data").textContent);
const counting = data.rows.filter((row) => row.counts);
const several = data.files.length > 1;
for (const row of data.rows) row.title = several ? `${row.id} (${data.files[row.file].label})` : row.id;

// ---- elements ----

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) if (value !== null) node.setAttribute(name, value);
  for (const child of children) node.append(child);
  return node;
}
const el = (name, attributes = {}, ...children) => fill(document.createElement(name), attributes, children);
const svg = (name, attributes = {}, ...children) =>
  fill(document.createElementNS("http://www.w3.org/2000/svg", name), attributes, children);
const title = (text) => svg("title", {}, text);
const words = (x, y, anchor, text, kind = null) => svg("text", {x, y, "text-anchor": anchor, class: kind}, text);
const line = (x1, y1, x2, y2, kind) => svg("line", {x1, y1, x2, y2, class: kind});
/// The chart itself: an image with one sentence; its data stand in a table below.
const drawing = (width, height, what) => svg("svg", {width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": what});

// ---- numbers ----

const known = (value) => typeof value === "number" && Number.isFinite(value);
function digits(value) {
  const size = Math.abs(value);
  if (size === 0) return "0";
  return size >= 100 ? value.toFixed(0) : size >= 10 ? value.toFixed(1) : size >= 1 ? value.toFixed(2) : value.toPrecision(3);
}
const trimmed = (text) => (text.includes(".") && !text.includes("e") ? text.replace(/\.?0+$/, "") : text);
const scaled = (units) => (value) => {
  if (!known(value)) return "-";
  if (value === 0) return `0 ${units.find(([least]) => least === 1)[1]}`;
  const [unit, name] = units.findLast(([least]) => Math.abs(value) >= least * 0.9995) || units[0];
  return `${digits(value / unit)} ${name}`;
};
const seconds = scaled([[1e-9, "ns"], [1e-6, "us"], [1e-3, "ms"], [1, "s"]]);
const bytes = scaled([[1, "B"], [2 ** 10, "KiB"], [2 ** 20, "MiB"], [2 ** 30, "GiB"], [2 ** 40, "TiB"]]);
const percent = (value) => (known(value) ? `${value > 0 ? "+" : ""}${(100 * value).toFixed(1)} %` : "-");
const ratio = (value) => (known(value) ? digits(value) : "-");
const onTick = (format) => (value) => format(value).replace(/^(-?[\d.]+)/, (text) => trimmed(text));

// ---- scales ----

function logTicks(low, high, base, steps) {
  const ticks = [];
  for (let power = Math.floor(Math.log(low) / Math.log(base)) - 1; base ** power <= high; ++power)
    for (const step of steps) if (step * base ** power >= low && step * base ** power <= high) ticks.push(step * base ** power);
  return ticks;
}
/// At most `most` of them, evenly chosen.
const thinned = (ticks, most) => ticks.filter((_, i) => i % Math.ceil(ticks.length / most) === 0);
function linearTicks(low, high, most) {
  const rough = (high - low) / most || 1, power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((size) => size >= rough);
  const ticks = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + step * 1e-9; ++i) ticks.push(i * step);
  return ticks;
}
function logScale(values, from, to) {
  const low = Math.min(...values) / 1.15, high = Math.max(...values) * 1.15;
  const at = (value) => from + (to - from) * (Math.log(value / low) / Math.log(high / low));
  const choices = {10: [[1, 2, 5], [1, 1.5, 2, 3, 4, 5, 6, 8]], 2: [[1], [1, 1.25, 1.5, 1.75]]};
  const ticks = (most, base) => {
    const [coarse, fine] = choices[base].map((steps) => logTicks(low, high, base, steps));
    return thinned(coarse.length > 3 ? coarse : fine, most);
  };
  return {at, low, high, ticks};
}
function linearScale(low, high, from, to) {
  const at = (value) => from + ((to - from) * (value - low)) / (high - low || 1);
  return {at, low, high, ticks: (most) => linearTicks(low, high, most)};
}
/// Grid, ticks, axes and their names.
function axes(picture, {x, y, xTicks, yTicks, xName, yName, xFormat, yFormat, left, right, top, bottom}) {
  for (const tick of xTicks) {
    picture.append(line(x.at(tick), top, x.at(tick), bottom, "grid"));
    picture.append(words(x.at(tick), bottom + 16, "middle", xFormat(tick)));
  }
  for (const tick of yTicks) {
    picture.append(line(left, y.at(tick), right, y.at(tick), "grid"));
    picture.append(words(left - 6, y.at(tick) + 4, "end", yFormat(tick)));
  }
  picture.append(line(left, bottom, right, bottom, "axis"), line(left, top, left, bottom, "axis"));
  picture.append(words((left + right) / 2, bottom + 36, "middle", xName, "axis-name"));
  picture.append(words(2, top - 10, "start", yName, "axis-name"));
}

// ---- looks: the palette of Okabe and Ito (2008), which colour-blind people tell apart, and shapes beside it ----

const palette = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#8C8C8C", "#F0E442"];
const shapes = [
  "M-5,0a5,5 0 1,0 10,0a5,5 0 1,0 -10,0", "M-4.5,-4.5h9v9h-9z", "M0,-6L5.5,4H-5.5z", "M0,-6L5.5,0L0,6L-5.5,0z",
  "M0,6L5.5,-4H-5.5z", "M-2,-6h4v4h4v4h-4v4h-4v-4h-4v-4h4z", "M-5,-5L0,-2L5,-5L2,0L5,5L0,2L-5,5L-2,0z", "M-6,-2.5h12v5h-12z",
];
const lookOf = (index) => ({
  colour: palette[index % 8], shape: shapes[(index + Math.floor(index / 8)) % 8],
});
/// A look for each name, in the order of names.
const looksOf = (names) => new Map([...new Set(names)].sort().map((name, i) => [name, lookOf(i)]));
const strategyLooks = looksOf(counting.map((row) => row.strategy));

function marker(x, y, look, solid = true) {
  return svg("path", {
    d: look.shape, transform: `translate(${x.toFixed(1)},${y.toFixed(1)})`, fill: look.colour, "fill-opacity": solid ? 0.85 : 0,
    stroke: solid ? "var(--text)" : look.colour, "stroke-width": solid ? 0.6 : 1.8,
  });
}
const swatch = (drawn) => svg("svg", {width: 22, height: 16, viewBox: "-11 -8 22 16", "aria-hidden": "true"}, drawn);
const legend = (items) => el("ul", {class: "legend"}, ...items.map(([mark, text]) => el("li", {}, mark, text)));
const legendOf = (looks, names) => [...new Set(names)].sort().map((name) => [swatch(marker(0, 0, looks.get(name))), name]);

// Kinds of time and of operations; every second one is hatched as well.
const kindLooks = {
  forward: ["#56B4E9", null], backward: ["#E69F00", null], recompute: ["#CC79A7", "up"], update: ["#F0E442", null],
  communication_exposed: ["#D55E00", "down"], bubble: ["#D9D9D9", "dots"], data_wait: ["#0072B2", "up"], other: ["#8C8C8C", null],
  F: ["#56B4E9", null], B: ["#E69F00", null], I: ["#D55E00", "down"], W: ["#009E73", null], R: ["#CC79A7", "up"],
  U: ["#F0E442", null], N: ["#8C8C8C", "dots"],
};
const operationNames = {F: "forward", B: "backward", I: "input gradient", W: "weight gradient", R: "recompute", U: "update", N: "norms"};
let patterns = 0;
/// Hatchings of one picture; the prefix keeps those of different pictures apart.
function hatchings(picture) {
  const prefix = `hatch${++patterns}-`;
  const pattern = (name, ...drawn) => svg("pattern", {id: prefix + name, width: 6, height: 6, patternUnits: "userSpaceOnUse"}, ...drawn);
  picture.append(svg("defs", {},
    pattern("up", svg("path", {d: "M-1,1l2,-2M0,6l6,-6M5,7l2,-2", class: "hatch"})),
    pattern("down", svg("path", {d: "M-1,5l2,2M0,0l6,6M5,-1l2,2", class: "hatch"})),
    pattern("dots", svg("circle", {cx: 2, cy: 2, r: 0.9}))));
  return prefix;
}
function bar(prefix, kind, x, y, width, height, text) {
  const [colour, hatch] = kindLooks[kind] || ["#8C8C8C", null];
  const box = {x: x.toFixed(2), y, width: Math.max(width, 0).toFixed(2), height};
  const group = svg("g", {}, title(text), svg("rect", {...box, fill: colour, stroke: "#000", "stroke-width": 0.4}));
  if (hatch) group.append(svg("rect", {...box, fill: `url(#${prefix}${hatch})`}));
  return group;
}
function kindLegend(kinds, nameOf) {
  return legend(kinds.map((kind) => {
    const mark = svg("svg", {width: 22, height: 16, viewBox: "0 0 22 16", "aria-hidden": "true"});
    mark.append(bar(hatchings(mark), kind, 1, 1, 20, 14, nameOf(kind)));
    return [mark, nameOf(kind)];
  }));
}

// ---- tables ----

const plainText = (cell) => cell.textContent.trim();
function sortValue(row, column) {
  const cell = row.cells[column];
  if (cell.dataset.v !== undefined) return Number(cell.dataset.v);
  const text = plainText(cell);
  return text === "-" ? null : text;
}
/// Missing values come last, whichever the direction.
function compare(a, b, sign) {
  if (a === null || b === null) return (a === null) - (b === null);
  if (typeof a === "number" && typeof b === "number") return sign * (a - b);
  return sign * String(a).localeCompare(String(b), "en", {numeric: true});
}
function makeSortable(table) {
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => {
    const button = el("button", {type: "button"}, plainText(head));
    head.replaceChildren(button);
    head.setAttribute("aria-sort", "none");
    button.addEventListener("click", () => {
      const ascending = head.getAttribute("aria-sort") !== "ascending";
      for (const other of heads) other.setAttribute("aria-sort", "none");
      head.setAttribute("aria-sort", ascending ? "ascending" : "descending");
      const body = table.tBodies[0];
      const rows = [...body.rows].map((row) => [sortValue(row, column), row]);
      rows.sort((a, b) => compare(a[0], b[0], ascending ? 1 : -1));
      body.append(...rows.map(([, row]) => row));
    });
  });
}
function cell(value, format) {
  if (!format) return el("td", {class: "word"}, value === null || value === undefined ? "-" : String(value));
  return el("td", known(value) ? {"data-v": value} : {}, format(value));
}
/// The data of a chart, made when they are asked for. Columns: [name, of a row, format of a number].
function dataTable(caption, columns, rows) {
  const details = el("details", {}, el("summary", {}, `Table: ${caption.toLowerCase()}`));
  details.addEventListener("toggle", () => {
    if (!details.open || details.querySelector("table")) return;
    const table = el("table", {}, el("caption", {}, caption),
      el("thead", {}, el("tr", {}, ...columns.map(([name, , format]) => el("th", {scope: "col", class: format ? null : "word"}, name)))),
      el("tbody", {}, ...rows.map((row) => el("tr", {}, ...columns.map(([, read, format], i) =>
        i === 0 ? el("th", {scope: "row"}, String(read(row))) : cell(read(row), format))))));
    makeSortable(table);
    details.append(el("div", {class: "scroll", tabindex: 0, role: "region", "aria-label": caption}, table));
  });
  return details;
}
function startFilter() {
  const rows = [...document.querySelectorAll("#cases tbody tr")].map((row) => [row, row.textContent.toLowerCase()]);
  const box = document.getElementById("filter"), only = document.getElementById("only-counting"), shown = document.getElementById("shown");
  document.getElementById("case-controls").hidden = false;
  const apply = () => {
    const parts = box.value.toLowerCase().split(/\s+/).filter(Boolean);
    let left = 0;
    for (const [row, text] of rows) {
      row.hidden = !parts.every((part) => text.includes(part)) || (only.checked && row.classList.contains("left-out"));
      left += !row.hidden;
    }
    shown.textContent = `${left} of ${rows.length} shown`;
  };
  box.addEventListener("input", apply);
  only.addEventListener("change", apply);
  apply();
}

// ---- charts: each draws into its place for a width, and again when that changes ----

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

function parityOf(q, rows, width) {
  const side = Math.min(width, 560), left = 64, right = side - 24, top = 26, bottom = side - 46;
  const within = rows.filter((row) => Math.abs(row[q.error]) <= 0.1).length;
  const picture = drawing(side, side, `Predicted against measured ${q.name} of ${rows.length} cases on logarithmic axes; ${within} predictions are within 10 percent.`);
  const intervals = (row) => (q.intervals ? q.intervals.flatMap((name) => row[name]) : []);
  const ends = rows.flatMap((row) => [row[q.measured], row[q.predicted], ...intervals(row)]).filter((value) => value > 0);
  const low = ends.reduce((a, b) => Math.min(a, b)), high = ends.reduce((a, b) => Math.max(a, b));
  const x = logScale([low, high], left, right), y = logScale([low, high], bottom, top);
  const ticks = x.ticks(side < 420 ? 4 : 7, q.base);
  const band = [[x.low, 1.1], [x.high, 1.1], [x.high, 1 / 1.1], [x.low, 1 / 1.1]]
    .map(([value, factor]) => [x.at(value), Math.min(bottom, Math.max(top, y.at(value * factor)))]);
  picture.append(svg("polygon", {points: band.map((point) => point.join(",")).join(" "), class: "band"}));
  axes(picture, {x, y, xTicks: ticks, yTicks: ticks, xName: `measured ${q.name}`, yName: `predicted ${q.name}`,
    xFormat: onTick(q.format), yFormat: onTick(q.format), left, right, top, bottom});
  picture.append(line(x.at(x.low), y.at(x.low), x.at(x.high), y.at(x.high), "ideal"));
  for (const row of rows) {
    const look = strategyLooks.get(row.strategy), px = x.at(row[q.measured]), py = y.at(row[q.predicted]);
    const group = svg("g", {}, title(`${row.title}: predicted ${q.format(row[q.predicted])}, measured ${q.format(row[q.measured])}, ${percent(row[q.error])}`));
    if (q.intervals) {
      const [[a, b], [c, d]] = q.intervals.map((name) => row[name]);
      if (a > 0 && b > 0) group.append(svg("path", {d: `M${x.at(a)},${py}H${x.at(b)}`, stroke: look.colour, "stroke-width": 1.3}));
      if (c > 0 && d > 0) group.append(svg("path", {d: `M${px},${y.at(c)}V${y.at(d)}`, stroke: look.colour, "stroke-width": 1.3}));
    }
    group.append(marker(px, py, look, row.checked));
    picture.append(group);
  }
  return picture;
}

function parity(place, width) {
  const rowsOf = (q) => counting.filter((row) => row[q.measured] > 0 && row[q.predicted] > 0);
  const rows = rowsOf(quantities.time);
  if (!rows.length) return place.append(sentence("No record that counts has a predicted and a measured step time."));
  beside(place, width, (each) => Object.values(quantities).map((q) => rowsOf(q).length && parityOf(q, rowsOf(q), each)));
  const hollow = rows.some((row) => !row.checked) ? " Hollow marks were not checked for equivalence." : "";
  place.append(legend(legendOf(strategyLooks, rows.map((row) => row.strategy))),
    el("p", {}, `On the dotted line predictions are right, in the band within 10 %. Bars are the 95 % interval of the measured median and the interval of the prediction.${hollow}`),
    dataTable("Predicted and measured", [["Case", (row) => row.title], ["Predicted step", (row) => row.predicted_s, seconds],
      ["Measured step", (row) => row.measured_s, seconds], ["Error", (row) => row.time_error, percent],
      ["Predicted peak", (row) => row.predicted_bytes, bytes], ["Measured peak", (row) => row.measured_bytes, bytes],
      ["Error", (row) => row.memory_error, percent]], rows));
}

function errors(place, width) {
  const rows = counting.filter((row) => known(row.time_error));
  if (!rows.length) return place.append(sentence("No record that counts was predicted and measured."));
  const names = [...new Set(rows.map((row) => row.strategy))].sort();
  for (const q of Object.values(quantities)) {
    const points = rows.filter((row) => known(row[q.error]));
    if (!points.length) continue;
    const most = points.reduce((high, row) => Math.max(high, Math.abs(row[q.error])), 0.05);
    const edge = Math.min(most, 2) * 1.05;
    const left = Math.min(120, width * 0.33), right = width - 30, top = 12, step = 24, bottom = top + step * names.length + 4;
    const median = [...points].map((row) => Math.abs(row[q.error])).sort((a, b) => a - b)[Math.floor((points.length - 1) / 2)];
    const picture = drawing(width, bottom + 46, `Errors of ${q.name} by strategy, ${points.length} cases: half of them are below ${(100 * median).toFixed(1)} percent, the largest is ${(100 * most).toFixed(1)} percent.`);
    const x = linearScale(-edge, edge, left, right);
    for (const tick of x.ticks(width < 480 ? 4 : 10)) {
      picture.append(line(x.at(tick), top, x.at(tick), bottom, Math.abs(tick) < 1e-9 ? "axis" : "grid"),
        words(x.at(tick), bottom + 16, "middle", `${tick > 1e-9 ? "+" : ""}${trimmed((100 * tick).toFixed(1))} %`));
    }
    picture.append(words((left + right) / 2, bottom + 38, "middle", `error of ${q.name}`, "axis-name"));
    names.forEach((name, i) => {
      const own = points.filter((row) => row.strategy === name), middle = top + step * (i + 0.5);
      picture.append(words(left - 8, middle + 4, "end", name));
      own.forEach((row, k) => {
        // Spread over the row's height, always alike, so that many points stay apart.
        const offset = own.length < 2 ? 0 : (((k * 0.618034) % 1) - 0.5) * Math.min(step - 10, own.length);
        const value = Math.max(-edge, Math.min(edge, row[q.error]));
        const mark = svg("g", {}, title(`${row.title}: ${percent(row[q.error])}`), marker(x.at(value), middle + offset, strategyLooks.get(name), row.checked));
        picture.append(mark);
      });
    });
    place.append(picture);
    if (most > 2) place.append(el("p", {}, "Errors beyond 200 % are drawn at the edge."));
  }
  place.append(dataTable("Errors of each case", [["Case", (row) => row.title], ["Step time", (row) => row.time_error, percent],
    ["Peak memory", (row) => row.memory_error, percent]], rows));
}

const mostBy = (rows, size) => rows.reduce((best, row) => (size(row) > size(best) ? row : best));
const caseOptions = (rows) => rows.map((row) => [String(data.rows.indexOf(row)), row.title]);

function breakdown(place, width, state, redraw) {
  const rows = counting.filter((row) => row.breakdown);
  if (!rows.length) return place.append(sentence("No record that counts holds where its ranks' time went."));
  state.row ??= mostBy(rows, (row) => row.breakdown.ranks.length);
  const row = state.row, parts = row.breakdown, fields = data.breakdown_fields;
  place.append(el("p", {class: "controls"}, choice("Case", caseOptions(rows), data.rows.indexOf(row),
    (value) => { state.row = data.rows[Number(value)]; redraw(); })));
  const bars = [];
  parts.ranks.forEach((rank, i) => {
    if (parts.predicted) bars.push([rank, "predicted", parts.predicted[i]]);
    bars.push([rank, "measured", parts.measured[i]]);
  });
  const total = (values) => values.reduce((sum, value) => sum + (value || 0), 0);
  const longest = bars.reduce((high, [, , values]) => Math.max(high, total(values)), 0) || 1;
  const left = 128, right = width - 30, top = 10, step = 20;
  const yOf = (i) => top + step * i + 8 * (parts.predicted ? Math.floor(i / 2) : i);
  const bottom = yOf(bars.length - 1) + step + 4;
  const picture = drawing(width, bottom + 46, `Where the time of a step goes on ${parts.ranks.length} ranks of ${row.title}, ${parts.predicted ? "predicted and measured" : "measured"}; the longest bar is ${seconds(longest)}.`);
  const prefix = hatchings(picture), x = linearScale(0, longest, left, right);
  for (const tick of x.ticks(width < 480 ? 3 : 8)) {
    picture.append(line(x.at(tick), top, x.at(tick), bottom, "grid"), words(x.at(tick), bottom + 16, "middle", onTick(seconds)(tick)));
  }
  picture.append(words((left + right) / 2, bottom + 38, "middle", "time of a step", "axis-name"));
  bars.forEach(([rank, half, values], i) => {
    picture.append(words(left - 8, yOf(i) + 14, "end", `rank ${rank} ${half}`));
    let begin = 0;
    values.forEach((value, k) => {
      if (!(value > 0)) return;
      picture.append(bar(prefix, fields[k], x.at(begin), yOf(i), x.at(begin + value) - x.at(begin), step - 2, `rank ${rank}, ${half}: ${fields[k].replace("_", " ")} ${seconds(value)}`));
      begin += value;
    });
  });
  const used = fields.filter((_, k) => bars.some(([, , values]) => values[k] > 0));
  place.append(picture, kindLegend(used, (kind) => kind.replace("_", " ")));
  if (parts.of > parts.ranks.length) place.append(el("p", {}, `${parts.ranks.length} of ${parts.of} ranks are drawn; the results file holds all.`));
  place.append(dataTable("Seconds of each rank", [["Rank", ([rank]) => rank], ["Predicted or measured", ([, half]) => half],
    ...fields.map((name, k) => [name.replace("_", " "), ([, , values]) => values[k], seconds])], bars));
}

/// Rows of a drawing that are points of a line, by its name.
function seriesName(row) { return several ? `${row.series} (${data.files[row.file].label})` : row.series; }

const mostLines = 8;

/// The lines of a drawing: [name, points by number of ranks], fastest on most ranks first.
function linesOf(points) {
  const lines = new Map();
  for (const point of points) {
    const name = seriesName(point.row);
    if (!lines.has(name)) lines.set(name, []);
    lines.get(name).push(point);
  }
  for (const line of lines.values()) line.sort((a, b) => a.row.np - b.row.np);
  const best = (line) => line[line.length - 1].scale.speedup;
  return [...lines].sort(([, a], [, b]) => b[b.length - 1].row.np - a[a.length - 1].row.np || best(b) - best(a));
}

function scalingOf(quantity, lines, looks, width) {
  const name = quantity === "speedup" ? "speed-up" : "efficiency", own = lines.flatMap(([, points]) => points);
  const overOne = own[0].scale.kind !== "same-cores";
  const measured = ({scale}) => scale[quantity], predicted = ({scale}) => scale[`predicted_${quantity}`];
  const ideal = (np) => (overOne && quantity === "speedup" ? np : 1);
  const ranks = [...new Set([...(overOne ? [1] : []), ...own.map(({row}) => row.np)])].sort((a, b) => a - b);
  const high = Math.max(...own.flatMap((point) => [measured(point), predicted(point) || 0]), ...ranks.map(ideal)) * 1.06;
  const wide = Math.min(width, 760), left = 48, right = wide - 24, top = 26, bottom = 330;
  const picture = drawing(wide, bottom + 46, `${name} of ${own.length} cases on ${ranks.join(", ")} ranks, measured and predicted: ${own[0].scale.panel}.`);
  const single = ranks.length === 1;
  const x = single ? {at: () => (left + right) / 2} : logScale([ranks[0], ranks[ranks.length - 1]], left, right);
  const y = linearScale(0, high, bottom, top);
  axes(picture, {x, y, xTicks: ranks, yTicks: y.ticks(8), xName: "ranks", yName: name, xFormat: String,
    yFormat: (tick) => trimmed(tick.toFixed(2)), left, right, top, bottom});
  const best = single ? [[left, 1], [right, 1]] : ranks.map((np) => [x.at(np), ideal(np)]);
  picture.append(svg("polyline", {class: "ideal", points: best.map(([px, value]) => `${px},${y.at(value)}`).join(" ")}));
  lines.forEach(([series, points], i) => {
    const look = looks.get(series);
    // Side by side where all have the same number of ranks.
    const shift = single ? (i - (lines.length - 1) / 2) * Math.min(34, (right - left - 30) / lines.length) : 0;
    const path = (read) => points.filter((point) => known(read(point))).map((point) => `${x.at(point.row.np) + shift},${y.at(read(point))}`).join(" ");
    picture.append(svg("polyline", {points: path(predicted), fill: "none", stroke: look.colour, "stroke-width": 1, "stroke-dasharray": "3 3"}),
      svg("polyline", {points: path(measured), fill: "none", stroke: look.colour, "stroke-width": 2}));
    for (const point of points) {
      const text = `${point.row.title}: measured ${ratio(measured(point))}, predicted ${ratio(predicted(point))}`;
      const px = x.at(point.row.np) + shift;
      if (known(predicted(point))) picture.append(svg("g", {}, title(text), marker(px, y.at(predicted(point)), look, false)));
      picture.append(svg("g", {}, title(text), marker(px, y.at(measured(point)), look)));
    }
  });
  return picture;
}

function scaling(place, width, state, redraw) {
  const points = counting.flatMap((row) => (row.scaling || []).map((scale) => ({row, scale})));
  if (!points.length) return place.append(sentence("No record that counts has sequential training to be compared with: the same training on one rank with as many threads, of the same batch or of the same batch per rank; or of the same batch on as many cores."));
  const panels = new Map();
  for (const point of points) {
    if (!panels.has(point.scale.panel)) panels.set(point.scale.panel, []);
    panels.get(point.scale.panel).push(point);
  }
  const numbersOfRanks = (name) => new Set(panels.get(name).map(({row}) => row.np)).size;
  const names = [...panels.keys()].sort((a, b) => numbersOfRanks(b) - numbersOfRanks(a) || panels.get(b).length - panels.get(a).length);
  state.panel ??= names[0];
  const all = linesOf(panels.get(state.panel)), strategies = [...new Set(panels.get(state.panel).map(({row}) => row.strategy))].sort();
  if (!state.lines || ![...strategies, "fastest", "all"].includes(state.lines)) state.lines = all.length > mostLines ? "fastest" : "all";
  const fastest = all.length > mostLines ? [["fastest", `the fastest ${mostLines}`]] : [];
  place.append(el("p", {class: "controls"},
    choice("Work", names.map((name) => [name, name]), state.panel, (value) => { state.panel = value; state.lines = null; redraw(); }),
    choice("Lines", [...fastest, ["all", `all ${all.length}`], ...strategies.map((name) => [name, name])], state.lines, (value) => { state.lines = value; redraw(); })));
  const chosen = {fastest: all.slice(0, mostLines), all}[state.lines] || all.filter(([, [first]]) => first.row.strategy === state.lines);
  const looks = looksOf(chosen.map(([name]) => name));
  beside(place, width, (each) => ["speedup", "efficiency"].map((quantity) => scalingOf(quantity, chosen, looks, each)));
  const overOne = chosen[0][1][0].scale.kind !== "same-cores";
  place.append(legend(legendOf(looks, looks.keys())),
    el("p", {}, `Solid: measured; hollow and dashed: predicted; dotted: ${overOne ? "what as many ranks could do at best." : "1, where ranks use the cores as well as threads do."}`),
    dataTable("Speed-up and efficiency", [["Case", ({row}) => row.title], ["Compared with", ({scale}) => scale.reference],
      ["Speed-up", ({scale}) => scale.speedup, ratio], ["Predicted speed-up", ({scale}) => scale.predicted_speedup, ratio],
      ["Efficiency", ({scale}) => scale.efficiency, ratio], ["Predicted efficiency", ({scale}) => scale.predicted_efficiency, ratio]],
    all.flatMap(([, own]) => own)));
}

function pareto(place, width, state, redraw) {
  const groups = new Map();
  for (const row of counting) {
    if (row.group === undefined || !(row.measured_s > 0) || !(row.measured_bytes > 0)) continue;
    groups.set(row.group, [...(groups.get(row.group) || []), row]);
  }
  if (!groups.size) return place.append(sentence("No record that counts has both a time and a memory."));
  const ids = [...groups.keys()].sort((a, b) => groups.get(b).length - groups.get(a).length || a - b);
  state.group ??= ids[0];
  place.append(el("p", {class: "controls"}, choice("Same work on as many cores", ids.map((id) => [String(id), `${data.groups[id]} (${groups.get(id).length})`]), state.group,
    (value) => { state.group = Number(value); redraw(); })));
  const rows = groups.get(state.group), front = rows.filter((row) => row.front.measured).sort((a, b) => a.measured_s - b.measured_s);
  const both = (measured, predicted) => rows.flatMap((row) => [row[measured], row[predicted]]).filter((value) => value > 0);
  const padded = (values, from, to) => {
    const high = Math.max(...values), low = Math.min(...values), room = (high - low || high) * 0.08;
    return linearScale(Math.max(0, low - room), high + room, from, to);
  };
  const wide = Math.min(width, 760), left = 72, right = wide - 30, top = 26, bottom = 360;
  const picture = drawing(wide, bottom + 46, `Step time against peak memory of ${rows.length} cases of ${data.groups[state.group]}; ${front.length} of them are beaten by none in both: ${front.slice(0, 5).map((row) => row.label).join(", ")}.`);
  const x = padded(both("measured_s", "predicted_s"), left, right), y = padded(both("measured_bytes", "predicted_bytes"), bottom, top);
  const unit = 2 ** (10 * Math.max(0, Math.floor(Math.log2(y.high) / 10)));
  axes(picture, {x, y, xTicks: x.ticks(width < 480 ? 3 : 7), yTicks: linearTicks(y.low / unit, y.high / unit, 7).map((tick) => tick * unit),
    xName: "step time", yName: "peak memory of a rank", xFormat: onTick(seconds), yFormat: onTick(bytes), left, right, top, bottom});
  const steps = front.map((row, i) => `${i ? `H${x.at(row.measured_s)}V` : `M${x.at(row.measured_s)},${top}V`}${y.at(row.measured_bytes)}`).join("");
  picture.append(svg("path", {d: `${steps}H${right}`, class: "ideal"}));
  const looks = looksOf(rows.map(seriesName));
  for (const row of rows) {
    const look = looks.get(seriesName(row)), px = x.at(row.measured_s), py = y.at(row.measured_bytes);
    const group = svg("g", {}, title(`${row.title}: measured ${seconds(row.measured_s)}, ${bytes(row.measured_bytes)}; predicted ${seconds(row.predicted_s)}, ${bytes(row.predicted_bytes)}`));
    if (row.predicted_s > 0 && row.predicted_bytes > 0) {
      const qx = x.at(row.predicted_s), qy = y.at(row.predicted_bytes);
      group.append(svg("path", {d: `M${px},${py}L${qx},${qy}`, stroke: look.colour, "stroke-width": 1, "stroke-dasharray": "3 3"}), marker(qx, qy, look, false));
    }
    group.append(marker(px, py, look));
    if (row.front.measured) group.append(svg("circle", {cx: px, cy: py, r: 10, fill: "none", class: "edge"}));
    picture.append(group);
  }
  place.append(picture, legend(legendOf(looks, rows.map(seriesName))),
    el("p", {}, "Solid: measured; hollow: predicted; ringed, on the dotted line: no other case is as fast with as little memory."),
    dataTable("Time and memory", [["Case", (row) => row.title], ["Measured step", (row) => row.measured_s, seconds], ["Measured peak", (row) => row.measured_bytes, bytes],
      ["On the front", (row) => (row.front.measured ? "yes" : "no")], ["Predicted step", (row) => row.predicted_s, seconds], ["Predicted peak", (row) => row.predicted_bytes, bytes],
      ["On the predicted front", (row) => (row.front.predicted ? "yes" : "no")]], rows));
}

/// "1F12" is stage, kind and number; an update is "U".
function operation(text) {
  const match = /^(\d*)([A-Z])(.*)$/.exec(text);
  return match ? {kind: match[2], number: match[3]} : {kind: "", number: text};
}
function grids(place, width, state, redraw) {
  const rows = counting.filter((row) => row.timeline), leftOut = counting.filter((row) => row.timeline_left_out).length;
  if (!rows.length) return place.append(sentence("No record that counts holds the operations of a step. As predicted, a schedule is drawn by parabench plan CASE --format svg."));
  state.row ??= mostBy(rows, (row) => (row.timeline.measured || row.timeline.predicted).ranks_us.length);
  place.append(el("p", {class: "controls"}, choice("Case", caseOptions(rows), data.rows.indexOf(state.row),
    (value) => { state.row = data.rows[Number(value)]; redraw(); })));
  const halves = ["predicted", "measured"].filter((half) => state.row.timeline[half]).map((half) => [half, state.row.timeline[half].ranks_us]);
  const spansOf = (flat) => Array.from({length: flat.length / 3}, (_, i) => flat.slice(3 * i, 3 * i + 3));
  const end = Math.max(1, ...halves.map(([, ranks]) => ranks.reduce((high, flat) => spansOf(flat).reduce((most, span) => Math.max(most, span[2]), high), 0)));
  const left = 40, right = width - 26, height = 24, gap = 4;
  const top = (i) => 24 + halves.slice(0, i).reduce((sum, [, ranks]) => sum + ranks.length * (height + gap) + 30, 0);
  const bottom = top(halves.length) - 22;
  const picture = drawing(width, bottom + 46, `Operations of one step of ${state.row.title} on each rank, ${halves.map(([half]) => half).join(" above ")}, on one scale of time up to ${seconds(end / 1e6)}.`);
  const prefix = hatchings(picture), x = linearScale(0, end, left, right), kinds = new Set();
  halves.forEach(([half, ranks], i) => {
    picture.append(words(left, top(i) - 8, "start", half, "axis-name"));
    ranks.forEach((flat, rank) => {
      const y = top(i) + rank * (height + gap);
      picture.append(words(left - 6, y + 16, "end", `p${rank}`), svg("rect", {x: left, y, width: right - left, height, class: "waiting"}));
      for (const [text, begin, finish] of spansOf(flat)) {
        const {kind, number} = operation(text), size = x.at(finish) - x.at(begin);
        kinds.add(kind in operationNames ? kind : "");
        picture.append(bar(prefix, kind, x.at(begin), y, size, height, `${half}, rank ${rank}: ${text}, ${seconds(begin / 1e6)} to ${seconds(finish / 1e6)}`));
        const label = size >= 7 * (kind + number).length + 4 ? kind + number : size >= 7 * number.length + 3 ? number : "";
        if (label) picture.append(words(x.at(begin) + size / 2, y + 16, "middle", label, "ink"));
      }
    });
  });
  for (const tick of x.ticks(width < 480 ? 3 : 8)) {
    picture.append(line(x.at(tick), bottom, x.at(tick), bottom + 5, "axis"), words(x.at(tick), bottom + 18, "middle", onTick(seconds)(tick / 1e6)));
  }
  picture.append(words((left + right) / 2, bottom + 40, "middle", "time since the step's begin", "axis-name"));
  place.append(picture, kindLegend(Object.keys(operationNames).filter((kind) => kinds.has(kind)), (kind) => `${kind}: ${operationNames[kind]}`));
  if (leftOut) place.append(el("p", {}, `The steps of ${leftOut} more cases are left out, to keep this page small; a report of fewer cases draws them.`));
  const spans = halves.flatMap(([half, ranks]) => ranks.flatMap((flat, rank) => spansOf(flat).map((span) => [half, rank, ...span])));
  place.append(dataTable("Operations of the step", [["Operation", (span) => span[2]], ["Predicted or measured", (span) => span[0]], ["Rank", (span) => span[1], String],
    ["Begin", (span) => span[3] / 1e6, seconds], ["End", (span) => span[4] / 1e6, seconds]], spans));
}

function start(place, draw) {
  const state = {};
  let drawn = 0;
  const redraw = () => {
    const focused = [...place.querySelectorAll("select")].indexOf(document.activeElement);
    drawn = Math.max(280, Math.floor(place.clientWidth));
    place.replaceChildren();
    draw(place, drawn, state, redraw);
    if (focused >= 0) place.querySelectorAll("select")[focused].focus();
  };
  redraw();
  new ResizeObserver(() => { if (Math.abs(place.clientWidth - drawn) > 1 && place.clientWidth >= 280) redraw(); }).observe(place);
}

// ---- light and dark ----

function startTheme() {
  const root = document.documentElement, button = document.getElementById("theme");
  const prefersDark = matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => (root.dataset.theme || (prefersDark.matches ? "dark" : "light")) === "dark";
  const show = () => { button.textContent = isDark() ? "Light colours" : "Dark colours"; };
  button.addEventListener("click", () => { root.dataset.theme = isDark() ? "light" : "dark"; show(); });
  prefersDark.addEventListener("change", show);
  button.hidden = false;
  show();
}

startTheme();
for (const table of document.querySelectorAll("table.sortable")) makeSortable(table);
startFilter();
const charts = {parity, errors, breakdown, scaling, pareto, grids};
for (const place of document.querySelectorAll("[data-chart]")) start(place, charts[place.dataset.chart]);
})();
