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

/** All runs of a task on one drawing, and where they part and fail. */
function runsDrawn(task) {
  const picture = drawing(task);
  if (!task.runs) return picture.element;
  picture.count(task.runs);
  const { runs, accepted, points } = task.runs;
  const rows = taskRows(visible(task.name));
  return [
    h("p", { class: "note" }, `${many(runs, "run")} on one drawing: `, runs ? `${accepted.toLocaleString("en")} completed the task.` : null),
    picture.element, lanesLegend(true),
    points.length ? h("section", {}, h("h2", {}, "Where runs part and fail"), pointList(task, rows, points)) : null,
  ];
}

const SHOWN_POINTS = 5;

/** The points at which runs part or fail, those with the most failures first. */
function pointList(task, rows, points) {
  const [first, rest] = [points.slice(0, SHOWN_POINTS), points.slice(SHOWN_POINTS)];
  const list = (some, start) => h("ol", { class: "points", start }, some.map((point) => pointItem(task, rows, point)));
  return [list(first, 1), rest.length ? foldable([`Show ${rest.length} more`], () => list(rest, SHOWN_POINTS + 1)) : null];
}

/** A point: what was due there, and how runs went on. */
function pointItem(task, rows, { due, runs, failed, ways }) {
  const nameOf = (action) => code(cut(task.actions[action][0], 120));
  const most = 4;
  const named = due.slice(0, most).flatMap((action, place) => [place ? " or " : "", nameOf(action)]);
  const where = due.length ? ["Where ", named, due.length > most ? ` or ${due.length - most} more` : null, " came next"] : ["After the last step"];
  const words = { step: (action) => ["→", " went on with ", nameOf(action)], harm: (label, why) => ["✕", " called ", code(cut(label, 120)), why ? `, ${spell(why)}` : ""], stop: () => ["■", " stopped"] };
  return h("li", {}, where, `: ${many(runs, "run")}, ${failed ? `${failed.toLocaleString("en")} of them went wrong` : "none of them wrong"}`,
    h("ul", {}, ways.map(([kind, what, count, some, why]) => {
      const [sign, ...how] = words[kind](what, why);
      return h("li", { class: kind === "step" ? "" : "fails" }, h("span", { class: "sign", "aria-hidden": "true" }, sign), count.toLocaleString("en"), how,
        kind === "step" || !some.length ? null : [": ", episodeLinks(rows, some, count)]);
    })));
}

/** Links to some episodes, and how many more there are. */
function episodeLinks(rows, numbers, count) {
  const found = numbers.map((number) => rows.find(({ within: place }) => place === number)).filter(Boolean);
  const links = found.flatMap((row, place) => [place ? ", " : "", link(episodeLink(row), nameElement(episodeName(row)))]);
  return [links, count > found.length ? ` and ${(count - found.length).toLocaleString("en")} more` : null];
}

/** The prompt, the drawing and the rules of a task. */
function about(task) {
  if (task.gone) return [notScored(task, task.gone)];
  const rules = task.rules.filter(([, patterns]) => patterns.length)
    .map(([title, patterns]) => [h("dt", {}, title), patterns.map((text) => h("dd", {}, code(text)))]);
  return [
    promptElement(task.prompt),
    runsDrawn(task),
    h("h2", {}, "Procedure"),
    task.procedure && block("In short", ["procedure", task.procedure]),
    h("dl", { class: "rules" }, h("dt", {}, "actions"),
      task.actions.map(([name, notation]) => h("dd", {}, code(name), name === notation ? null : [" is ", code(notation)])), rules,
      h("dt", {}, "any other call"), h("dd", {}, task.unlisted === "ignore" ? "is ignored" : task.unlisted === "harm" ? "is harmful" : "is harmful if a step uses its tool, and ignored otherwise")),
  ];
}
