// Where each rank's time goes.

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
  const picture = drawing(width, bottom + 46, `Where the time of a step goes on ${counted(parts.ranks.length, "rank")} of ${row.title}, ${parts.predicted ? "predicted and measured" : "measured"}; the longest bar is ${seconds(longest)}.`);
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
