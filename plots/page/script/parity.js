// Predicted against measured.

function parityOf(q, rows, width) {
  const side = Math.min(width, 560), left = 64, right = side - 24, top = 26, bottom = side - 46;
  const within = rows.filter((row) => Math.abs(row[q.error]) <= 0.1).length;
  const picture = drawing(side, side, `Predicted against measured ${q.name} of ${counted(rows.length, "case")} on logarithmic axes; ${counted(within, "prediction")} ${within === 1 ? "is" : "are"} within 10 percent.`);
  const intervals = (row) => (q.intervals ? q.intervals.flatMap((name) => row[name]) : []);
  const ends = rows.flatMap((row) => [row[q.measured], row[q.predicted], ...intervals(row)]).filter((value) => value > 0);
  const low = ends.reduce((a, b) => Math.min(a, b)), high = ends.reduce((a, b) => Math.max(a, b));
  const x = logScale([low, high], left, right), y = logScale([low, high], bottom, top);
  const ticks = x.ticks(side < 420 ? 4 : 7, q.base);
  // From corner to corner, within the frame; errors are relative to what was measured.
  const [first, last] = [x.low, x.high];
  const band = [[first, first], [first, first * 1.1], [last / 1.1, last], [last, last], [last, last * 0.9], [first / 0.9, first]]
    .map(([across, up]) => [x.at(across), y.at(up)]);
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
    el("p", {}, `On the dotted line predictions are right, in the band within 10 %. Bars are the 95 % interval of the measured median, over launches where there are several and over the steps of a single one, and the interval of the prediction.${hollow}`),
    dataTable("Predicted and measured", [["Case", (row) => row.title], ["Predicted step", (row) => row.predicted_s, seconds],
      ["Measured step", (row) => row.measured_s, seconds], ["Error", (row) => row.time_error, percent],
      ["Predicted peak", (row) => row.predicted_bytes, bytes], ["Measured peak", (row) => row.measured_bytes, bytes],
      ["Error", (row) => row.memory_error, percent]], rows));
}
