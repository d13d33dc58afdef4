// The keyboard: the keys of the current view, the keys of the whole page, and a dialog that lists them.

const HELP = [
  [["←", "→"], "previous and next call"], [["Home", "End"], "start and last call"], [["n", "p"], "next and previous harmful call"],
  [["j", "k"], "next and previous episode of the last list"], [["+", "-", "0"], "zoom in, zoom out, and fit, in a drawing that has the focus"], [["/"], "search the episodes"], [["?"], "show these keys"], [["Esc"], "close them"],
];

const helpDialog = makeHelp();

/** The dialog that lists the keys. While it is open, the rest of the page cannot be reached. */
function makeHelp() {
  const rows = HELP.map(([signs, words]) => h("div", {}, h("dt", {}, signs.map((sign, place) => [place ? " " : null, h("kbd", {}, sign)])), h("dd", {}, words)));
  const close = h("button", { type: "button", click: () => helpDialog.close() }, "Close");
  const made = h("dialog", { class: "help", "aria-labelledby": "help-title" }, h("h2", { id: "help-title" }, "Keys"), h("dl", {}, rows), close);
  document.body.append(made);
  document.querySelector(".bar").append(h("button", { type: "button", class: "keys", "aria-keyshortcuts": "?", "aria-haspopup": "dialog", click: () => made.showModal() },
    "Keys ", h("kbd", { "aria-hidden": "true" }, "?")));
  return made;
}

/** Go to the search field of the overview. */
async function search() {
  if (overview.hidden) {
    history.pushState(null, "", left.hash || "#/");
    await route();
  }
  const field = document.querySelector("#filters input[type=search]");
  field?.focus();
  field?.select();
}

const PAGE_KEYS = { "/": search, "?": () => helpDialog.showModal() };

/** Whether the focused element needs a key itself. Fields need every key; texts and tables that scroll need the arrows. */
function needsKey(element, key) {
  if (element.closest?.("input, select, textarea, [contenteditable]")) return true;
  return key.length > 1 && Boolean(element.closest?.("pre, .scroll:not(.pane):not(.drawing .scroll)"));
}

/** Handle a key of the current view or of the page, unless the focused element needs it. */
function pressKey(event) {
  const act = keys[event.key] ?? PAGE_KEYS[event.key];
  const other = event.altKey || event.ctrlKey || event.metaKey || (event.shiftKey && event.key.length > 1);
  if (!act || other || helpDialog.open || needsKey(event.target, event.key)) return;
  event.preventDefault();
  act();
}
