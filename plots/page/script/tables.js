// Tables: sorted by their heads, filtered, and made of a chart's data.

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
/// Says of a table's box whether columns are out of sight.
function watchWidth(box) {
  new ResizeObserver(() => box.classList.toggle("wide", box.scrollWidth > box.clientWidth + 1)).observe(box);
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
    const box = el("div", {class: "scroll", tabindex: 0, role: "region", "aria-label": caption}, table);
    watchWidth(box);
    details.append(box);
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
