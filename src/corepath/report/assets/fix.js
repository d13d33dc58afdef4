// What to fix: filters the list by cause and by harmful calls, and links the examples to their episodes.

const NARROWED = ["fault", "tool", "harm", "effect"];
const fixing = { causes: [], kinds: [], harms: [] };

function addOptions(name, values, words = (value) => value) {
  for (const value of new Set(values)) filters.elements[name].append(h("option", { value }, cut(words(value), 80)));
}

/** Fill the filters by cause, by kind of cause, and by the tool, kind and effect of a harmful call. */
function fillFixFilters({ causes, harmed }) {
  fixing.causes = causes.names.map((name) => visible(name));
  fixing.kinds = causes.kinds;
  fixing.harms = harmed.map(([tool, harm, effect]) => ({ tool: visible(tool), harm, effect: effect ? "yes" : "no" }));
  addOptions("cause", fixing.causes);
  addOptions("fault", fixing.kinds);
  addOptions("tool", fixing.harms.map(({ tool }) => tool).sort());
  addOptions("harm", fixing.harms.map(({ harm }) => harm).sort(), spell);
  filters.elements.cause.parentElement.hidden = !fixing.causes.length;
  linkExamples(causes.examples);
}

/** Link each example to its episode, if the episode is in this page. */
function linkExamples(examples) {
  for (const example of overview.querySelectorAll("a.example")) {
    const row = all.rows[examples[fixing.causes.indexOf(example.dataset.cause)]];
    if (row) example.setAttribute("href", episodeLink(row));
  }
}

/** Show the filters that only links set while they are set. */
function showNarrowed() {
  for (const name of NARROWED) filters.elements[name].parentElement.hidden = !filters.elements[name].value;
}

/** Whether an episode has the wanted cause, and a harmful call of the wanted tool, kind and effect. */
function matchesFix(row, wanted) {
  const asked = ["tool", "harm", "effect"].filter((name) => wanted[name]);
  return (!wanted.cause || fixing.causes[row.cause] === wanted.cause) && (!wanted.fault || fixing.kinds[row.cause] === wanted.fault)
    && (!asked.length || row.harmed.some((number) => asked.every((name) => fixing.harms[number][name] === wanted[name])));
}
