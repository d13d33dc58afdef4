// The overview, and the routing from the address to a view.

// ---- The overview ----

const overview = document.getElementById("overview");
const view = document.getElementById("view");
const filters = document.getElementById("filters");
const all = { rows: [], listed: [], rules: [] };

function fillFilters(index) {
  const { names, rules } = index;
  for (const what of ["agent", "world"]) {
    for (const name of [...names[what]].sort()) filters.elements[what].append(h("option", { value: visible(name) }, visible(name)));
  }
  for (const [key, [words, holds]] of Object.entries(OUTCOMES)) {
    if (all.rows.some(holds)) filters.elements.outcome.append(h("option", { value: key }, words));
  }
  const offended = rules.filter((_, number) => all.rows.some((row) => row.broken.includes(number)));
  for (const rule of offended) filters.elements.rule.append(h("option", { value: visible(rule) }, visible(cut(rule, 80))));
  filters.elements.rule.parentElement.hidden = !offended.length;
  all.rules = rules.map((rule) => visible(rule));
  filters.hidden = !all.rows.length;
  fillFixFilters(index);
}

/** The episodes that match the filters. */
function matchingRows() {
  const wanted = Object.fromEntries(new FormData(filters));
  const words = searchWords(wanted.text);
  return all.rows.filter((row) => (!wanted.agent || visible(row.agent) === wanted.agent) && (!wanted.world || visible(row.world) === wanted.world)
      && (!wanted.rule || row.broken.some((number) => all.rules[number] === wanted.rule)) && (!wanted.outcome || OUTCOMES[wanted.outcome][1](row)) && matchesFix(row, wanted) && matchesWords(row, words));
}

function showList(...notes) {
  const list = document.getElementById("list");
  showNarrowed();
  if (!all.rows.length) return list.replaceChildren(h("p", {}, "There are no episodes to list."));
  const words = searchWords(filters.elements.text.value);
  if (words.length && !callTexts.ready) {
    notes.push(h("p", { class: "note", role: "status" }, "Looking into the calls …"));
    readCalls().then(() => showList());
  }
  list.replaceChildren(...notes, episodeList("Episodes", matchingRows(), { words, sorted: (listed) => { all.listed = listed; } }));
}

/** Remember the address of the overview, so that coming back to it leads to the same place. */
function keepPlace() {
  if (overview.hidden) return;
  left.hash = location.hash;
  if (location.hash.startsWith("#/")) left.query = location.hash.split(/\?(.*)/s)[1] ?? "";
}

/** Write the filters into the address, so that a link leads to the same list. */
function filtersChanged() {
  setQuery(Object.fromEntries(new FormData(filters)));
  keepPlace();
  showList();
}

/** Set the filters from a query, and show the list that they ask for. */
function filterBy(query) {
  const fields = [...filters.elements].filter(({ name }) => name).map((field) => [field, query.get(field.name) ?? ""]);
  for (const [field, value] of fields) field.value = value;
  const lost = fields.filter(([field, value]) => value && field.value !== value);
  for (const [field] of lost) field.value = "";
  showList(...lost.map(([field, value]) => h("p", { class: "gone" }, `This page has no ${field.name} '`, nameElement(value), "'.")));
}

const left = { hash: "", query: "", top: 0 };

/** Show the overview: where the reader left it if the address is the same, else at an element or at the top. */
function showOverview(element = null) {
  document.title = "corepath report";
  document.getElementById("trail").replaceChildren();
  view.hidden = true;
  view.replaceChildren();
  overview.hidden = false;
  if (location.hash === left.hash) window.scrollTo(0, left.top);
  else if (element) element.scrollIntoView();
  else window.scrollTo(0, 0);
  keepPlace();
}

/** Show another view in place of the overview. */
function show(title, trail, ...children) {
  if (!overview.hidden) left.top = window.scrollY;
  overview.hidden = true;
  view.hidden = false;
  view.replaceChildren(...children.flat(2).filter(Boolean));
  document.title = `${visible(cut(title, 100))} – corepath`;
  document.getElementById("trail").replaceChildren(...trail.flatMap((one) => ["› ", one, " "]));
  window.scrollTo(0, 0);
  const heading = view.querySelector("h1");
  heading.tabIndex = -1;
  heading.focus({ preventScroll: true });
}

function showMissing(text) {
  show("Not here", [], h("h1", {}, "Not here"), h("p", {}, foreign(cut(text, 600))), h("p", {}, link("#/", "All episodes of this page")));
}

// ---- Routing ----

let keys = {};
let turn = 0;

/** A function that says, after waiting for data, whether the reader is still at the same address. */
function currentTurn() {
  const mine = turn;
  return () => mine === turn;
}

const MOVED = { heat: "worlds" };

/** The section that a query of the overview is about, or null. */
function sectionOf(query) {
  const has = (...names) => names.some((name) => query.has(name));
  if (has("sort", ...[...filters.elements].map(({ name }) => name).filter(Boolean))) return document.getElementById("episodes");
  if (has("a", "b", "by")) return document.getElementById("compare");
  return [...sorters].find(([name]) => query.has(name))?.[1].table.closest("section") ?? null;
}

/** Show the view that the address names. */
async function route() {
  turn += 1;
  keys = {};
  const { hash } = location;
  const { parts: [what, ...names], query } = parseHash(hash);
  if (hash && !hash.startsWith("#/")) {
    const section = document.getElementById(MOVED[hash.slice(1)] ?? hash.slice(1));
    return section?.matches("#overview > section") ? showOverview(section) : showMissing(`This page has nothing at '${hash}'.`);
  }
  if (!what) {
    if (hash !== left.hash) {
      filterBy(query);
      sortTables(query);
      showPair(query);
    }
    return showOverview(sectionOf(query));
  }
  if (what === "task" && names.length === 1) return showTask(names[0]);
  if (what === "episode" && names.length === 3) return showEpisode(...names, query);
  if (what === "diff" && names.length === 5) return showDiff(...names);
  return showMissing(`This page has nothing at '${hash}'.`);
}

async function start() {
  history.scrollRestoration = "manual";
  const index = await blockData("index");
  all.rows = rowsOf(index);
  fillFilters(index);
  const options = (what) => new Set([...filters.elements[what].options].map(({ value }) => value).filter(Boolean));
  const known = { agent: options("agent"), world: options("world"), rule: options("rule") };
  for (const table of overview.querySelectorAll("table")) enliven(table, known);
  for (const svg of overview.querySelectorAll("svg.scatter")) enlivenFigure(svg);
  addSaveBars();
  addTips();
  await startComparing();
  openForPrint();
  if (!location.hash.startsWith("#/?")) showList();
  for (const kind of ["input", "change"]) filters.addEventListener(kind, filtersChanged);
  filters.addEventListener("reset", () => setTimeout(filtersChanged));
  filters.addEventListener("submit", (event) => event.preventDefault());
  window.addEventListener("hashchange", route);
  document.addEventListener("keydown", pressKey);
  document.querySelector(".skip").addEventListener("click", (event) => {
    event.preventDefault();
    document.getElementById("main").focus();
  });
  await route();
  document.documentElement.dataset.ready = "";
}

start();
