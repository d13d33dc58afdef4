// The overview: two agents compared, tooltips for headers, and what happens before printing.

// ---- A and B ----

const PAIRED = { solved: "Solved", harm_effected: "Harm took effect", pc: "PC" };
const GOOD_WAY = { solved: 1, harm_effected: -1, pc: 1 };
const pairs = { data: null, form: null, result: null };

/** Read the pairs of agents, and put the choice of A and B onto the page. */
async function startComparing() {
  const place = document.getElementById("pair");
  if (!place) return;
  pairs.data = await blockData("pairs");
  const { agents, scores, left_out: others } = pairs.data;
  if (agents.length < 2) return place.replaceChildren(h("p", {}, "Fewer than two agents have an episode that counts."));
  const options = () => agents.map((name) => h("option", { value: visible(name) }, visible(cut(name, LONGEST_NAME))));
  const select = (name, choices) => h("select", { name }, choices);
  pairs.form = h("form", { class: "pair", "aria-label": "Two agents to compare", change: pairChanged, submit: (event) => event.preventDefault() },
    h("label", {}, "A ", select("a", options())), h("label", {}, "B ", select("b", options())),
    h("label", {}, "Tasks by ", select("by", scores.map((key) => h("option", { value: key }, PAIRED[key])))),
    h("button", { type: "button", click: swapPair }, "Swap A and B"));
  pairs.result = h("div", {});
  place.replaceChildren(...[pairs.form, pairs.result, others ? h("p", { class: "note" }, `The best ${agents.length} agents can be chosen here. For the ${many(others, "other")}: `,
    code("corepath compare RUN@A RUN@B"), ".") : null].filter(Boolean));
  showPair(parseHash(location.hash).query);
}

/** The two agents that are compared if a link names none: the best, and the next who differs from it. */
function defaultPair() {
  const { agents } = pairs.data;
  const find = (holds) => agents.findIndex((_, place) => place > 0 && holds(entriesOf(0, place)));
  const found = [find((entries) => entries?.[0]?.[2]), find(Boolean), 1].find((place) => place > 0);
  return [agents[0], agents[found]].map((name) => visible(name));
}

/** Show the pair that a query names. */
function showPair(query) {
  if (!pairs.form) return;
  const wanted = defaultPair();
  const lost = [];
  ["a", "b"].forEach((name, place) => {
    const field = pairs.form.elements[name];
    field.value = query.get(name) ?? wanted[place];
    if (field.selectedIndex < 0) {
      lost.push(h("p", { class: "gone" }, `There is no agent '`, nameElement(query.get(name)), "' to compare here."));
      field.value = wanted[place];
    }
  });
  const by = pairs.form.elements.by;
  by.value = query.get("by") ?? "";
  if (by.selectedIndex < 0) by.value = usualScore();
  fillPair(lost);
}

/** The score by which the tasks are listed if a link names none: the first in which some task differs. */
function usualScore() {
  const { scores } = pairs.data;
  return scores.find((key) => { const { won, lost } = tasksOf(chosenPair(), key); return won.length + lost.length; }) ?? scores[0];
}

function pairChanged({ target }) {
  const { a, b, by } = pairs.form.elements;
  if (target.name !== "by" && !parseHash(location.hash).query.has("by")) by.value = usualScore();
  setQuery({ a: a.value, b: b.value, ...(target.name === "by" ? { by: by.value } : {}) });
  keepPlace();
  fillPair([]);
}

function swapPair() {
  const { a, b } = pairs.form.elements;
  [a.value, b.value] = [b.value, a.value];
  pairChanged({ target: a });
}

const chosenPair = () => ["a", "b"].map((name) => pairs.data.agents[pairs.form.elements[name].selectedIndex]);

/** The differences of two agents by their places, b − a: [a, b, difference, low, high, detectable, sure, won, lost, tied] for each score. */
function entriesOf(a, b) {
  const { agents, pairs: known } = pairs.data;
  const [first, second] = a < b ? [a, b] : [b, a];
  const found = known[first * agents.length - (first * (first + 1)) / 2 + second - first - 1];
  const turned = (value) => (value === null ? null : -value);
  return a < b || !found ? found : found.map((entry) => entry && [entry[1], entry[0], turned(entry[2]), turned(entry[4]), turned(entry[3]), entry[5], entry[6], entry[8], entry[7], entry[9]]);
}

/** The value of a score in an episode, from 0 to 1, or null if it is undefined. */
function pairedValue(row, key) {
  if (key === "solved") return row.accepted === null ? null : Number(row.accepted && !row.harm_count);
  return key === "pc" ? row.pc : Number(row.effected);
}

/** The tasks that both agents played: those that B won, that A won, and that are tied, with an episode of each. */
function tasksOf([a, b], key) {
  const own = (agent) => Map.groupBy(all.rows.filter((row) => row.agent === agent && !row.excluded && pairedValue(row, key) !== null), (row) => row.task);
  const [ours, theirs] = [own(a), own(b)];
  const mean = (rows) => rows.reduce((sum, row) => sum + pairedValue(row, key), 0) / rows.length;
  const found = { won: [], lost: [], tied: [] };
  for (const [task, rows] of ours) {
    if (!theirs.has(task)) continue;
    const [before, after] = [mean(rows), mean(theirs.get(task))];
    const gain = GOOD_WAY[key] * (after - before);
    const which = Math.abs(gain) < 1e-9 ? "tied" : gain > 0 ? "won" : "lost";
    const extreme = (list, way) => list.reduce((best, row) => (way * (pairedValue(row, key) - pairedValue(best, key)) > 0 ? row : best));
    const way = Math.sign(after - before);
    found[which].push({ task, before, after, gain, ends: [extreme(rows, -way), extreme(theirs.get(task), way)] });
  }
  for (const list of Object.values(found)) list.sort((x, y) => Math.abs(y.gain) - Math.abs(x.gain) || x.task.localeCompare(y.task, "en", { numeric: true }));
  return found;
}

const inPoints = (value) => `${value > 0 ? "+" : value < 0 ? "−" : ""}${Math.abs(100 * value).toFixed(1)}`;
const inDecimals = (value) => `${value > 0 ? "+" : value < 0 ? "−" : ""}${Math.abs(value).toFixed(3)}`;
const formatGap = (key, value) => (value === null ? "–" : key === "pc" ? inDecimals(value) : inPoints(value));
const formatMean = (key, value) => (key === "pc" ? value.toFixed(3) : `${(100 * value).toFixed(1)} %`);

/** Compare the chosen agents: a sentence, a table of differences, and the tasks. */
function fillPair(notes) {
  const [a, b] = chosenPair();
  const places = [a, b].map((name) => pairs.data.agents.indexOf(name));
  if (a === b) return pairs.result.replaceChildren(...notes, h("p", {}, "A and B are the same agent."));
  const entries = entriesOf(...places);
  if (!entries) return pairs.result.replaceChildren(...notes, h("p", {}, "They have no task in common, so they cannot be compared."));
  const key = pairs.form.elements.by.value;
  pairs.result.replaceChildren(...notes, pairSentence(a, b, entries), pairTable(a, b, entries), ...taskLists(a, b, key, entries[pairs.data.scores.indexOf(key)]),
    h("p", { class: "note" }, "Sure: the 95 % interval excludes 0, and flipping signs at random shows so large a difference too rarely (Holm's rule over the three scores). The same in a terminal: ",
      code(`corepath compare RUN@A RUN@B --scores ${pairs.data.scores.join(",")}`), "."));
}

const tasksIn = (entry) => entry[7] + entry[8] + entry[9];

const PAIR_WORDS = {
  solved: ["solves", "more", "less"], harm_effected: ["has harm that takes effect", "more often", "less often"], pc: ["has a PC that is", "higher", "lower"],
};

/** A difference in words: "solves 12.1 percentage points more (95 % interval +4.0 to +20.2)". */
function gapWords(key, [, , gap, low, high]) {
  const [verb, more, less] = PAIR_WORDS[key];
  const reach = low === null ? "" : ` (95 % interval ${formatGap(key, low)} to ${formatGap(key, high)})`;
  return `${verb} ${formatGap(key, Math.abs(gap)).slice(1)}${key === "pc" ? "" : " percentage points"} ${gap > 0 ? more : less}${reach}`;
}

/** Whether B is better than A and how sure that is, in one sentence. */
function pairSentence(a, b, entries) {
  const listed = pairs.data.scores.flatMap((key, place) => (entries[place] ? [[key, entries[place]]] : []));
  const certain = listed.filter(([, entry]) => entry[6]);
  const names = [h("b", {}, nameElement(b)), h("b", {}, nameElement(a))];
  const over = `over ${many(tasksIn(listed[0][1]), "task")} that both played`;
  const sentence = (kind, badge, ...words) => h("p", { class: "verdict", role: "status" }, h("span", { class: `badge ${kind}` }, badge), " ", ...words);
  if (certain.length) {
    const ways = new Set(certain.map(([key, entry]) => entry[2] * GOOD_WAY[key] > 0));
    const [kind, badge] = ways.size > 1 ? ["fooled", "sure: better and worse"] : ways.has(true) ? ["good", "sure: B is better"] : ["harmful", "sure: B is worse"];
    return sentence(kind, badge, "Compared with ", names[1], ", ", names[0], ` ${certain.map(([key, entry]) => gapWords(key, entry)).join(", ")}, ${over}.`);
  }
  const [key, entry] = listed.find(([, one]) => one[2]) ?? listed[0];
  if (!entry[2]) return sentence("", "cannot tell", names[0], " and ", names[1], ` do not differ, ${over}.`);
  const seen = entry[5] === null ? "" : ` The smallest difference that these tasks would show four times in five is ${formatGap(key, entry[5]).slice(1)}.`;
  return sentence("", "cannot tell", "Compared with ", names[1], ", ", names[0], ` ${gapWords(key, entry)}, which may be chance, ${over}.${seen}`);
}

function pairTable(a, b, entries) {
  const rows = pairs.data.scores.map((key, place) => {
    const entry = entries[place];
    if (!entry) return null;
    const [before, after, gap, low, high, , certain, ...tasks] = entry;
    const words = !certain ? "cannot tell" : gap * GOOD_WAY[key] > 0 ? "sure: B is better" : "sure: B is worse";
    const kind = !certain ? "" : gap * GOOD_WAY[key] > 0 ? "progress" : "harm";
    const reach = low === null ? "" : h("small", {}, ` ${formatGap(key, low)} to ${formatGap(key, high)}`);
    const number = (value, text) => h("td", { class: "number", "data-value": value }, text);
    return h("tr", {}, h("th", { scope: "row" }, PAIRED[key]), h("td", { class: kind }, words),
      h("td", { class: "dot number", "data-value": gap }, h("div", {}, gapDrawing(entry, kind), h("span", {}, formatGap(key, gap), reach))),
      number(before, formatMean(key, before)), number(after, formatMean(key, after)), tasks.map((count) => number(count, count.toLocaleString("en"))));
  });
  const heads = [["score", "Score"], ["verdict", "How sure"], ["difference", "B − A"], ["a", "A"], ["b", "B"], ["won", "B won"], ["lost", "A won"], ["tied", "Tied"]];
  const table = h("table", { class: "paired" }, h("caption", {}, "Differences between A and B"), h("thead", {}, h("tr", {}, heads.map(([key, title]) =>
    h("th", { scope: "col", "data-key": key, class: ["score", "verdict"].includes(key) ? null : key === "difference" ? "dot" : "number" }, title)))), h("tbody", {}, rows));
  const full = () => pairs.data.scores.flatMap((key, place) => (entries[place] ? [savedPair(a, b, key, entries[place])] : []));
  return h("div", {}, scrollArea("Differences between A and B", table),
    saveBar("the differences", "differences", { csv: () => toCsv(Object.keys(full()[0]), full()), json: () => toJson(full()) }));
}

/** What is saved of a difference, under the names that `corepath compare --json` has. */
function savedPair(agentA, agentB, score, [a, b, difference, low, high, detectable, certain, won, lost, tied]) {
  return { agent_a: agentA, agent_b: agentB, score, a, b, difference, low, high, detectable, sure: certain, won, lost, tied };
}

/** A difference from -1 to 1 as a dot with its interval. */
function gapDrawing([, , gap, low, high], kind) {
  const make = (name, attributes) => {
    const made = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    return made;
  };
  const at = (value) => `${50 + 50 * value}%`;
  const svg = make("svg", { "aria-hidden": "true", class: kind });
  for (const end of [-1, 0, 1]) svg.append(make("line", { class: end ? "grid" : "grid zero", x1: at(end), x2: at(end), y1: 0, y2: "100%" }));
  if (low !== null) svg.append(make("line", { class: "reach", x1: at(low), x2: at(high), y1: "50%", y2: "50%" }));
  svg.append(make("circle", { cx: at(gap), cy: "50%", r: 5 }));
  return svg;
}

const MOST_TASKS = 8;

/** The tasks that B won, that A won and that are tied, each with links to the episodes that are in the page. */
function taskLists(a, b, key, entry) {
  if (!entry) return [];
  const { won, lost, tied } = tasksOf([a, b], key);
  const listed = won.length + lost.length + tied.length;
  const item = ({ task, before, after, ends }) => h("li", {}, link(diffLink(...ends), nameElement(task, LONGEST_NAME)), " ",
    h("small", {}, link(episodeLink(ends[0]), `A ${formatMean(key, before)}`), " → ", link(episodeLink(ends[1]), `B ${formatMean(key, after)}`)));
  const list = (title, tasks) => h("div", {}, h("h3", {}, `${title} ${many(tasks.length, "task")}`), tasks.length ? h("ul", {}, tasks.slice(0, MOST_TASKS).map(item)) : null,
    tasks.length > MOST_TASKS ? foldable([`${tasks.length - MOST_TASKS} more`], () => h("ul", {}, tasks.slice(MOST_TASKS).map(item))) : null);
  const part = listed < tasksIn(entry) ? h("p", { class: "note" }, `Of ${many(tasksIn(entry), "task")}, the ${listed} whose episodes are in this page are listed.`) : null;
  const even = tied.length ? foldable([`Tied: ${many(tied.length, "task")}`], () => h("ul", { class: "tied" }, tied.map(item))) : null;
  return [h("div", { class: "tasks" }, list("B won", won), list("A won", lost)), even, part].filter(Boolean);
}

// ---- Tooltips ----

/** Show what a column means when its header is pointed at or focused; Escape hides it. */
function addTips() {
  const tip = h("div", { id: "tip", class: "tip", role: "tooltip", hidden: true });
  document.body.append(tip);
  let of = null;
  const put = () => {
    if (!of) return;
    const [box, own] = [of.getBoundingClientRect(), tip.getBoundingClientRect()];
    tip.style.left = `${Math.max(8, Math.min(box.left, document.documentElement.clientWidth - own.width - 8))}px`;
    tip.style.top = `${box.bottom + own.height + 4 > window.innerHeight ? box.top - own.height - 4 : box.bottom + 4}px`;
  };
  const hide = () => { tip.hidden = true; of?.querySelector("button")?.removeAttribute("aria-describedby"); of = null; };
  for (const head of overview.querySelectorAll("thead th[title]")) {
    const text = head.title;
    head.removeAttribute("title");
    head.dataset.tip = text;
    const show = () => {
      hide();
      of = head;
      tip.textContent = text;
      tip.hidden = false;
      head.querySelector("button")?.setAttribute("aria-describedby", "tip");
      put();
    };
    head.addEventListener("mouseenter", show);
    head.addEventListener("focusin", show);
    head.addEventListener("mouseleave", hide);
    head.addEventListener("focusout", hide);
  }
  document.addEventListener("keydown", (event) => { if (event.key === "Escape") hide(); });
  window.addEventListener("scroll", put, { passive: true, capture: true });
}

// ---- Print ----

/** Open what is folded before the page is printed, and fold it again afterwards. */
function openForPrint() {
  let opened = [];
  window.addEventListener("beforeprint", () => {
    opened = [...document.querySelectorAll("main > div:not([hidden]) details:not([open])")];
    for (const one of opened) {
      one.open = true;
      one.dispatchEvent(new Event("toggle"));
    }
  });
  window.addEventListener("afterprint", () => { for (const one of opened) one.open = false; });
}
