// The view of an episode: its calls step by step on the drawing, and their explanation.

const findRow = (task, agent, number) => taskRows(task).find((row) => visible(row.agent) === agent && row.number === number);

/** The episode of a row, with the records of its calls in place of their numbers. */
function ofRow(task, row) {
  const found = task.episodes[row.within];
  const inFull = (numbers) => numbers.map((number) => task.calls[number])
    .map((call) => ({ ...task.asked[call.asked], ...call, after: call.after ?? call.before }));
  const calls = inFull(found.calls);
  calls.filter(advances).forEach((call, number) => { call.place = found.places?.[number]; });
  return { ...found, calls, others: inFull(found.others) };
}

async function showEpisode(taskName, agent, number, query) {
  const row = findRow(taskName, agent, number);
  if (!row) return showMissing(`This page has no episode '${number}' of agent '${agent}' on task '${taskName}'.`);
  const still = currentTurn();
  const task = await taskOf(row);
  if (!still()) return;
  const episode = ofRow(task, row);
  const walk = walker(task, episode);
  const others = episodeMoves(row, walk.say);
  const below = [findings(episode, walk.go), fixTable(task, episode, walk.go), h("h2", {}, "Scores"), scoreList(row), rest(episode, row), neighbours(row)];
  show(`${episodeName(row)} on ${row.task}`, [link(taskLink(row.task), nameElement(row.task)), nameElement(episodeName(row))],
    h("div", { class: "screen" }, strip(row, episode), h("div", { class: "controls" }, walk.controls, episodeControls(row, others)), walk.live, walk.element), below);
  keys = { ...walk.moves, ...others };
  walk.go(Number(query.get("call") ?? 0) || 0);
}

// ---- The header ----

const MOST_EDITS = 3;

/** The instructions that mend an episode. */
const editsOf = (episode) => (episode.fix ?? []).filter(({ kind }) => kind !== "keep");

/** What happened and what mends it, in words. */
function strip(row, episode) {
  const heading = h("h1", {}, nameElement(episodeName(row)), " on ", link(taskLink(row.task), nameElement(row.task)));
  const happened = h("div", {}, heading, h("p", { class: "headline" }, badge(row), " ", foreign(row.headline)), episode.why ? notScored(episode, episode.why) : null);
  const edits = editsOf(episode);
  if (!edits.length) return h("div", { class: "strip" }, happened);
  const rest = edits.length > MOST_EDITS ? h("p", { class: "note" }, `and ${edits.length - MOST_EDITS} more, listed below`) : null;
  const list = h("ol", {}, edits.slice(0, MOST_EDITS).map(({ text }) => h("li", {}, foreign(text))));
  return h("div", { class: "strip" }, happened, h("section", { class: "fix", "aria-label": "Fix" }, h("h2", {}, "Fix"), list, rest));
}

/** The episodes before and after an episode in the last list, and its number there. */
function inList(row) {
  const listed = all.listed.includes(row) ? all.listed : all.rows;
  const at = listed.indexOf(row);
  return { before: listed[at - 1], next: listed[at + 1], at, count: listed.length };
}

/** The keys that lead to the episodes beside this one. */
function episodeMoves(row, say) {
  const to = (other, words) => () => (other ? void (location.hash = episodeLink(other)) : say(`This is the ${words} episode of the list.`));
  const { before, next } = inList(row);
  return { k: to(before, "first"), j: to(next, "last") };
}

/** Buttons to the episodes beside this one, if there are any. */
function episodeControls(row, moves) {
  const { at, count } = inList(row);
  if (count < 2) return [];
  return h("span", { class: "others" }, control("Previous episode", "k", "k", moves), h("span", { class: "counter" }, `${(at + 1).toLocaleString("en")} of ${count.toLocaleString("en")}`),
    control("Next episode", "j", "j", moves));
}

// ---- Below the panes ----

const scoreList = (row) => h("dl", { class: "facts scores" }, scoresOf([row])
  .map(([key, title]) => h("div", {}, h("dt", {}, title), h("dd", {}, scoreText(row, key)))));

const callButton = (place, go, words = `call ${place + 1}`) =>
  h("button", { type: "button", class: "to", "aria-label": `Go to call ${place + 1}`, click: () => go(place + 1) }, words);

/** The findings of the explanation, with links to their calls. */
function findings(episode, go) {
  if (!episode.findings?.length) return [];
  const most = 12;
  const listed = episode.findings.map(({ kind, text, calls }) => h("div", {}, h("dt", { class: kind }, spell(kind)),
    h("dd", {}, foreign(text), " ", calls.slice(0, most).map((place) => [callButton(place, go), " "]),
      calls.length > most ? `and ${calls.length - most} more` : null)));
  return [h("h2", {}, "Why"), h("dl", { class: "findings" }, listed)];
}

/** The fix as a table: what was done, what should be done, and the instruction. */
function fixTable(task, episode, go) {
  if (!editsOf(episode).length) return [];
  const nothing = () => h("span", { class: "note" }, "nothing");
  const called = (call) => h("div", {}, callButton(call, go, `${call + 1}`), " ", labelOf(episode.calls[call]));
  const was = ({ kind, call, also }) => (kind === "add" || !episode.calls[call] ? nothing() : [call, ...(also ?? [])].map(called));
  const should = ({ kind, call, action, then }) => {
    if (kind === "leave out") return nothing();
    const names = [action, ...(then ?? [])].map((step) => task.actions[step]?.[1] ?? episode.calls[call]?.label);
    const known = names.filter((name) => name !== undefined);
    return known.length ? known.map((name) => h("div", {}, code(cut(name, 160)))) : nothing();
  };
  const row = (edit) => h("tr", { class: edit.kind.replace(" ", "-") }, h("td", {}, was(edit)), h("td", {}, should(edit)), h("td", { class: "word" }, foreign(edit.text)));
  return [h("h2", {}, "Fix, call by call"), ...tableInParts("Fix, call by call", ["Was", "Should be", "In words"], episode.fix, row)];
}

const message = ({ who, before, body }, level) =>
  block(visible(`${cut(who ?? "Message", 40)}${Number.isInteger(before) ? `, before call ${before + 1}` : ""}`), body, level);

/** The answer, the messages and everything else that was recorded. */
function rest(episode, row) {
  const parts = [
    row.agent.length > 100 && block("Agent", ["text", row.agent]),
    episode.answer && block("Answer", episode.answer), episode.params && block("Parameters", episode.params),
    episode.messages.length && foldable([many(episode.messages.length, "message")], () => episode.messages.map((one) => message(one))),
    episode.others.length && foldable([`${many(episode.others.length, "call")} by others`], () => episode.others.flatMap((call) => [h("h3", {}, labelOf(call)), ...inFull(call)])),
    foldable(["All else that was recorded"], () => block("Recorded", episode.more)),
  ];
  const ended = episode.ended ? h("p", {}, "How it ended: ", foreign(cut(episode.ended, 200)), ".") : null;
  return [h("h2", {}, "Answer and record"), ended, ...parts.filter(Boolean)];
}

/** Links to the previous and next episode of the last list, and a choice of one to compare with. */
function neighbours(row) {
  const { before, next } = inList(row);
  const to = (other, words) => other && h("p", {}, `${words}: `, link(episodeLink(other), nameElement(episodeName(other)), " on ", nameElement(other.task)));
  const others = all.rows.filter((one) => one.task === row.task && one !== row);
  const select = h("select", {}, others.map((one, place) => h("option", { value: place }, visible(cut(episodeName(one), 100)))));
  const compared = others.length && h("form", { submit: (event) => { event.preventDefault(); location.hash = diffLink(row, others[select.value]); } },
    h("label", {}, "Compare with ", select), " ", h("button", {}, "Compare"));
  const parts = [to(before, "Before"), to(next, "Next"), compared];
  return h("nav", { class: "neighbours", "aria-label": "Other episodes" }, parts.filter(Boolean));
}
