// Errors by strategy.

function errors(place, width) {
  const rows = counting.filter((row) => known(row.time_error));
  if (!rows.length) return place.append(sentence("No record that counts was predicted and measured."));
  const names = [...new Set(rows.map((row) => row.strategy))].sort();
  for (const q of Object.values(quantities)) {
    const points = rows.filter((row) => known(row[q.error]));
    if (!points.length) continue;
    const most = points.reduce((high, row) => Math.max(high, Math.abs(row[q.error])), 0);
    const edge = Math.max(0.05, Math.min(most, 2)) * 1.05;
    const left = Math.min(120, width * 0.33), right = width - 30, top = 12, step = 24, bottom = top + step * names.length + 4;
    const median = [...points].map((row) => Math.abs(row[q.error])).sort((a, b) => a - b)[Math.floor((points.length - 1) / 2)];
    const picture = drawing(width, bottom + 46, `Errors of ${q.name} by strategy, ${counted(points.length, "case")}: half of them are at most ${(100 * median).toFixed(1)} percent, the largest is ${(100 * most).toFixed(1)} percent.`);
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
