// What runs did, on the lanes of a task: ticks, crosses and numbers in the steps, and lines that are wider for more runs.

const CELL = 6.7;
const WIDEST_LINE = 5;

/** An SVG element. Text that an agent wrote enters it only as text. */
function svgElement(name, attributes, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

/** The step at a place; -1 is the start. */
const stepAt = (svg, place) => svg.querySelector(place < 0 ? ".start" : `.step[data-place="${place}"]`);

const shortNumber = (count) => (count < 1000 ? String(count) : `${Math.floor(count / 1000)}k`);

/** Write marks into a step: [class, sign, words]. If there is not room for all signs, the last are only in the tooltip. */
function writeMarks(step, marks) {
  step.querySelector(".marks")?.remove();
  if (!marks.length) return;
  const [wide, high] = ["width", "height"].map((name) => Number(step.querySelector("rect").getAttribute(name)));
  const badge = step.querySelector(".rule")?.lastChild.textContent.length ?? 0;
  const shown = [...marks];
  const cells = () => shown.reduce((sum, [, sign]) => sum + sign.length + 1, 0);
  while (shown.length > 1 && cells() * CELL > wide - 10 - badge * CELL) shown.pop();
  const inStep = step.classList.contains("step");
  const text = svgElement("text", { class: "marks", x: inStep ? wide - 6 : wide / 2, y: high - 6 });
  shown.forEach(([name, sign], number) => text.append(svgElement("tspan", { class: name }, `${number ? " " : ""}${sign}`)));
  text.prepend(svgElement("title", {}, marks.map(([, , words]) => words).join("; ")));
  step.append(text);
}

/** Remove all marks of earlier calls. */
function clearLanes(svg) {
  for (const old of svg.querySelectorAll(".seen, .now, .hurt, .tried")) old.classList.remove("seen", "now", "hurt", "tried");
  for (const old of svg.querySelectorAll(".marks")) old.remove();
  for (const line of svg.querySelectorAll(".line")) line.setAttribute("class", "line");
}

const advances = (call) => call.kind && call.after !== call.before;

/** The place of each call that advanced the task. A call whose place is not known is at the first step with its action. */
const placeOf = (svg, call) => call.place ?? Number(svg.querySelector(`.step[data-action="${call.action}"]`)?.dataset.place ?? -1);

/** Count what some calls did at each place: steps done, and harmful calls made there. */
function walkLanes(svg, calls) {
  const [done, harmed] = [new Map(), new Map()];
  const more = (counts, place) => counts.set(place, (counts.get(place) ?? 0) + 1);
  let at = -1;
  for (const call of calls) {
    if (call.kind === "harm") more(harmed, at);
    if (advances(call)) {
      at = placeOf(svg, call);
      more(done, at);
    }
  }
  return { done, harmed, at };
}

/** Mark in the lanes what the calls have done, where the last one led, and where harmful calls were made. */
function paintLanes(svg, place, task, { calls, runs }) {
  clearLanes(svg);
  if (runs) return countLanes(svg, runs);
  const { done, harmed, at } = walkLanes(svg, calls ?? []);
  for (const one of new Set([...done.keys(), ...harmed.keys()])) {
    const [times, harms] = [done.get(one) ?? 0, harmed.get(one) ?? 0];
    const step = stepAt(svg, one);
    step.classList.add("seen");
    writeMarks(step, [
      ...(times ? [["good", times > 1 ? `✓${times}` : "✓", times > 1 ? `done ${times} times` : "done"]] : []),
      ...(harms ? [["bad", harms > 1 ? `✕${harms}` : "✕", `${many(harms, "harmful call")} made here`]] : [])]);
  }
  const ended = (task.accepting ?? []).includes(calls?.at(-1)?.after);
  for (const line of svg.querySelectorAll(".line")) {
    if (line.dataset.by.split(" ").some((one) => (one === "end" ? ended : done.has(Number(one))))) line.classList.add("seen");
  }
  if (ended) {
    svg.querySelector(".end").classList.add("seen");
    writeMarks(svg.querySelector(".end"), [["good", "✓", "The task was completed."]]);
  }
  const now = stepAt(svg, at);
  now.classList.add("now");
  if (calls?.at(-1)?.kind === "harm") {
    now.classList.add("hurt");
    triedStep(svg, calls.at(-1), done)?.classList.add("tried");
  }
  return within(place, now);
}

/** The step that a harmful call was meant to be: the first with its action that is still to be done, or the first. */
function triedStep(svg, call, done) {
  const steps = Number.isInteger(call.action) ? [...svg.querySelectorAll(`.step[data-action="${call.action}"]`)] : [];
  return steps.find((step) => !done.has(Number(step.dataset.place))) ?? steps[0];
}

/** Write into the lanes how many runs did each step, made harmful calls there or stopped, and how many took each line. */
function countLanes(svg, runs) {
  const marks = (done, harm, stop) => [
    ...(done ? [["good", `✓${shortNumber(done)}`, `done in ${done} of ${many(runs.runs, "run")}`]] : []),
    ...(harm ? [["bad", `✕${shortNumber(harm)}`, `harmful calls made right after it in ${many(harm, "run")}`]] : []),
    ...(stop ? [["stop", `■${shortNumber(stop)}`, `${many(stop, "run")} stopped here`]] : [])];
  runs.done.forEach((done, place) => writeMarks(stepAt(svg, place), marks(done, runs.harm[place + 1], runs.stop[place + 1])));
  writeMarks(stepAt(svg, -1), marks(0, runs.harm[0], runs.stop[0]));
  writeMarks(svg.querySelector(".end"), [["good", `✓${shortNumber(runs.accepted)}`, `completed by ${runs.accepted} of ${many(runs.runs, "run")}`]]);
  for (const line of svg.querySelectorAll(".line")) {
    const { by } = line.dataset;
    const count = by === "end" ? runs.accepted : by.includes(" ") ? runs.lines[by] : runs.done[Number(by)];
    line.classList.add(`w${count && runs.runs ? Math.max(1, Math.round((WIDEST_LINE * count) / runs.runs)) : 0}`);
  }
}

/** Words for the signs and shapes in lanes. */
const lanesLegend = (counted) => h("details", { class: "legend" }, h("summary", {}, "How to read this drawing"),
  h("ul", {},
    counted ? [
      h("li", {}, h("b", { class: "good" }, "✓"), " runs that did the step"), h("li", {}, h("b", { class: "bad" }, "✕"), " runs with a harmful call right after it"),
      h("li", {}, h("b", {}, "■"), " runs that stopped there, before the end"), h("li", {}, "wider lines: more runs; dotted lines: none")] : null,
    h("li", {}, "single bars: all rows, in any order; double bars: all rows, one at a time"), h("li", {}, "◇ one of the rows"),
    h("li", {}, "dashed: optional, repeated, or in one go, as it says there"), h("li", {}, "§2: two rules name this step")));
