// Speed-up and efficiency over ranks.

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

/// Both ends, where launches give one; the record has that of the speed-up.
function intervalOf(scale, quantity) {
  return scale.speedup_interval && scale.speedup_interval.map((end) => (end * scale[quantity]) / scale.speedup);
}

function scalingOf(quantity, lines, looks, width) {
  const name = quantity === "speedup" ? "speed-up" : "efficiency", own = lines.flatMap(([, points]) => points);
  const overOne = own[0].scale.kind !== "same-cores";
  const measured = ({scale}) => scale[quantity], interval = ({scale}) => intervalOf(scale, quantity), predicted = ({scale}) => scale[`predicted_${quantity}`];
  const ideal = (np) => (overOne && quantity === "speedup" ? np : 1);
  const ranks = [...new Set([...(overOne ? [1] : []), ...own.map(({row}) => row.np)])].sort((a, b) => a - b);
  const high = Math.max(...own.flatMap((point) => [measured(point), predicted(point) || 0, ...(interval(point) || [])]), ...ranks.map(ideal)) * 1.06;
  const wide = Math.min(width, 760), left = 48, right = wide - 24, top = 26, bottom = 330;
  const picture = drawing(wide, bottom + 46, `${name} of ${counted(own.length, "case")} on ${ranks.join(", ")} ranks, measured and predicted: ${own[0].scale.panel}.`);
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
      const ends = interval(point), within = ends ? ` (95 %: ${ratio(ends[0])} to ${ratio(ends[1])})` : "";
      const text = `${point.row.title}: measured ${ratio(measured(point))}${within}, predicted ${ratio(predicted(point))}`;
      const px = x.at(point.row.np) + shift;
      if (ends) picture.append(svg("line", {x1: px, x2: px, y1: y.at(ends[0]), y2: y.at(ends[1]), stroke: look.colour, "stroke-width": 1}));
      if (known(predicted(point))) picture.append(svg("g", {}, title(text), marker(px, y.at(predicted(point)), look, false)));
      if (known(measured(point))) picture.append(svg("g", {}, title(text), marker(px, y.at(measured(point)), look)));
    }
  });
  return picture;
}

const endsOf = (quantity) => ["from", "to"].map((name, i) => [name, ({scale}) => (intervalOf(scale, quantity) || [])[i], ratio]);

function scaling(place, width, state, redraw) {
  const points = counting.flatMap((row) => (row.scaling || []).map((scale) => ({row, scale})));
  if (!points.length) return place.append(sentence("No record that counts has sequential training in its own file to be compared with: the same training on one rank with as many threads, of the same batch or of the same batch per rank; or of the same batch on as many cores."));
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
  const looks = seriesLooks(chosen.flatMap(([, line]) => line.map(({row}) => row)));
  const overOne = chosen[0][1][0].scale.kind !== "same-cores";
  // On as many cores the two are the same.
  const shown = overOne ? ["speedup", "efficiency"] : ["speedup"];
  beside(place, width, (each) => shown.map((quantity) => scalingOf(quantity, chosen, looks, each)));
  place.append(legend(legendOf(looks, chosen.map(([name]) => name))),
    el("p", {}, `Solid: measured, with the interval of its launches where there are three or more; hollow and dashed: predicted; dotted: ${overOne ? "what as many ranks could do at best." : "1, where ranks use the cores as well as threads do."}`),
    dataTable("Speed-up and efficiency", [["Case", ({row}) => row.title], ["Compared with", ({scale}) => scale.reference],
      ["Speed-up", ({scale}) => scale.speedup, ratio], ...endsOf("speedup"), ["Predicted speed-up", ({scale}) => scale.predicted_speedup, ratio],
      ["Efficiency", ({scale}) => scale.efficiency, ratio], ...endsOf("efficiency"), ["Predicted efficiency", ({scale}) => scale.predicted_efficiency, ratio]],
    all.flatMap(([, own]) => own)));
}
