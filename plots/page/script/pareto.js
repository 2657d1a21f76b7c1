// Time against memory of cases that are choices against each other.

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
    // A difference of a per mille is not to look like one of half.
    const high = Math.max(...values), low = Math.min(...values), room = Math.max((high - low) * 0.08, high * 0.05);
    return linearScale(Math.max(0, low - room), high + room, from, to);
  };
  const wide = Math.min(width, 760), left = 72, right = wide - 30, top = 26, bottom = 360;
  const picture = drawing(wide, bottom + 46, `Step time against peak memory of ${counted(rows.length, "case")} of ${data.groups[state.group]}; ${front.length} of them ${front.length === 1 ? "is" : "are"} beaten by none in both: ${front.slice(0, 5).map((row) => row.label).join(", ")}.`);
  const x = padded(both("measured_s", "predicted_s"), left, right), y = padded(both("measured_bytes", "predicted_bytes"), bottom, top);
  const unit = 2 ** (10 * Math.max(0, Math.floor(Math.log2(y.high) / 10)));
  axes(picture, {x, y, xTicks: x.ticks(width < 480 ? 3 : 7), yTicks: linearTicks(y.low / unit, y.high / unit, 7).map((tick) => tick * unit),
    xName: "step time", yName: "peak memory of a rank", xFormat: onTick(seconds), yFormat: onTick(bytes), left, right, top, bottom});
  const steps = front.map((row, i) => `${i ? `H${x.at(row.measured_s)}V` : `M${x.at(row.measured_s)},${top}V`}${y.at(row.measured_bytes)}`).join("");
  picture.append(svg("path", {d: `${steps}H${right}`, class: "ideal"}));
  const looks = seriesLooks(rows);
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
