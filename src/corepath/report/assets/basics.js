"use strict";
// Helpers for the other scripts. Text that an agent wrote enters the page only through `h`, as text.

// ---- Elements ----

/** Create an element: h("td", {class: "number", click: go}, "text", other). Functions become listeners; null is skipped. */
function h(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (typeof value === "function") made.addEventListener(key, value);
    else if (value !== null && value !== undefined && value !== false) made.setAttribute(key, value === true ? "" : value);
  }
  made.append(...children.flat(3).filter((child) => child !== null && child !== undefined));
  return made;
}

const UNSAFE =
  /[\x00-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;

/** Write control, invisible and direction characters as escapes. `lines` keeps line breaks and tabs. */
function visible(text, lines = false) {
  const named = { "\n": "\\n", "\t": "\\t", "\r": "\\r" };
  return text.replace(UNSAFE, (sign) => {
    if (lines && (sign === "\n" || sign === "\t")) return sign;
    const code = sign.charCodeAt(0).toString(16);
    return named[sign] ?? (code.length > 2 ? `\\u${code.padStart(4, "0")}` : `\\x${code.padStart(2, "0")}`);
  });
}

const cut = (text, most) => (text.length <= most ? text : `${text.slice(0, most - 1)}…`);

/** Text from outside, isolated from the direction of the text around it. */
const foreign = (text) => h("bdi", {}, visible(String(text)));
const LONGEST_NAME = 100;
const LONGEST_IN_LIST = 48;

/** The name of an agent or a task. A very long one is cut, and shown in full as a tooltip. */
const nameElement = (name, most = LONGEST_NAME) => (name.length <= most ? foreign(name) : h("bdi", { title: visible(cut(name, 2000)) }, visible(cut(name, most))));
const code = (text) => h("code", {}, foreign(text));
const link = (href, ...children) => h("a", { href }, ...children);
const many = (count, what) => `${count.toLocaleString("en")} ${what}${count === 1 ? "" : "s"}`;
const spell = (kind) => kind.replaceAll("_", " ");

/** A region that scrolls on its own and can be reached by keyboard. */
const scrollArea = (label, ...children) => h("div", { class: "scroll", role: "region", tabindex: 0, "aria-label": label }, ...children);

const MOST_AT_ONCE = 200;

/** A table that scrolls; a long one is shown in parts. `make` turns an item into a row. */
function tableInParts(label, heads, items, make) {
  const body = h("tbody");
  let shown = 0;
  const more = h("button", { type: "button" });
  const grow = () => {
    body.append(...items.slice(shown, shown + MOST_AT_ONCE).map(make));
    shown = Math.min(items.length, shown + MOST_AT_ONCE);
    more.textContent = `Show ${Math.min(MOST_AT_ONCE, items.length - shown)} more`;
    more.hidden = shown === items.length;
  };
  more.addEventListener("click", grow);
  grow();
  const head = h("thead", {}, h("tr", {}, heads.map((text) => h("th", { scope: "col" }, text))));
  return [scrollArea(label, h("table", { class: "aligned" }, head, body)), items.length > shown ? more : null].filter(Boolean);
}

/** A details element whose content is created when it is first opened. */
function foldable(summary, make) {
  const made = h("details", {}, h("summary", {}, ...summary));
  made.addEventListener("toggle", () => made.append(...[make()].flat()), { once: true });
  return made;
}

const SHORT_PROMPT = 600;

/** A prompt; a long one is folded after its beginning. */
function promptElement(text) {
  if (text.length <= SHORT_PROMPT) return h("p", { class: "prompt" }, foreign(text));
  return h("details", { class: "prompt" }, h("summary", {}, foreign(cut(text, 280)), " ", h("span", { class: "all" }, `all ${many(text.length, "character")}`)), h("p", {}, foreign(text)));
}

const SHORT = 1500;
const MOST_LINES = 20;

/** The beginning of a text: at most twenty lines and 1,500 characters. */
function beginning(text) {
  const lines = text.slice(0, SHORT).split("\n", MOST_LINES + 1);
  return lines.slice(0, MOST_LINES).join("\n");
}

/** A full text under its name; a long one is folded to its beginning. */
function block(name, [kind, text], level = "h3") {
  const begin = beginning(text);
  const whole = begin.length === text.length;
  const pre = h("pre", { tabindex: 0, "aria-label": name }, visible(begin, true));
  const heading = h(level, {}, `${name} `, h("small", {}, whole ? kind : `${kind}, ${many(text.length, "character")}`));
  return h("div", { class: "block" }, heading, pre, whole ? null : unfold(pre, begin, text));
}

/** A button that shows all of a folded text, or its beginning again. */
function unfold(pre, begin, text) {
  const button = h("button", { type: "button", class: "to", "aria-expanded": "false" }, "Show all");
  button.addEventListener("click", () => {
    const open = button.getAttribute("aria-expanded") !== "true";
    button.setAttribute("aria-expanded", String(open));
    button.textContent = open ? "Show less" : "Show all";
    pre.textContent = visible(open ? text : begin, true);
  });
  return button;
}

// ---- The index ----

/** The rows of the index, one object per episode. `among` is the task's place in its block, `within` the episode's place in its task. */
function rowsOf({ names, columns, blocks }) {
  const within = names.task.map(() => 0);
  return (columns.agent ?? []).map((_, place) => {
    const row = rowAt(columns, place);
    const found = { block: blocks[row.task], among: row.task - blocks.indexOf(blocks[row.task]), within: within[row.task]++ };
    for (const what of ["agent", "world", "task"]) row[what] = names[what][row[what]];
    const fooled = row.state_match === true && (row.harm_count > 0 || !row.accepted);
    return { ...row, ...found, place, fooled, number: row.nth > 1 ? `${row.epoch}.${row.nth}` : `${row.epoch}` };
  });
}

// ---- Scores ----

const WHOLE = new Set(["harm_count", "root_harms", "missing_steps", "length", "epoch", "rules_broken"]);
const SCORES = [
  ["pc", "PC"], ["pc_ktc", "PC-KTC"], ["prefix_criticality", "PrefixCrit"], ["harm_rate", "HarmRate"], ["pc_hlr", "PC+HLR"],
  ["efficiency", "Efficiency"], ["directness", "Directness"], ["length", "Calls"], ["harm_count", "Harmful calls"], ["root_harms", "Root causes"], ["rules_broken", "Broken rules"],
  ["missing_steps", "Missing steps"], ["accepted", "Accepted"], ["state_match", "BFCL State"], ["response_match", "BFCL Response"],
  ["answer_match", "Answer"], ["reward", "Reward"], ["cost", "Cost"], ["tokens", "Tokens"], ["seconds", "Seconds"],
];
const USAGE = new Set(["cost", "tokens", "seconds"]);
const OPTIONAL = new Set(["answer_match", "reward", "rules_broken", ...USAGE]);

/** A score of a row as it is shown. Efficiency looks at length alone, so it would mislead where the task was not finished. */
const shownScore = (row, key) => (key === "efficiency" && row.accepted === false ? null : row[key]);

/** The scores to show for some rows: the optional ones only if a row has them. */
const scoresOf = (rows) => SCORES.filter(([key]) => !OPTIONAL.has(key) || rows.some((row) => row[key] !== null));

function formatScore(key, value) {
  if (value === null || value === undefined) return "–";
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (USAGE.has(key)) return value.toLocaleString("en", { maximumFractionDigits: { cost: 4, tokens: 0, seconds: 1 }[key] });
  return typeof value !== "number" || WHOLE.has(key) ? String(value) : value.toFixed(3);
}

/** A score of a row as text; PC-KTC is an interval if its bounds differ. */
function scoreText(row, key) {
  const text = formatScore(key, shownScore(row, key));
  return key === "pc_ktc" && row.pc_ktc_upper > row.pc_ktc ? `${text}–${formatScore(key, row.pc_ktc_upper)}` : text;
}

// ---- Links ----

/** The name of an episode: its agent, with the epoch unless that is 0. */
const episodeName = (row) => (row.number === "0" ? row.agent : `${row.agent} ${row.number}`);

const part = (text) => encodeURIComponent(visible(text));
const taskLink = (task) => `#/task/${part(task)}`;
const episodeLink = (row) => `#/episode/${part(row.task)}/${part(row.agent)}/${row.number}`;
const diffLink = (a, b) => `#/diff/${part(a.task)}/${part(a.agent)}/${a.number}/${part(b.agent)}/${b.number}`;
const listLink = (filters) => `#/?${new URLSearchParams(filters)}`;

const QUERY = ["text", "agent", "world", "outcome", "rule", "sort", "a", "b", "by"];

/** Change the query of the address without leaving the view; what is empty goes. A link then leads to the same view. */
function setQuery(changes) {
  const [path, query] = location.hash.split(/\?(.*)/s);
  const wanted = new URLSearchParams(path.startsWith("#/") ? query ?? "" : left.query);
  for (const [key, value] of Object.entries(changes)) {
    if (value) wanted.set(key, value);
    else wanted.delete(key);
  }
  const order = (key) => (QUERY.indexOf(key) + QUERY.length + 1) % (QUERY.length + 1);
  const sorted = new URLSearchParams([...wanted].sort(([a], [b]) => order(a) - order(b))).toString();
  const base = path.startsWith("#/") ? path : "#/";
  history.replaceState(null, "", sorted ? `${base}?${sorted}` : base);
}

/** Split a hash into its parts and its query; parts that cannot be decoded stay as they are. */
function parseHash(hash) {
  const [path, query] = hash.slice(2).split(/\?(.*)/s);
  const decoded = (text) => { try { return decodeURIComponent(text); } catch { return text; } };
  return { parts: path.split("/").map(decoded), query: new URLSearchParams(query ?? "") };
}
