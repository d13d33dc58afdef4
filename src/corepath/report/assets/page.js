// The overview, and the routing from the address to a view.

// ---- The overview ----

const overview = document.getElementById("overview");
const view = document.getElementById("view");
const filters = document.getElementById("filters");
const all = { rows: [], listed: [], rules: [] };

function fillFilters({ names, rules }) {
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
}

/** The episodes that match the filters. */
function matchingRows() {
  const wanted = Object.fromEntries(new FormData(filters));
  const words = wanted.text.toLowerCase().split(/\s+/).filter(Boolean);
  return all.rows.filter((row) => {
    const text = `${row.agent} ${row.task} ${row.headline} ${row.harms} ${spell(row.harms)} ${outcome(row)[1]}`.toLowerCase();
    return (!wanted.agent || visible(row.agent) === wanted.agent) && (!wanted.world || visible(row.world) === wanted.world)
      && (!wanted.rule || row.broken.some((number) => all.rules[number] === wanted.rule)) && (!wanted.outcome || OUTCOMES[wanted.outcome][1](row)) && words.every((word) => text.includes(word));
  });
}

function showList(...notes) {
  const list = document.getElementById("list");
  if (!all.rows.length) return list.replaceChildren(h("p", {}, "There are no episodes to list."));
  list.replaceChildren(...notes, episodeList("Episodes", matchingRows(), { sorted: (listed) => { all.listed = listed; } }));
}

/** Write the filters into the address, so that a link leads to the same list. */
function filtersChanged() {
  const set = [...new FormData(filters)].filter(([, value]) => value);
  history.replaceState(null, "", set.length ? listLink(set) : "#/");
  left.hash = location.hash;
  showList();
}

/** Set the filters from a query, and show the list again if they changed. */
function filterBy(query) {
  const fields = ["text", "agent", "world", "outcome", "rule"].map((name) => [filters.elements[name], query.get(name) ?? ""]);
  if (fields.every(([field, value]) => field.value === value)) return;
  for (const [field, value] of fields) field.value = value;
  const lost = fields.filter(([field, value]) => value && field.value !== value);
  for (const [field] of lost) field.value = "";
  showList(...lost.map(([field, value]) => h("p", { class: "gone" }, `This page has no ${field.name} '`, nameElement(value), "'.")));
}

const left = { hash: "", top: 0 };

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
  left.hash = location.hash;
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

/** Show the view that the address names. */
async function route() {
  turn += 1;
  keys = {};
  const { hash } = location;
  const { parts: [what, ...names], query } = parseHash(hash);
  if (hash && !hash.startsWith("#/")) {
    const section = document.getElementById(hash.slice(1));
    return section?.matches("#overview > section") ? showOverview(section) : showMissing(`This page has nothing at '${hash}'.`);
  }
  if (!what) {
    filterBy(query);
    return showOverview([...query].length ? document.getElementById("episodes") : null);
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
  showList();
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
