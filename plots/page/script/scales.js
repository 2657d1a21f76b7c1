// Numbers as people read them, and their places on paper.

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
  const least = Math.min(...values), most = Math.max(...values), room = most / least < 1.5 ? 1.6 : 1.15;
  const low = least / room, high = most * room;
  const at = (value) => from + (to - from) * (Math.log(value / low) / Math.log(high / low));
  const choices = {10: [[1, 2, 5], [1, 1.5, 2, 3, 4, 5, 6, 8]], 2: [[1], [1, 1.25, 1.5, 1.75]]};
  const ticks = (number, base) => {
    const [coarse, fine] = choices[base].map((steps) => logTicks(low, high, base, steps));
    return thinned(coarse.length > 3 ? coarse : fine, number);
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
