// Saves tables, figures and the list of episodes as files.

/** Offer a text as a file to save. */
function save(name, type, text) {
  const url = URL.createObjectURL(new Blob([text], { type }));
  h("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}

/** A value as a cell of CSV. Text that a spreadsheet would read as a formula gets an apostrophe. */
function csvCell(value) {
  if (value === null || value === undefined) return "";
  if (typeof value !== "string") return String(value);
  const safe = /^[=+\-@\t\r]/.test(value) ? `'${visible(value)}` : visible(value);
  return /[",\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

const toCsv = (keys, rows) => `${[keys, ...rows.map((row) => keys.map((key) => row[key]))].map((cells) => cells.map(csvCell).join(",")).join("\n")}\n`;
const toJson = (rows) => `${JSON.stringify(rows, null, 2)}\n`;

/** The keys and the rows of a table on the page, with numbers that are not rounded for display. `more` continues the table. */
function tableData(table, ...more) {
  const heads = [...table.tHead.rows[0].cells].map((head, place) => [head.dataset.key ?? (head.matches("th") ? head.textContent : ""), place]).filter(([key]) => key);
  const value = (cell) => {
    if (cell.dataset.saved !== undefined) return cell.dataset.saved;
    const number = cell.dataset.value ?? cell.dataset.muted;
    if (number !== undefined) return Number(number);
    return cell.textContent === "–" ? null : cell.textContent;
  };
  const lines = [table, ...more].flatMap((one) => [...one.tBodies[0].rows]);
  return { keys: heads.map(([key]) => key), rows: lines.map(({ cells }) => Object.fromEntries(heads.map(([key, place]) => [key, value(cells[place])]))) };
}

/** Buttons that save something: `makers` has a function for each ending, which returns the text of the file. */
function saveBar(label, name, makers) {
  const types = { csv: "text/csv", json: "application/json", svg: "image/svg+xml" };
  return h("div", { class: "save" }, "Save as ", Object.entries(makers).map(([ending, make]) => h("button", {
    type: "button", "aria-label": `Save ${label} as ${ending.toUpperCase()}`,
    click: async () => save(`${name}.${ending}`, types[ending], await make()),
  }, ending.toUpperCase())));
}

const FIGURES = new Set(["agents", "heat-map", "core-versus-bfcl", "pareto"]);

/** Add buttons that save a table or a figure of the overview below it. */
function addSaveBars() {
  for (const place of overview.querySelectorAll("[data-name]")) {
    const { name } = place.dataset;
    const table = place.querySelector("table");
    const tables = [table, ...(place.parentElement.querySelectorAll(":scope > details > .scroll:not([data-name]) > table"))];
    const data = table ? { csv: () => { const { keys, rows } = tableData(...tables); return toCsv(keys, rows); }, json: () => toJson(tableData(...tables).rows) } : {};
    const drawn = FIGURES.has(name) ? { svg: async () => `${(await blockData("drawn"))[name]}\n` } : {};
    const bar = saveBar(place.getAttribute("aria-label") ?? place.querySelector("figcaption").textContent, name, { ...data, ...drawn });
    if (table) place.after(bar);
    else place.append(bar);
  }
}
