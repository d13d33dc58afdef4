// One call in full: its arguments beside what was expected, its answer, and what it changed.

const MOST_PARSED = 300_000;
const MOST_SAME = 12;
const ABOUT_CALLS = new Set(["harm", "rule", "undone", "unseen"]);
const TOKENS = /"[^"\\]*(?:\\.[^"\\]*)*"|[[\]{}:,]|[^\s"[\]{}:,]+/gs;

/** The leaves of a JSON text: each path with its value as it is written, so that no digit is lost. */
function leavesOf([kind, text]) {
  if (kind !== "JSON" || text.length > MOST_PARSED) return new Map([["", text]]);
  const tokens = text.match(TOKENS) ?? [];
  const found = new Map();
  let at = 0;
  const inside = (path, end, partOf) => {
    at += 1;
    if (tokens[at] === end) found.set(path, end === "]" ? "[]" : "{}");
    for (let place = 0; at < tokens.length && tokens[at] !== end; place += 1) {
      read(partOf(place));
      if (tokens[at] === ",") at += 1;
    }
    at += 1;
  };
  const keyed = (path) => () => { const name = tokens[at]; at += 2; return withKey(path, name); };
  const read = (path) => {
    if (tokens[at] === "[") inside(path, "]", (place) => `${path}[${place}]`);
    else if (tokens[at] === "{") inside(path, "}", keyed(path));
    else found.set(path, tokens[at++] ?? "");
  };
  read("");
  return found;
}

/** Add a key, written as JSON, to a path. */
function withKey(path, written) {
  const name = written.slice(1, -1);
  if (!/^[\p{L}_][\p{L}\p{N}_]*$/u.test(name)) return path ? `${path}[${written}]` : written;
  return path ? `${path}.${name}` : name;
}

/** Whether a path is another one or lies inside it. */
const liesIn = (path, outer) => path === outer || path.startsWith(`${outer}.`) || path.startsWith(`${outer}[`);

/** A path that may break after its dots and brackets. */
const pathText = (path) => h("code", {}, h("bdi", {}, visible(cut(path, 200)).split(/(?<=[.\]_])/).flatMap((piece) => [piece, h("wbr")])));

/** What the right pane shows before the first call. */
function startDetail(task, episode) {
  const hint = episode.calls.length ? "The keys ← and → step through the calls, n and p through the harmful ones." : "The agent made no call.";
  return [h("h2", {}, "Start"), h("p", { class: "note" }, hint), task.prompt ? block("Task", ["text", task.prompt]) : null].filter(Boolean);
}

/** What the right pane shows of a call. */
function callDetail(episode, at) {
  const call = episode.calls[at - 1];
  const sign = h("span", { class: `sign ${call.kind ?? ""}`, "aria-hidden": "true" }, kindOf(call)[0]);
  return [
    h("h2", {}, `Call ${at} of ${episode.calls.length}: `, code(cut(call.tool, 100))), h("p", { class: "verdict" }, sign, " ", verdict(call)),
    call.differences ? compared(call) : null, call.text ? h("p", {}, foreign(call.text)) : null, instructions(episode, at - 1),
    ...inFull(call), changes(call), reasons(episode, at - 1),
  ].filter(Boolean);
}

/** The instructions of the fix for a call. */
function instructions(episode, place) {
  const mine = editsOf(episode).filter(({ call, also, kind }) => kind !== "add" && [call, ...(also ?? [])].includes(place));
  return mine.length ? h("p", { class: "instruction" }, h("b", {}, "Fix: "), mine.map(({ text }) => [foreign(text), " "])) : null;
}

/** What the findings say about a call. */
function reasons(episode, place) {
  const mine = (episode.findings ?? []).filter(({ kind, calls }) => calls.includes(place) && ABOUT_CALLS.has(kind));
  return mine.length ? h("div", {}, h("h3", {}, "Why"), mine.map(({ text }) => h("p", {}, foreign(text)))) : null;
}

/** A call's arguments and what came back. */
function inFull(call) {
  const answered = "error" in call || "result" in call;
  const sent = () => block("Arguments", call.arguments);
  return [
    call.differences ? foldable(["Arguments as sent"], sent) : sent(),
    "error" in call ? block("Error", call.error) : null, "result" in call ? block("Result", call.result) : null,
    answered ? null : h("p", { class: "note" }, "No answer came."), "more" in call ? foldable(["Also recorded"], () => block("Recorded", call.more)) : null,
  ].filter(Boolean);
}

/** The rows of the comparison, those that differ first: [path, given, expected or null if they agree]. */
function comparedRows(call) {
  const left = new Map(call.differences.map(([path, ...values]) => [path, values]));
  const rows = [];
  for (const [path, given] of leavesOf(call.arguments)) {
    const wrong = call.differences.find(([outer]) => liesIn(path, outer));
    if (!wrong && path) rows.push([path, given, null]);
    else if (wrong && left.delete(wrong[0])) rows.push(wrong);
  }
  rows.push(...[...left].map(([path, values]) => [path, ...values]));
  return [...rows.filter(([, , expected]) => expected !== null), ...rows.filter(([, , expected]) => expected === null)];
}

/** The arguments as given and as expected, side by side. What differs has a sign. */
function compared(call) {
  const rows = comparedRows(call);
  const same = rows.filter(([, , expected]) => expected === null).length;
  const shown = same > MOST_SAME ? rows.filter(([, , expected]) => expected !== null) : rows;
  const line = ([path, given, expected]) => h("tr", { class: expected === null ? "same" : "differs" },
    h("th", { scope: "row" }, expected === null ? null : h("span", { class: "sign" }, "≠ "), path ? pathText(path) : "the arguments"),
    h("td", {}, shortText(given)), h("td", {}, expected === null ? h("span", { class: "note" }, "= the same") : shortText(expected)));
  const note = shown.length < rows.length ? h("p", { class: "note" }, `${many(same, "other argument")} as expected.`) : null;
  return h("div", { class: "block" }, h("h3", {}, "Given and expected"), sideBySide(["Argument", "Given", "Expected"], shown.map(line)), note);
}

/** What a call changed in the world's state. */
function changes(call) {
  if (!call.changes) return null;
  const sign = (old, value) => (old === null ? "+ " : value === null ? "− " : "≠ ");
  const cell = (text) => h("td", {}, text === null ? h("span", { class: "note" }, "nothing") : shortText(text));
  const rows = call.changes.map(([path, old, value]) => h("tr", { class: "differs" },
    h("th", { scope: "row" }, h("span", { class: "sign" }, sign(old, value)), pathText(path)), cell(old), cell(value)));
  const more = call.unlisted_changes ? h("p", { class: "note" }, "It changed more than is listed here.") : null;
  return h("div", { class: "block" }, h("h3", {}, "State"), sideBySide(["Place", "Before", "After"], rows, "states"), more);
}

const sideBySide = (heads, rows, name = "") => h("table", { class: `compared ${name}` }, h("thead", {}, h("tr", {}, heads.map((text) => h("th", { scope: "col" }, text)))), h("tbody", {}, rows));

/** A value in a cell; a long one is shortened until its button is pressed. */
function shortText(text) {
  const whole = code(cut(text, FOLDED));
  if (text.length <= FOLDED) return whole;
  const more = h("button", { type: "button", class: "to", click: () => { whole.replaceChildren(foreign(text)); more.remove(); } }, "Show all");
  return [whole, " ", more];
}
