// The view of a task: what it asks for, its drawing, its episodes.

const taskRows = (name) => all.rows.filter((row) => visible(row.task) === name);

async function showTask(name) {
  const rows = taskRows(name);
  if (!rows.length) return showMissing(`This page has no task '${name}'.`);
  const still = currentTurn();
  const task = await taskOf(rows[0]);
  if (!still()) return;
  const picked = [];
  const compareLink = h("p", { class: "picks", role: "status" }, "Pick two episodes to compare them.");
  const pick = (row) => {
    const button = h("button", { type: "button", "aria-pressed": "false", "aria-label": `Pick ${visible(episodeName(row))}` }, "pick");
    button.addEventListener("click", () => {
      const at = picked.findIndex(([other]) => other === row);
      if (at >= 0) picked.splice(at, 1);
      else picked.push([row, button]);
      if (picked.length > 2) picked.shift()[1].setAttribute("aria-pressed", "false");
      button.setAttribute("aria-pressed", String(at < 0));
      const names = picked.flatMap(([one], place) => [place ? " and " : "", nameElement(episodeName(one))]);
      compareLink.replaceChildren(...(picked.length === 2 ? [link(diffLink(picked[0][0], picked[1][0]), "Compare ", ...names)]
        : picked.length ? ["Picked ", ...names, "; pick one more."] : ["Pick two episodes to compare them."]));
    });
    return h("td", {}, button);
  };
  show(task.name, [nameElement(task.name)], h("h1", {}, nameElement(task.name)), about(task), h("h2", {}, "Episodes"),
    rows.length < task.all && h("p", { class: "rest" }, `${rows.length} of ${task.all} episodes of this task are in this page.`), rows.length > 1 && compareLink,
    episodeList("Episodes of this task", rows, { without: "task", last: rows.length > 1 ? pick : null }));
}

/** Says why an episode or a task is shown without its automaton. */
const notScored = ({ alone }, why) =>
  h("p", { class: "gone" }, alone ? "Judged by rules alone: " : "Only what was recorded is shown: ", foreign(why));

/** The prompt, the drawing and the rules of a task. */
function about(task) {
  if (task.gone) return [notScored(task, task.gone)];
  const rules = task.rules.filter(([, patterns]) => patterns.length)
    .map(([title, patterns]) => [h("dt", {}, title), patterns.map((text) => h("dd", {}, code(text)))]);
  return [
    promptElement(task.prompt),
    drawing(task).element,
    h("h2", {}, "Procedure"),
    task.procedure && block("In short", ["procedure", task.procedure]),
    h("dl", { class: "rules" }, h("dt", {}, "actions"),
      task.actions.map(([name, notation]) => h("dd", {}, code(name), name === notation ? null : [" is ", code(notation)])), rules,
      h("dt", {}, "any other call"), h("dd", {}, task.unlisted === "harm" ? "is harmful" : "is ignored")),
  ];
}

/** The drawing of a task's automaton, folded or full. `mark` shows where some calls led. */
function drawing(task) {
  const place = scrollArea("The task's automaton");
  const note = h("p", { class: "note" });
  const pictures = task.drawings.map(({ svg }) => document.importNode(new DOMParser().parseFromString(svg, "image/svg+xml").documentElement, true));
  let marked = (svg) => within(place, stateOf(svg, task.start));
  const put = (number) => {
    place.replaceChildren(pictures[number]);
    note.textContent = [task.counted, task.drawings[number].left_out].filter(Boolean).join(". ");
    marked(pictures[number]);
  };
  const full = h("button", { type: "button", "aria-pressed": "false" }, "Show every state");
  full.addEventListener("click", () => {
    const pressed = full.getAttribute("aria-pressed") !== "true";
    full.setAttribute("aria-pressed", String(pressed));
    put(pressed ? 1 : 0);
  });
  put(0);
  requestAnimationFrame(() => marked(place.firstElementChild));
  const element = h("figure", { class: "drawing" }, pictures.length > 1 ? full : null, place, note);
  return { element, mark: (calls) => { marked = (svg) => mark(svg, place, task, calls); marked(place.firstElementChild); } };
}
