// The drawing of a task: its procedure as lanes, or its automaton, with fit and zoom.

const ZOOM_STEP = 1.25;
const [SMALLEST, LARGEST] = [0.1, 4];
const READABLE = 0.6;

/** An SVG text as an element of this page. */
const readDrawing = (svg) => document.importNode(new DOMParser().parseFromString(svg, "image/svg+xml").documentElement, true);

/** What can be drawn of a task: lanes, where it has them, and its automaton. Pictures are read when they are first shown. */
function drawingViews(task) {
  const later = (svg) => { let made = null; return () => (made ??= readDrawing(svg)); };
  const lanes = task.lanes ? [{ name: "Lanes", lanes: true, pictures: task.lanes.map(later) }] : [];
  const [first, full] = task.drawings;
  const automaton = { name: "Automaton", pictures: [later(first.svg)], left: first.left_out };
  return [...lanes, automaton, ...(full ? [{ name: "Every state", pictures: [later(full.svg)], left: full.left_out }] : [])];
}

/** The size that a picture has without zoom. */
const naturalSize = (svg) => svg.viewBox.baseVal;

/** The space inside a region, without its borders and padding. A region of no fixed height can be as high as its limit. */
function innerSize(place) {
  const style = getComputedStyle(place);
  const sum = (...names) => names.reduce((total, name) => total + (parseFloat(style[name]) || 0), 0);
  const limit = parseFloat(style.maxHeight) - sum("borderTopWidth", "borderBottomWidth");
  return { width: place.clientWidth - sum("paddingLeft", "paddingRight"), height: (limit || place.clientHeight) - sum("paddingTop", "paddingBottom") };
}

/** The drawing of a task. `mark(calls)` shows where some calls led, and `count(runs)` what all runs did. */
function drawing(task) {
  const place = scrollArea("Drawing of the task");
  const note = h("p", { class: "note" });
  const views = drawingViews(task);
  let [view, zoom, painted] = [views[0], null, {}];
  const picture = () => place.firstElementChild;

  function choose() {
    const made = view.pictures.map((read) => read());
    const room = innerSize(place).width;
    const svg = made.find((one) => naturalSize(one).width <= room) ?? made.at(-1);
    if (svg !== picture()) place.replaceChildren(svg);
    const { width, height } = naturalSize(svg);
    const scale = zoom ?? (view.lanes ? 1 : Math.max(READABLE, fitting(svg)));
    svg.setAttribute("width", Math.round(width * scale));
    svg.setAttribute("height", Math.round(height * scale));
    return svg;
  }

  function fitting(svg) {
    const [{ width, height }, room] = [naturalSize(svg), innerSize(place)];
    return Math.min(1, (room.width - 1) / width, (room.height - 1) / height);
  }

  function paint() {
    const svg = choose();
    note.textContent = [task.counted, view.left].filter(Boolean).join(". ");
    if (view.lanes) paintLanes(svg, place, task, painted);
    else paintAutomaton(svg, place, task, painted);
  }

  function zoomTo(scale) {
    zoom = Math.min(LARGEST, Math.max(SMALLEST, scale));
    paint();
  }
  const scaleNow = () => Number(picture().getAttribute("width")) / naturalSize(picture()).width;
  const keysOf = { "+": () => zoomTo(scaleNow() * ZOOM_STEP), "-": () => zoomTo(scaleNow() / ZOOM_STEP), 0: () => zoomTo(fitting(picture())) };

  const show = (wanted) => { [view, zoom] = [wanted, null]; paint(); };
  const element = h("figure", { class: "drawing" }, drawingTools(views, show, keysOf), place, note);
  element.addEventListener("keydown", (event) => {
    const act = keysOf[event.key === "=" ? "+" : event.key];
    if (!act || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    act();
  });
  new ResizeObserver(() => { if (place.isConnected) paint(); }).observe(place);
  paint();
  return { element, mark: (calls) => { painted = { calls }; paint(); }, count: (runs) => { painted = { runs }; paint(); } };
}

/** Buttons for the views of a drawing, and for its size. */
function drawingTools(views, show, keysOf) {
  const buttons = views.map((view, number) => h("button", { type: "button", "aria-pressed": String(!number) }, view.name));
  buttons.forEach((button, number) => button.addEventListener("click", () => {
    buttons.forEach((other) => other.setAttribute("aria-pressed", String(other === button)));
    show(views[number]);
  }));
  const sized = [["−", "-", "Smaller"], ["Fit", "0", "Fit"], ["+", "+", "Larger"]].map(([words, key, label]) =>
    h("button", { type: "button", "aria-label": `${label} drawing`, "aria-keyshortcuts": key, click: () => keysOf[key]() }, words));
  return h("div", { class: "tools" }, views.length > 1 ? h("span", { role: "group", "aria-label": "What is drawn" }, buttons) : null,
    h("span", { role: "group", "aria-label": "Size of the drawing" }, sized));
}

/** Scroll a region, not the page, until the element is in its middle. */
function within(place, element) {
  if (!place || !element) return;
  const [outer, inner] = [place.getBoundingClientRect(), element.getBoundingClientRect()];
  place.scrollLeft += inner.left + inner.width / 2 - outer.left - outer.width / 2;
  place.scrollTop += inner.top + inner.height / 2 - outer.top - outer.height / 2;
}

// ---- On the automaton ----

const knownElements = new WeakMap();

/** The elements of an automaton's drawing that belong to a call: the state it led to, and its edge, self-loop or stub. */
function elementsOf(svg, call) {
  if (!knownElements.has(svg)) knownElements.set(svg, new Map());
  const known = knownElements.get(svg);
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

/** Mark in an automaton's drawing what the calls have passed, and what the last one did. */
function paintAutomaton(svg, place, task, { calls }) {
  for (const old of svg.querySelectorAll(".seen, .now")) old.classList.remove("seen", "now");
  const begin = [stateOf(svg, task.start)].filter(Boolean);
  if (!calls) return within(place, begin[0]);
  for (const one of [...begin, ...calls.flatMap((call) => elementsOf(svg, call))]) one.classList.add("seen");
  const now = calls.length ? elementsOf(svg, calls.at(-1)) : begin;
  for (const one of now) one.classList.add("now");
  return within(place, now[0]);
}
