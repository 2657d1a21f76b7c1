// Colours, shapes and hatches, and their legends.

// The palette of Okabe and Ito (2008), which colour-blind people tell apart, and shapes beside it.
const palette = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#8C8C8C", "#F0E442"];
const shapes = [
  "M-5,0a5,5 0 1,0 10,0a5,5 0 1,0 -10,0", "M-4.5,-4.5h9v9h-9z", "M0,-6L5.5,4H-5.5z", "M0,-6L5.5,0L0,6L-5.5,0z",
  "M0,6L5.5,-4H-5.5z", "M-2,-6h4v4h4v4h-4v4h-4v-4h-4v-4h4z", "M-5,-5L0,-2L5,-5L2,0L5,5L0,2L-5,5L-2,0z", "M-6,0L4,-5.5V5.5z",
];
// By the place in the table of strategies, so that a strategy looks the same in every report and in figures on paper.
const lookOf = (place) => ({
  colour: palette[place % 8], shape: shapes[(place + Math.floor(place / 8)) % 8],
});
const unlike = (names) => [...new Set(names)].sort();
const strategyLooks = new Map(counting.map((row) => [row.strategy, lookOf(row.strategy_place)]));
// Signs on a marker tell apart the lines of one strategy, which share its colour and shape.
const signs = [null, "M-3,0h6", "M0,-3v6", "M-3,0h6M0,-3v6", "M-2.5,-2.5l5,5", "M-2.5,2.5l5,-5", "M-2.5,-2.5l5,5M-2.5,2.5l5,-5", "M-3,-1.5h6M-3,1.5h6"];
/// A look for the line of each row: of all rows that count, so that it is the same in every chart, unless a strategy has
/// more lines than there are signs.
function seriesLooks(rows) {
  const looks = new Map();
  for (const [strategy, look] of strategyLooks) {
    const linesOfAll = (all) => unlike(all.filter((row) => row.strategy === strategy).map(seriesName));
    const all = linesOfAll(counting), lines = all.length <= signs.length ? all : linesOfAll(rows);
    lines.forEach((name, i) => looks.set(name, {...look, sign: signs[i % signs.length]}));
  }
  return looks;
}

function marker(x, y, look, solid = true) {
  const transform = `translate(${x.toFixed(1)},${y.toFixed(1)})`;
  const shape = svg("path", {
    d: look.shape, transform, fill: look.colour, "fill-opacity": solid ? 0.85 : 0,
    stroke: solid ? "var(--text)" : look.colour, "stroke-width": solid ? 0.6 : 1.8,
  });
  if (!look.sign) return shape;
  return svg("g", {}, shape, svg("path", {d: look.sign, transform, stroke: solid ? "#000" : look.colour, "stroke-width": 1.6, fill: "none"}));
}
const swatch = (drawn) => svg("svg", {width: 22, height: 16, viewBox: "-11 -8 22 16", "aria-hidden": "true"}, drawn);
const legend = (items) => el("ul", {class: "legend"}, ...items.map(([mark, text]) => el("li", {}, mark, text)));
const legendOf = (looks, names) => [...new Set(names)].sort().map((name) => [swatch(marker(0, 0, looks.get(name))), name]);

// Kinds of time and of operations; every second one is hatched as well.
const kindLooks = {
  forward: ["#56B4E9", null], backward: ["#E69F00", null], recompute: ["#CC79A7", "up"], update: ["#F0E442", null],
  communication_exposed: ["#D55E00", "down"], bubble: ["#E4E4E4", "dots"], data_wait: ["#0072B2", "up"], other: ["#8C8C8C", null],
  F: ["#56B4E9", null], B: ["#E69F00", null], I: ["#D55E00", "down"], W: ["#009E73", null], R: ["#CC79A7", "up"],
  U: ["#F0E442", null], N: ["#8C8C8C", "dots"], S: ["#785EF0", null], A: ["#0072B2", "up"],
};
const operationNames = {F: "forward", B: "backward", I: "input gradient", W: "weight gradient", R: "recompute", U: "update", N: "norms",
  S: "sum of gradients", A: "average"};
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
