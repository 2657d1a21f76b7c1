// The operations of a step, predicted above measured.

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
