// The view of two episodes of a task, side by side.

const MOST_CELLS = 4e6;
const MOST_PATHS = 8;

/** How well two calls pair up: 0 for not at all. The same action counts most, then the same tool without an action. */
function likeness(a, b) {
  const known = [a, b].map(({ action }) => action !== null && action !== undefined);
  if (known[0] && known[1]) return a.action === b.action ? 6 + sameRequest(a, b) : 0;
  if (a.tool !== b.tool) return 0;
  return (known[0] || known[1] ? 2 : 4) + sameRequest(a, b);
}

const sameRequest = (a, b) => Number(a.tool === b.tool && a.arguments[1] === b.arguments[1]);

/** Align two lists of calls by what they match: pairs of places, null for a gap. */
function align(a, b) {
  let [begin, end] = [0, 0];
  const most = Math.min(a.length, b.length);
  const same = (one, other) => sameRequest(one, other) && likeness(one, other);
  while (begin < most && same(a[begin], b[begin])) begin += 1;
  while (end < most - begin && same(a[a.length - 1 - end], b[b.length - 1 - end])) end += 1;
  const [mine, theirs] = [a.slice(begin, a.length - end), b.slice(begin, b.length - end)];
  const found = mine.length * theirs.length <= MOST_CELLS ? heaviest(mine, theirs) : placeByPlace(mine, theirs);
  const middle = found.map(([i, j]) => [i === null ? null : begin + i, j === null ? null : begin + j]);
  const both = (count, from, to) => Array.from({ length: count }, (_, place) => [from + place, to + place]);
  return [...both(begin, 0, 0), ...middle, ...both(end, a.length - end, b.length - end)];
}

/** The alignment whose pairs are most alike in sum. */
function heaviest(a, b) {
  const wide = b.length + 1;
  const best = new Uint32Array((a.length + 1) * wide);
  for (let i = a.length - 1; i >= 0; i -= 1) {
    for (let j = b.length - 1; j >= 0; j -= 1) {
      const weight = likeness(a[i], b[j]);
      best[i * wide + j] = Math.max(best[(i + 1) * wide + j], best[i * wide + j + 1], weight ? weight + best[(i + 1) * wide + j + 1] : 0);
    }
  }
  const pairs = [];
  let [i, j] = [0, 0];
  while (i < a.length && j < b.length) {
    const weight = likeness(a[i], b[j]);
    const here = best[i * wide + j];
    if (weight && here === weight + best[(i + 1) * wide + j + 1]) pairs.push([i++, j++]);
    else if (here === best[(i + 1) * wide + j]) pairs.push([i++, null]);
    else pairs.push([null, j++]);
  }
  return [...pairs, ...gaps(i, a.length, (place) => [place, null]), ...gaps(j, b.length, (place) => [null, place])];
}

const gaps = (from, to, pair) => Array.from({ length: to - from }, (_, place) => pair(from + place));

/** For very long paths: calls at the same place pair up if they are alike. */
function placeByPlace(a, b) {
  return Array.from({ length: Math.max(a.length, b.length) }, (_, place) => place)
    .flatMap((place) => (a[place] && b[place] && likeness(a[place], b[place]) ? [[place, place]]
      : [...(a[place] ? [[place, null]] : []), ...(b[place] ? [[null, place]] : [])]));
}

/** The arguments in which two calls differ: [path, left, right], null for an argument that a call lacks. */
function differingArguments(a, b) {
  if (a.arguments[1] === b.arguments[1]) return [];
  const [mine, theirs] = [leavesOf(a.arguments), leavesOf(b.arguments)];
  return [...new Set([...mine.keys(), ...theirs.keys()])].filter((path) => mine.get(path) !== theirs.get(path))
    .map((path) => [path, mine.get(path) ?? null, theirs.get(path) ?? null]);
}

const answerOf = (call) => JSON.stringify([call.result, call.error]);

/** A pair of calls with what differs in it, in words. */
function comparedPair(calls, [i, j]) {
  const [a, b] = [i === null ? null : calls[0][i], j === null ? null : calls[1][j]];
  if (!a || !b) return { i, j, a, b, paths: [], words: a ? "only on the left" : "only on the right" };
  const paths = differingArguments(a, b);
  const otherAnswer = answerOf(a) !== answerOf(b);
  const step = a.action !== null && a.action !== undefined && a.action === b.action ? "same step" : "same tool";
  const words = paths.length || a.tool !== b.tool ? `${step}, other arguments` : otherAnswer ? "same call, other answer" : "same";
  return { i, j, a, b, paths, otherAnswer, words };
}

/** Where two episodes part, in words. */
function parting(names, pair) {
  if (!pair) return ["They made the same calls and got the same answers."];
  const { i, j, a, b, paths, words } = pair;
  const did = (which, place, call) => [names[which](), ` called `, labelOf(call), ` (call ${place + 1})`];
  if (a && b && words === "same call, other answer") return [`They part at call ${i + 1}: both called `, labelOf(a), ", and got other answers."];
  if (a && b) {
    const [path, left, right] = paths[0] ?? ["", a.label, b.label];
    const value = (text) => (text === null ? "nothing" : code(cut(text, 120)));
    const more = paths.length > 1 ? ` and ${many(paths.length - 1, "more difference")}` : "";
    return [`They part at call ${i + 1}${i === j ? "" : ` and call ${j + 1}`}: both called `, code(cut(a.tool, 100)), ", with ", path ? [code(cut(path, 100)), " "] : null,
      value(left), " in ", names[0](), " and ", value(right), " in ", names[1](), `${more}.`];
  }
  const [which, place, call] = a ? [0, i, a] : [1, j, b];
  return [`They part ${place ? `after call ${place}` : "at the start"}: `, ...did(which, place, call), ", and ", names[1 - which](), " did not."];
}

async function showDiff(taskName, agentA, numberA, agentB, numberB) {
  const wanted = [[agentA, numberA], [agentB, numberB]];
  const rows = wanted.map(([agent, number]) => findRow(taskName, agent, number));
  const gone = wanted.find((_, which) => !rows[which]);
  if (gone) return showMissing(`This page has no episode '${gone[1]}' of agent '${gone[0]}' on task '${taskName}'.`);
  const still = currentTurn();
  const task = await taskOf(rows[0]);
  if (!still()) return;
  const calls = rows.map((row) => ofRow(task, row).calls);
  const pairs = align(...calls).map((pair) => comparedPair(calls, pair));
  const names = rows.map((row) => () => nameElement(episodeName(row)));
  const first = pairs.find(({ words }) => words !== "same");
  const heads = rows.map((row) => h("p", { class: "headline" }, link(episodeLink(row), nameElement(episodeName(row))), " ", badge(row), " ", foreign(row.headline)));
  const head = (...cells) => h("thead", {}, h("tr", {}, cells.map((cell) => h("th", { scope: "col" }, cell))));
  show(`${episodeName(rows[0])} and ${episodeName(rows[1])} on ${task.name}`, [link(taskLink(task.name), nameElement(task.name)), "comparison"],
    h("h1", {}, names[0](), " and ", names[1](), " on ", link(taskLink(task.name), nameElement(task.name))),
    h("p", { class: "parting" }, parting(names, first)), h("div", { class: "beside" }, heads),
    h("h2", {}, "Calls"), ...tableInParts("Calls side by side", [names[0](), names[1](), "How they compare"], pairs, (pair) => pairRow(rows, pair, pair === first)),
    h("h2", {}, "Scores"), scrollArea("Scores side by side", h("table", { class: "scores" }, head("Score", names[0](), names[1]()), h("tbody", {}, scoreRows(rows)))));
}

/** Two calls side by side, and what differs. */
function pairRow(rows, pair, first) {
  const side = (which, place, call) => {
    if (!call) return h("td", { class: "note" }, "nothing");
    return h("td", { class: call.kind ?? "" }, link(`${episodeLink(rows[which])}?call=${place + 1}`, `${place + 1}`), " ",
      h("span", { class: "sign", "aria-hidden": "true" }, kindOf(call)[0]), " ", labelOf(call), " ", h("span", { class: "word" }, verdict(call)),
      pair.otherAnswer ? h("div", { class: "note" }, code(cut((call.error ?? call.result ?? ["", "no answer"])[1], 160))) : null);
  };
  return h("tr", { class: first ? "first" : pair.words === "same" ? "same" : "changed" }, side(0, pair.i, pair.a), side(1, pair.j, pair.b),
    h("td", { class: "word" }, first ? h("b", {}, "first difference: ") : null, pair.words, pathList(pair.paths)));
}

/** The arguments that differ, by path. */
function pathList(paths) {
  if (!paths.length) return null;
  const value = (text) => (text === null ? "nothing" : code(cut(text, 120)));
  const listed = paths.slice(0, MOST_PATHS).map(([path, left, right]) => h("li", {}, h("span", { class: "sign" }, "≠ "), path ? [code(cut(path, 100)), ": "] : null, value(left), " | ", value(right)));
  return h("ul", { class: "paths" }, listed, paths.length > MOST_PATHS ? h("li", { class: "note" }, `and ${paths.length - MOST_PATHS} more`) : null);
}

/** The scores of two episodes. */
const scoreRows = (rows) => scoresOf(rows).map(([key, title]) => {
  const [a, b] = rows.map((row) => scoreText(row, key));
  return h("tr", { class: a === b ? "same" : "changed" }, h("th", { scope: "row" }, title), [a, b].map((text) => h("td", { class: "number" }, text)));
});
