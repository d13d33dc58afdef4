// The view of an episode: its calls step by step on the drawing, and their explanation.

const findRow = (task, agent, number) => taskRows(task).find((row) => visible(row.agent) === agent && row.number === number);

/** The episode of a row, with the records of its calls in place of their numbers. */
function ofRow(task, row) {
  const found = task.episodes[row.within];
  const inFull = (numbers) => numbers.map((number) => task.calls[number])
    .map((call) => ({ ...task.asked[call.asked], ...call, after: call.after ?? call.before }));
  return { ...found, calls: inFull(found.calls), others: inFull(found.others) };
}

/** A sign and a word for the kind of a call, so that nothing depends on colour alone. */
function kindOf(call) {
  if (!call.kind) return ["·", "recorded"];
  if (call.kind === "harm") return ["✕", `harmful, ${spell(call.harm ?? "")}`];
  return call.kind === "progress" ? ["→", "progress"] : ["↺", "loop"];
}

async function showEpisode(taskName, agent, number, query) {
  const row = findRow(taskName, agent, number);
  if (!row) return showMissing(`This page has no episode '${number}' of agent '${agent}' on task '${taskName}'.`);
  const still = currentTurn();
  const task = await taskOf(row);
  if (!still()) return;
  const episode = ofRow(task, row);
  const walk = walker(task, episode);
  const ofTask = () => link(taskLink(row.task), nameElement(row.task));
  show(`${episodeName(row)} on ${row.task}`, [ofTask(), nameElement(episodeName(row))],
    h("h1", {}, nameElement(episodeName(row)), " on ", ofTask()), h("p", { class: "headline" }, badge(row), " ", foreign(row.headline)),
    task.prompt && h("p", { class: "prompt" }, foreign(task.prompt)),
    h("h2", {}, "Scores"), scoreList(row),
    h("h2", {}, "The path"), walk.element,
    findings(episode, walk.go),
    episode.golden && h("div", { class: "beside" },
      alignment(`The nearest golden path${episode.repair === true ? " and repair" : ""}`, task, episode, episode.golden, walk.go),
      Array.isArray(episode.repair) ? alignment("The nearest repair", task, episode, episode.repair, walk.go) : null),
    rest(episode, row), neighbours(row));
  walk.go(Number(query.get("call") ?? 0) || 0);
}

const scoreList = (row) => h("dl", { class: "facts scores" }, scoresOf([row])
  .map(([key, title]) => h("div", {}, h("dt", {}, title), h("dd", {}, scoreText(row, key)))));

/** Step through the calls of an episode on the drawing, by keyboard, buttons or clicks. Place 0 is the start. */
function walker(task, episode) {
  const { calls } = episode;
  const live = h("p", { class: "live", "aria-live": "polite" });
  const detail = h("div", { class: "detail" });
  const picture = task.drawings ? drawing(task) : null;
  let at = -1;
  const items = calls.map((call, place) => {
    const [sign, word] = kindOf(call);
    return h("button", { type: "button", class: `call ${call.kind ?? ""}`, click: () => go(place + 1) },
      h("span", { class: "sign", "aria-hidden": "true" }, sign), h("span", { class: "nth" }, `${place + 1}`), code(call.label),
      h("span", { class: "word" }, word));
  });
  const control = (words, key, target) => h("button", { type: "button", "aria-keyshortcuts": key, click: () => go(target()) }, words);
  const controls = h("div", { class: "controls" }, control("⇤ start", "Home", () => 0), control("← back", "ArrowLeft", () => at - 1),
    control("next →", "ArrowRight", () => at + 1), control("end ⇥", "End", () => calls.length));

  function go(wanted) {
    const next = Math.max(0, Math.min(calls.length, wanted));
    if (next === at) return;
    items[at - 1]?.removeAttribute("aria-current");
    at = next;
    const call = calls[at - 1];
    if (call) items[at - 1].setAttribute("aria-current", "step");
    within(items[at - 1]?.closest(".scroll"), items[at - 1]);
    live.replaceChildren(...(call ? said(call) : [calls.length ? `Before the first of ${many(calls.length, "call")}.` : "The agent made no call."]));
    const heard = episode.messages.filter(({ before }) => before === at - 1).map((one) => message(one, "h4"));
    const hint = h("p", { class: "note" }, "The keys ← and → step through the calls; Home and End go to either end.");
    detail.replaceChildren(...(call ? [...inFull(call), ...heard] : [hint]));
    if (picture && !episode.why) picture.mark(calls.slice(0, at));
    const [path] = location.hash.split("?");
    history.replaceState(null, "", at ? `${path}?call=${at}` : path);
  }

  function said(call) {
    const text = call.text ? [" — ", foreign(call.text)] : [];
    return [`Call ${at} of ${calls.length}: `, code(call.label), " — ", h("b", { class: call.kind ?? "" }, kindOf(call)[1]), ...text];
  }

  keys = { ArrowLeft: () => go(at - 1), ArrowRight: () => go(at + 1), Home: () => go(0), End: () => go(calls.length) };
  const list = scrollArea("Calls", h("ol", { class: "calls" }, items.map((item) => h("li", {}, item))));
  const gone = episode.why ? notScored(episode, episode.why) : null;
  const element = h("div", { class: "walk" }, gone, calls.length ? controls : null, live, picture?.element, calls.length ? h("div", { class: "columns" }, list, detail) : null);
  return { element, go };
}

/** A call's arguments and what came back. */
function inFull(call) {
  const answered = "error" in call || "result" in call;
  return [
    h("h3", {}, code(call.label)),
    call.turn !== undefined ? h("p", { class: "note" }, `turn ${call.turn}`) : null,
    block("Arguments", call.arguments, "h4"),
    "error" in call ? block("Error", call.error, "h4") : null,
    "result" in call ? block("Result", call.result, "h4") : null,
    answered ? null : h("p", { class: "note" }, "No answer came."),
    "more" in call ? block("Also recorded", call.more, "h4") : null,
  ].filter(Boolean);
}

const places = new WeakMap();

/** The elements of a drawing that belong to a call: the state it led to, and its edge, self-loop or stub. */
function elementsOf(svg, call) {
  if (!places.has(svg)) places.set(svg, new Map());
  const known = places.get(svg);
  const key = JSON.stringify([call.kind, call.before, call.after, call.action, call.label]);
  if (!known.has(key)) known.set(key, [stateOf(svg, call.after), ...crossedElements(svg, call)].filter(Boolean));
  return known.get(key);
}

const stateOf = (svg, state) => svg.querySelector(`[data-states~="${state}"]`);
/** The number that edges and loops use for a state: the first state in its box. */
const markOf = (svg, state) => parseInt(stateOf(svg, state)?.dataset.states);

function crossedElements(svg, call) {
  const own = (selector) => [...svg.querySelectorAll(selector)];
  const [label, from] = [`[data-action="${call.action}"]`, `[data-from="${markOf(svg, call.before)}"]`];
  if (call.kind === "progress") return own(`.edge${from}[data-to="${markOf(svg, call.after)}"]`);
  if (call.kind === "loop") return own(`.loop${from}:has(${label}), .anywhere ${label}`);
  const stubs = own(`.harm${from}`);
  const named = stubs.filter((stub) => [call.label, visible(call.label)].includes(stub.dataset.harm));
  return named.length ? named : stubs.filter((stub) => !("harm" in stub.dataset));
}

/** Mark in a drawing what the calls have passed, and what the last one did. */
function mark(svg, place, task, calls) {
  for (const old of svg.querySelectorAll(".seen, .now")) old.classList.remove("seen", "now");
  const begin = [stateOf(svg, task.start)].filter(Boolean);
  for (const one of [...begin, ...calls.flatMap((call) => elementsOf(svg, call))]) one.classList.add("seen");
  const now = calls.length ? elementsOf(svg, calls.at(-1)) : begin;
  for (const one of now) one.classList.add("now");
  within(place, now[0]);
}

/** Scroll a region, not the page, until the element is in its middle. */
function within(place, element) {
  if (!place || !element) return;
  const [outer, inner] = [place.getBoundingClientRect(), element.getBoundingClientRect()];
  place.scrollLeft += inner.left + inner.width / 2 - outer.left - outer.width / 2;
  place.scrollTop += inner.top + inner.height / 2 - outer.top - outer.height / 2;
}

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

/** The path beside a reference, row by row, with words for each difference. */
function alignment(title, task, episode, pairs, go) {
  const heading = h("h2", {}, title);
  if (!pairs.length) return h("section", {}, heading, h("p", { class: "note" }, "Nothing was done, and nothing was due."));
  const nothing = () => h("span", { class: "note" }, "nothing");
  const rows = pairs.map(([place, action]) => {
    const call = place === null ? null : episode.calls[place];
    const [name, words] = !call ? ["gap", "left out"] : action === null ? ["extra", "too much"]
      : call.action === action ? ["same", "as due"] : ["changed", "instead of it"];
    return h("tr", { class: name }, h("td", {}, call ? [callButton(place, go, `${place + 1}`), " ", code(call.label)] : nothing()),
      h("td", {}, action === null ? nothing() : code(task.actions[action]?.[0] ?? action)), h("td", { class: "word" }, words));
  });
  const head = h("tr", {}, ["What was done", "What was due", "How they compare"].map((text) => h("th", { scope: "col" }, text)));
  return h("section", {}, heading, scrollArea(title, h("table", { class: "aligned" }, h("thead", {}, head), h("tbody", {}, rows))));
}

const message = ({ who, before, body }, level) =>
  block(visible(`${cut(who ?? "Message", 40)}${Number.isInteger(before) ? `, before call ${before + 1}` : ""}`), body, level);

/** The answer, the messages and everything else that was recorded. */
function rest(episode, row) {
  const parts = [
    row.agent.length > 100 && block("Agent", ["text", row.agent]),
    episode.answer && block("Answer", episode.answer), episode.params && block("Parameters", episode.params),
    episode.messages.length && foldable([many(episode.messages.length, "message")], () => episode.messages.map((one) => message(one))),
    episode.others.length && foldable([`${many(episode.others.length, "call")} by others`], () => episode.others.flatMap(inFull)),
    foldable(["All else that was recorded"], () => block("Recorded", episode.more)),
  ];
  const ended = episode.ended ? h("p", {}, "How it ended: ", foreign(cut(episode.ended, 200)), ".") : null;
  return [h("h2", {}, "Answer and record"), ended, ...parts.filter(Boolean)];
}

/** Links to the previous and next episode of the last list, and a choice of one to compare with. */
function neighbours(row) {
  const listed = all.listed.includes(row) ? all.listed : all.rows;
  const at = listed.indexOf(row);
  const to = (other, words) => other && h("p", {}, `${words}: `, link(episodeLink(other), nameElement(episodeName(other)), " on ", nameElement(other.task)));
  const others = all.rows.filter((one) => one.task === row.task && one !== row);
  const select = h("select", {}, others.map((one, place) => h("option", { value: place }, visible(cut(episodeName(one), 100)))));
  const compared = others.length && h("form", { submit: (event) => { event.preventDefault(); location.hash = diffLink(row, others[select.value]); } },
    h("label", {}, "Compare with ", select), " ", h("button", {}, "Compare"));
  const parts = [to(listed[at - 1], "Before"), to(listed[at + 1], "Next"), compared];
  return h("nav", { class: "neighbours", "aria-label": "Other episodes" }, parts.filter(Boolean));
}
