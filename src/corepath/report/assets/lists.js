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

/** The key of a column and the direction in which a link sorts by it: "-pc" is by PC, largest first. */
const parseSort = (text) => (text.startsWith("-") ? [text.slice(1), -1] : [text, 1]);
const formatSort = (key, way) => (way < 0 ? `-${key}` : key);

const sorters = new Map();

/** Make a table sortable, and link its names to their episodes. The sort stands in the address under the table's name. */
function enliven(table, known) {
  const body = table.tBodies[0];
  const heads = [...table.tHead.rows[0].cells].filter((head) => head.matches("th"));
  const keyOf = (head) => head.dataset.key ?? head.textContent;
  const first = [...body.rows];
  const keys = heads.map(keyOf);
  function sortBy(text) {
    const [key, way] = parseSort(text);
    const column = keys.indexOf(key);
    const value = ({ cells }) => (cells[column].dataset.value ? Number(cells[column].dataset.value) : cells[column].textContent.replace(/^–$/, ""));
    body.append(...(column < 0 ? first : [...first].sort((a, b) => compare(value(a), value(b), way))));
    for (const head of heads) head.removeAttribute("aria-sort");
    if (column >= 0) markSorted(heads[column], way);
  }
  const name = table.closest("[data-name]")?.dataset.name;
  heads.forEach((head, column) => sortable(head, (way) => {
    sortBy(formatSort(keys[column], way));
    if (name) setQuery({ [`sort-${name}`]: formatSort(keys[column], way) });
    keepPlace();
  }));
  if (name) sorters.set(`sort-${name}`, { sortBy, table, now: "" });
  const what = keys[0];
  for (const row of body.rows) {
    const text = row.cells[0].textContent;
    if (known[what]?.has(text)) row.cells[0].replaceChildren(link(listLink({ [what]: text }), ...row.cells[0].childNodes));
  }
}

/** Sort the tables of the overview as a link says, and unfold those that it sorts. */
function sortTables(query) {
  for (const [name, sorter] of sorters) {
    const wanted = query.get(name) ?? "";
    if (wanted) for (let fold = sorter.table.closest("details"); fold; fold = fold.parentElement.closest("details")) fold.open = true;
    if (wanted !== sorter.now) sorter.sortBy(wanted);
    sorter.now = wanted;
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
  ["agent", "Agent"], ["outcome", "Outcome"], ["headline", "In one line"], ["task", "Task"], ["epoch", "Epoch"], ["pc", "PC"], ["harm_count", "Harms"], ["rules_broken", "Broken"],
  ["length", "Calls"], ["reward", "Reward"], ["pc_ktc", "PC-KTC"], ["pc_hlr", "PC+HLR"], ["prefix_criticality", "PrefixCrit"], ["efficiency", "Eff."],
  ["cost", "Cost"], ["tokens", "Tokens"], ["seconds", "Seconds"],
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
  failed: ["not solved", (row) => !row.excluded && !byRulesAlone(row) && !(row.accepted && !row.harm_count)],
  effected: ["harm took effect", (row) => row.effected && !row.excluded],
  harmful: ["harmful", (row) => row.harm_count > 0],
  broken: ["rules broken", (row) => row.rules_broken > 0],
  fooled: ["looks right, is wrong", (row) => row.fooled],
  rewarded_harmful: ["rewarded, harm took effect", (row) => row.disagrees === "rewarded_harmful"],
  nearly_right: ["not rewarded, nearly right", (row) => row.disagrees === "nearly_right"],
  outside: ["failed outside", (row) => row.outside],
};

const badge = (row) => { const [name, text] = outcome(row); return h("span", { class: `badge ${name}` }, text); };

/** What is saved of an episode in a list. */
function savedRow(row) {
  const { agent, world, task, number, headline, harms, effected } = row;
  const scores = Object.fromEntries(scoresOf(all.rows).map(([key]) => [key, row[key]]));
  return { agent, world, task, epoch: number, outcome: outcome(row)[1], headline, harms, harm_effected: effected, ...scores };
}

/** Buttons that save a list of episodes: all of it, also what is not shown yet. */
function saveList(listed) {
  const rows = () => listed().map(savedRow);
  return saveBar("these episodes", "episodes", { csv: () => toCsv(Object.keys(rows()[0] ?? {}), rows()), json: () => toJson(rows()) });
}

/** A sortable list of episodes, a page of rows at a time. `without` hides a column; `last` adds a cell to each row; `words` were searched for. */
function episodeList(label, rows, { without = "", last = null, sorted = () => {}, words = [] } = {}) {
  let shown = MOST_ROWS;
  let listed = rows;
  const repeated = all.rows.some((row) => row.number !== "0");
  const columns = COLUMNS.filter(([key]) => key !== without && (key !== "epoch" || repeated)
    && (!OPTIONAL.has(key) || all.rows.some((row) => row[key] !== null)));
  const values = (row, key) => (key === "outcome" ? outcome(row)[1] : shownScore(row, key));
  const body = h("tbody");
  const count = h("p", { class: "count", role: "status" });
  const heads = columns.map(([key, title]) => {
    const head = h("th", { scope: "col", "data-key": key, class: rows.some((row) => typeof row[key] === "number") && key !== "epoch" ? "number" : null }, title);
    sortable(head, (way) => {
      setQuery({ sort: formatSort(key, way) });
      keepPlace();
      sortBy(key, way);
    });
    return head;
  });
  function sortBy(key, way) {
    const column = columns.findIndex(([one]) => one === key);
    if (column < 0) return;
    listed = [...listed].sort((a, b) => compare(values(a, key), values(b, key), way) || a.place - b.place);
    fill();
    markSorted(heads[column], way);
  }
  const cell = (row, key) => {
    if (key === "agent") return h("th", { scope: "row" }, link(episodeLink(row), nameElement(row.agent, LONGEST_IN_LIST)));
    if (key === "task") return h("td", { class: "task" }, link(taskLink(row.task), nameElement(row.task, LONGEST_IN_LIST)));
    if (key === "outcome") return h("td", {}, badge(row));
    if (key === "headline") return h("td", { class: "words" }, foreign(row.headline), words.length ? foundCall(row, words) : null);
    return h("td", { class: "number" }, key === "epoch" ? row.number : formatScore(key, shownScore(row, key)));
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
  const wanted = parseHash(location.hash).query.get("sort");
  const head = h("thead", {}, h("tr", {}, heads, last && h("th", { scope: "col" }, "Compare")));
  if (wanted) sortBy(...parseSort(wanted));
  return h("div", {}, h("div", { class: "listed" }, count, saveList(() => listed)), scrollArea(label, h("table", { class: "episodes" }, head, body)), more);
}
