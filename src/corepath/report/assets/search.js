// Search in the calls of the episodes. The blocks of tasks hold them, which are decoded when a search first needs them.

const callTexts = { ready: false, reading: null, tasks: new Map(), found: new Map() };

/** Decode all blocks, and keep the calls of each task as text in lower case. */
function readCalls() {
  callTexts.reading ??= (async () => {
    for (const row of new Map(all.rows.map((one) => [one.task, one])).values()) {
      const task = await taskOf(row);
      callTexts.tasks.set(row.task, {
        asked: (task.asked ?? []).map(({ tool, label, arguments: [, text] }) => `${tool}\n${label}\n${text}`.toLowerCase()),
        labels: (task.asked ?? []).map(({ label }) => label),
        episodes: (task.episodes ?? []).map((episode) => episode?.calls?.map((number) => task.calls[number].asked)),
      });
    }
    callTexts.ready = true;
  })();
  return callTexts.reading;
}

/** The requests of each task that contain a word, as a map from the task to a set of their numbers. */
function requestsWith(word) {
  if (callTexts.found.size > 50) callTexts.found.clear();
  if (!callTexts.found.has(word)) {
    const hits = new Map();
    for (const [name, { asked }] of callTexts.tasks) {
      const own = new Set(asked.flatMap((text, number) => (text.includes(word) ? [number] : [])));
      if (own.size) hits.set(name, own);
    }
    callTexts.found.set(word, hits);
  }
  return callTexts.found.get(word);
}

/** The place of the first call of an episode that contains a word, or -1. */
function callWith(row, word) {
  const hits = callTexts.ready ? requestsWith(word).get(row.task) : null;
  const asked = hits ? callTexts.tasks.get(row.task).episodes[row.within] : null;
  return asked ? asked.findIndex((number) => hits.has(number)) : -1;
}

const searchWords = (text) => text.toLowerCase().split(/\s+/).filter(Boolean);

/** What a search reads of an episode without its calls. */
function rowText(row) {
  row.text ??= `${row.agent} ${row.task} ${row.headline} ${row.harms} ${spell(row.harms)} ${outcome(row)[1]}`.toLowerCase();
  return row.text;
}

/** Whether every word is in the names and reasons of an episode, or in one of its calls. */
const matchesWords = (row, words) => words.every((word) => rowText(row).includes(word) || callWith(row, word) >= 0);

/** The call that a search found in an episode, as a link, or null if it was found by other text. */
function foundCall(row, words) {
  const word = words.find((one) => !rowText(row).includes(one));
  const place = word === undefined ? -1 : callWith(row, word);
  if (place < 0) return null;
  const { labels, episodes } = callTexts.tasks.get(row.task);
  return h("div", { class: "found" }, link(`${episodeLink(row)}?call=${place + 1}`, `call ${place + 1}`), " ", code(cut(labels[episodes[row.within][place]], 120)));
}
