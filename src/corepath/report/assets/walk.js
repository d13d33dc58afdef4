// The walk through an episode: its calls with the messages between them, the selected call, and the drawing.

const SPEAKERS = { user: "User", human: "User", assistant: "Agent", agent: "Agent", ai: "Agent", system: "System", tool: "Tool" };
const FOLDED = 240;
const LONGEST_LABEL = 300;

/** A sign and a word for the kind of a call, so that nothing depends on colour alone. */
function kindOf(call) {
  if (!call.kind) return ["·", "recorded"];
  if (call.kind === "harm") return ["✕", `harmful, ${spell(call.harm ?? "")}`];
  return call.kind === "progress" ? ["→", "progress"] : ["↺", "loop"];
}

const labelOf = (call) => code(cut(call.label, LONGEST_LABEL));

/** The verdict on a call and what it did, in words. */
const verdict = (call) => [h("b", { class: call.kind ?? "" }, kindOf(call)[1]), call.effect ? [" · ", h("span", { class: "effect" }, call.effect)] : null];

/** A call in the list. */
const callItem = (call, place, go) => h("li", {}, h("button", { type: "button", class: `call ${call.kind ?? ""}`, click: () => go(place + 1) },
  h("span", { class: "sign", "aria-hidden": "true" }, kindOf(call)[0]), h("span", { class: "nth" }, `${place + 1}`), labelOf(call),
  h("span", { class: "word" }, verdict(call))));

/** A message in the list: two lines of it, and all of it after a click. */
function messageItem({ who, body: [, text] }) {
  const name = SPEAKERS[(who ?? "").toLowerCase()] ?? visible(cut(who ?? "Message", 40));
  const role = name.toLowerCase();
  const words = h("bdi", { class: "said" }, visible(cut(text, FOLDED), true));
  const speaker = h("span", { class: "speaker" }, name);
  const known = ["user", "agent"].includes(role) ? role : "other";
  if (text.length < 60 && !text.includes("\n")) return h("li", { class: `message ${known}` }, speaker, words);
  const button = h("button", { type: "button", "aria-expanded": "false" }, speaker, words);
  button.addEventListener("click", () => {
    const open = button.getAttribute("aria-expanded") !== "true";
    button.setAttribute("aria-expanded", String(open));
    words.textContent = visible(open ? text : cut(text, FOLDED), true);
  });
  return h("li", { class: `message ${known}` }, button);
}

/** The list of calls, with the task before them and each message before the call that it precedes. */
function callList(task, episode, items) {
  const heard = new Map();
  for (const one of episode.messages.filter(({ before }) => Number.isInteger(before))) {
    const place = Math.max(0, Math.min(one.before, items.length));
    heard.set(place, [...(heard.get(place) ?? []), one]);
  }
  const said = (place) => (heard.get(place) ?? []).map(messageItem);
  const asked = task.prompt ? [messageItem({ who: "Task", body: ["text", task.prompt] })] : [];
  return h("ol", { class: "calls" }, asked, items.map((item, place) => [said(place), item]), said(items.length));
}

/** The places of the harmful calls, counted from 1. */
const harmPlaces = (calls) => calls.flatMap((call, place) => (call.kind === "harm" ? [place + 1] : []));

/** Step through the calls of an episode by keyboard, buttons or clicks. Place 0 is the start. */
function walker(task, episode) {
  const { calls } = episode;
  const live = h("p", { class: "live unseen", "aria-live": "polite" });
  const detail = pane("The selected call", "detail");
  const picture = task.drawings ? drawing(task) : null;
  const items = calls.map((call, place) => callItem(call, place, go));
  const list = pane("Calls", "list", h("h2", {}, calls.length ? many(calls.length, "call") : "No call"), callList(task, episode, items));
  const counter = h("span", { class: "counter" });
  const harms = harmPlaces(calls);
  let at = -1;

  function go(wanted) {
    const next = Math.max(0, Math.min(calls.length, wanted));
    if (next === at) return;
    const button = (place) => items[place - 1]?.firstElementChild;
    button(at)?.removeAttribute("aria-current");
    at = next;
    button(at)?.setAttribute("aria-current", "step");
    for (const _ of [1, 2]) within(list, at ? items[at - 1] : list.querySelector("h2"));
    counter.textContent = `${at} of ${calls.length}`;
    live.replaceChildren(...announced(calls, at));
    detail.replaceChildren(...(at ? callDetail(episode, at) : startDetail(task, episode)));
    detail.scrollTop = 0;
    if (picture && !episode.why) picture.mark(calls.slice(0, at));
    const [path] = location.hash.split("?");
    history.replaceState(null, "", at ? `${path}?call=${at}` : path);
  }

  const say = (text) => live.replaceChildren(text);
  const nextHarm = () => { const to = harms.find((place) => place > at); return to ? go(to) : say("There is no harmful call after this one."); };
  const lastHarm = () => { const to = harms.findLast((place) => place < at); return to ? go(to) : say("There is no harmful call before this one."); };
  const moves = { Home: () => go(0), ArrowLeft: () => go(at - 1), ArrowRight: () => go(at + 1), End: () => go(calls.length), p: lastHarm, n: nextHarm };
  const controls = [
    control("Start", "Home", "⇤", moves), control("Back", "ArrowLeft", "←", moves), counter, control("Next", "ArrowRight", "→", moves), control("End", "End", "⇥", moves),
    ...(harms.length ? [control("Previous harm", "p", "p", moves), control("Next harm", "n", "n", moves)] : []),
  ];
  const middle = picture && h("section", { class: "pane picture", "aria-label": "The task, drawn" }, picture.element);
  const element = h("div", { class: picture ? "panes" : "panes two" }, list, detail, middle);
  return { element, controls: calls.length ? controls : [], live, go, moves, say };
}

/** A column of the view that scrolls on its own. */
const pane = (label, name, ...children) => { const made = scrollArea(label, ...children); made.classList.add("pane", name); return made; };

/** A button for a move, with its key. */
const control = (words, key, sign, moves) => h("button", { type: "button", "aria-keyshortcuts": key, click: () => moves[key]() }, words, " ", h("kbd", { "aria-hidden": "true" }, sign));

/** What a screen reader hears of a place. */
function announced(calls, at) {
  if (!at) return [calls.length ? `Before the first of ${many(calls.length, "call")}.` : "The agent made no call."];
  const call = calls[at - 1];
  const words = [kindOf(call)[1], call.effect].filter(Boolean).join(", ");
  return [`Call ${at} of ${calls.length}: `, labelOf(call), ` — ${words}`, ...(call.text ? [" — ", foreign(call.text)] : [])];
}
