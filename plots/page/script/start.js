// Starts everything.

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
for (const box of document.querySelectorAll(".scroll")) watchWidth(box);
startFilter();
const charts = {parity, errors, breakdown, scaling, pareto, grids};
for (const place of document.querySelectorAll("[data-chart]")) start(place, charts[place.dataset.chart]);
