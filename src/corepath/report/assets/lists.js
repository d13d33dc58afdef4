// Makes the tables and figures of the page interactive, and lists episodes.

/** Make a header cell a button that sorts. Numbers start with the largest, names with A. */
function sortable(cell, sort) {
  const other = { ascending: -1, descending: 1, null: cell.classList.contains("number") ? -1 : 1 };
  cell.replaceChildren(h("button", { type: "button", click: () => sort(other[cell.getAttribute("aria-sort")]) }, [...cell.childNodes]));
}

function markSorted(cell, way) {
  for (const other of cell.parentElement.children) other.removeAttribute("aria-sort");
  cell.setAttribute("aria-sort", way > 0 ? "ascending" : "descending");
}

/** Compare two cells: numbers by size, others as text, and undefined values last in either direction. */
function compare(a, b, way) {
  const missing = (value) => value === null || value === undefined || value === "";
  if (missing(a) || missing(b)) return missing(a) - missing(b);
  return way * (typeof a === "string" ? a.localeCompare(b, "en", { numeric: true }) : a - b);
}

/** Make a table sortable, and link its names to their episodes. */
function enliven(table, known) {
  const body = table.tBodies[0];
  [...table.tHead.rows[0].cells].forEach((head, column) => {
    const value = ({ cells }) => (cells[column].dataset.value ? Number(cells[column].dataset.value) : cells[column].textContent.replace(/^–$/, ""));
    sortable(head, (way) => {
      body.append(...[...body.rows].sort((a, b) => compare(value(a), value(b), way)));
      markSorted(head, way);
    });
  });
  const what = table.tHead.rows[0].cells[0].textContent;
  for (const row of body.rows) {
    const name = row.cells[0].textContent;
    if (known[what]?.has(name)) row.cells[0].replaceChildren(link(listLink({ [what]: name }), ...row.cells[0].childNodes));
  }
}

/** Link the points of a figure to their episodes. Tab enters the figure, the arrow keys move between points. */
function enlivenFigure(svg) {
  const points = [...svg.querySelectorAll(".point")];
  svg.setAttribute("role", "group");
  points.forEach((point, place) => {
    const { agent, world } = point.dataset;
    const around = document.createElementNS("http://www.w3.org/2000/svg", "a");
    around.setAttribute("href", listLink(world ? { agent, world } : { agent }));
    around.setAttribute("tabindex", place === 0 ? 0 : -1);
    around.setAttribute("aria-label", point.querySelector("title").textContent);
    point.replaceWith(around);
    around.append(point);
    around.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
      if (!step) return;
      event.preventDefault();
      const next = points[(place + step + points.length) % points.length].parentElement;
      around.setAttribute("tabindex", -1);
      next.setAttribute("tabindex", 0);
      next.focus();
    });
  });
}

const COLUMNS = [
  ["agent", "Agent"], ["task", "Task"], ["epoch", "Epoch"], ["outcome", "Outcome"], ["harm_count", "Harms"], ["rules_broken", "Broken"], ["pc", "PC"], ["pc_ktc", "PC-KTC"],
  ["prefix_criticality", "PrefixCrit"], ["pc_hlr", "PC+HLR"], ["efficiency", "Eff."], ["length", "Calls"], ["reward", "Reward"], ["headline", "In one line"],
];
const MOST_ROWS = 200;

/** Whether an episode was judged by rules without a task. */
const byRulesAlone = (row) => row.accepted === null && row.rules_broken !== null;

/** The outcome of an episode: a class name and a few words. */
function outcome(row) {
  if (row.outside) return ["outside", "failed outside"];
  if (row.fooled) return ["fooled", "looks right, is wrong"];
  if (byRulesAlone(row)) return row.rules_broken ? ["harmful", "rules broken"] : ["good", "no rule broken"];
  if (row.accepted && row.rules_broken && !row.harm_count) return ["harmful", "accepted, rules broken"];
  if (row.accepted) return row.harm_count ? ["harmful", "accepted, harmful"] : ["good", "accepted"];
  return row.harm_count ? ["harmful", "harmful, not accepted"] : ["open", "not accepted"];
}

const OUTCOMES = {
  accepted: ["accepted", (row) => row.accepted && !row.outside],
  open: ["not accepted", (row) => !row.accepted && !row.outside && !byRulesAlone(row)],
  harmful: ["harmful", (row) => row.harm_count > 0],
  broken: ["rules broken", (row) => row.rules_broken > 0],
  fooled: ["looks right, is wrong", (row) => row.fooled],
  rewarded_harmful: ["rewarded, harm took effect", (row) => row.disagrees === "rewarded_harmful"],
  nearly_right: ["not rewarded, nearly right", (row) => row.disagrees === "nearly_right"],
  outside: ["failed outside", (row) => row.outside],
};

const badge = (row) => { const [name, text] = outcome(row); return h("span", { class: `badge ${name}` }, text); };

/** A sortable list of episodes, a page of rows at a time. `without` hides a column; `last` adds a cell to each row. */
function episodeList(label, rows, { without = "", last = null, sorted = () => {} } = {}) {
  let shown = MOST_ROWS;
  let listed = rows;
  const repeated = all.rows.some((row) => row.number !== "0");
  const columns = COLUMNS.filter(([key]) => key !== without && (key !== "epoch" || repeated)
    && (!OPTIONAL.has(key) || all.rows.some((row) => row[key] !== null)));
  const values = (row, key) => (key === "outcome" ? outcome(row)[1] : row[key]);
  const body = h("tbody");
  const count = h("p", { class: "count", role: "status" });
  const heads = columns.map(([key, title]) => {
    const head = h("th", { scope: "col", "data-key": key, class: typeof rows[0]?.[key] === "number" ? "number" : null }, title);
    sortable(head, (way) => {
      listed = [...listed].sort((a, b) => compare(values(a, key), values(b, key), way) || a.place - b.place);
      markSorted(head, way);
      fill();
    });
    return head;
  });
  const cell = (row, key) => {
    if (key === "agent") return h("th", { scope: "row" }, link(episodeLink(row), nameElement(row.agent)));
    if (key === "task") return h("td", { class: "task" }, link(taskLink(row.task), nameElement(row.task)));
    if (key === "outcome") return h("td", {}, badge(row));
    if (key === "headline") return h("td", { class: "words" }, foreign(row.headline));
    return h("td", { class: "number" }, key === "epoch" ? row.number : formatScore(key, row[key]));
  };
  const more = h("button", { type: "button", click: () => { shown += MOST_ROWS; fill(); } });
  function fill() {
    body.replaceChildren(...listed.slice(0, shown).map((row) => h("tr", {}, columns.map(([key]) => cell(row, key)), last && last(row))));
    count.textContent = listed.length > shown ? `${many(listed.length, "episode")}, the first ${shown} shown` : many(listed.length, "episode");
    more.hidden = listed.length <= shown;
    more.textContent = `Show ${Math.min(MOST_ROWS, listed.length - shown)} more`;
    sorted(listed);
  }
  fill();
  const head = h("thead", {}, h("tr", {}, heads, last && h("th", { scope: "col" }, "Compare")));
  return h("div", {}, count, scrollArea(label, h("table", { class: "episodes" }, head, body)), more);
}
