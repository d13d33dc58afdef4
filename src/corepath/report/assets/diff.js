// The view of two episodes of a task, side by side.

const MOST_CELLS = 4e6;

/** Align two lists of texts by their longest common subsequence: pairs of places, null for a gap. */
function align(a, b) {
  let [begin, end] = [0, 0];
  while (begin < Math.min(a.length, b.length) && a[begin] === b[begin]) begin += 1;
  while (end < Math.min(a.length, b.length) - begin && a[a.length - 1 - end] === b[b.length - 1 - end]) end += 1;
  const [n, m] = [a.length - begin - end, b.length - begin - end];
  const pairs = Array.from({ length: begin }, (_, place) => [place, place]);
  let [i, j] = [0, 0];
  if (n * m <= MOST_CELLS) {
    const wide = m + 1;
    const best = new Uint32Array((n + 1) * wide);
    for (let x = n - 1; x >= 0; x -= 1) {
      for (let y = m - 1; y >= 0; y -= 1) {
        best[x * wide + y] = a[begin + x] === b[begin + y] ? best[(x + 1) * wide + y + 1] + 1
          : Math.max(best[(x + 1) * wide + y], best[x * wide + y + 1]);
      }
    }
    while (i < n && j < m) {
      if (a[begin + i] === b[begin + j]) pairs.push([begin + i++, begin + j++]);
      else if (best[(i + 1) * wide + j] >= best[i * wide + j + 1]) pairs.push([begin + i++, null]);
      else pairs.push([null, begin + j++]);
    }
  }
  while (i < n) pairs.push([begin + i++, null]);
  while (j < m) pairs.push([null, begin + j++]);
  for (let place = end; place > 0; place -= 1) pairs.push([a.length - place, b.length - place]);
  return pairs;
}

async function showDiff(taskName, agentA, numberA, agentB, numberB) {
  const wanted = [[agentA, numberA], [agentB, numberB]];
  const rows = wanted.map(([agent, number]) => findRow(taskName, agent, number));
  const gone = wanted.find((_, which) => !rows[which]);
  if (gone) return showMissing(`This page has no episode '${gone[1]}' of agent '${gone[0]}' on task '${taskName}'.`);
  const still = currentTurn();
  const task = await taskOf(rows[0]);
  if (!still()) return;
  const both = rows.map((row) => ofRow(task, row));
  const names = rows.map((row) => link(episodeLink(row), nameElement(episodeName(row))));
  const texts = both.map(({ calls }) => calls.map((call) => `${call.tool}\n${call.arguments[1]}`));
  const answer = (call) => JSON.stringify([call.result, call.error]);
  let first = true;
  const side = (which, place, differs) => {
    if (place === null) return h("td", { class: "note" }, "nothing");
    const call = both[which].calls[place];
    const [sign, word] = kindOf(call);
    return h("td", { class: call.kind ?? "" }, link(`${episodeLink(rows[which])}?call=${place + 1}`, `${place + 1}`), " ",
      h("span", { class: "sign", "aria-hidden": "true" }, sign), " ", code(call.label), " ", h("span", { class: "word" }, word),
      differs ? h("div", { class: "note" }, code(cut((call.error ?? call.result ?? ["", "no answer"])[1], 160))) : null);
  };
  const lines = align(...texts).map(([a, b]) => {
    const same = a !== null && b !== null;
    const other = same && answer(both[0].calls[a]) !== answer(both[1].calls[b]);
    const words = same ? (other ? "same call, other answer" : "same") : a === null ? "only on the right" : "only on the left";
    const begins = first && (!same || other);
    if (begins) first = false;
    return h("tr", { class: begins ? "first" : same ? "same" : "changed" }, side(0, a, other), side(1, b, other),
      h("td", { class: "word" }, begins ? h("b", {}, "first difference: ") : null, words));
  });
  const scores = scoresOf(rows).map(([key, title]) => {
    const [a, b] = rows.map((row) => scoreText(row, key));
    const cells = [a, b].map((text) => h("td", { class: "number" }, text));
    return h("tr", { class: a === b ? "same" : "changed" }, h("th", { scope: "row" }, title), cells);
  });
  const head = (...cells) => h("thead", {}, h("tr", {}, cells.map((cell) => (cell ? h("th", { scope: "col" }, cell) : h("td")))));
  show(`${episodeName(rows[0])} and ${episodeName(rows[1])} on ${task.name}`, [link(taskLink(task.name), nameElement(task.name)), "comparison"],
    h("h1", {}, nameElement(episodeName(rows[0])), " and ", nameElement(episodeName(rows[1])), " on ", link(taskLink(task.name), nameElement(task.name))),
    h("p", {}, first ? "They made the same calls and got the same answers." : "Where they differ first is marked."),
    h("div", { class: "beside" }, rows.map((row, which) => h("p", { class: "headline" }, names[which], " ", badge(row), " ", foreign(row.headline)))),
    h("h2", {}, "Calls"), scrollArea("Calls side by side", h("table", { class: "aligned" },
      head(...rows.map((row) => nameElement(episodeName(row))), ""), h("tbody", {}, lines))),
    h("h2", {}, "Scores"), scrollArea("Scores side by side", h("table", { class: "scores" },
      head("Score", ...rows.map((row) => nameElement(episodeName(row)))), h("tbody", {}, scores))));
}
