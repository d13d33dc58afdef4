// Records: unpacked when they are looked at, and put together from what `packing.py` took apart.

const unpacked = new Map();

/** A packed record of the page; unpacked once. */
function record(id) {
  if (!unpacked.has(id)) unpacked.set(id, unpack(document.getElementById(id).textContent));
  return unpacked.get(id);
}

/** The record of a row's task. */
const taskOf = async (row) => (await record(`tasks-${row.block}`))[row.among];

async function unpack(text) {
  const bytes = Uint8Array.from(atob(text), (sign) => sign.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return together(JSON.parse(await new Response(stream).text()));
}

/** From numbers to places: 0 is the next one that was not met before, and one that was met has its number from 1. */
function counter() {
  let met = 0;
  return (number) => (number ? number - 1 : met++);
}

/** The value that was taken apart: from columns, one for each place of it, and from texts in pieces. */
function together({ kind, shapes, columns, texts, pieces, numbers }) {
  const parts = pieces.map((piece) => piece.split("\0"));
  const taken = numbers.map((holes) => holes.map((column) => column.split(" ").values()));
  const filled = (piece) => parts[piece].reduce((text, part, hole) => text + taken[piece][hole - 1].next().value + part);
  const [piece, text] = [counter(), counter()];
  const written = texts.map((found) => found.map((number) => filled(piece(number))).join(""));
  const next = new Map(Object.entries(columns).map(([place, column]) => [place, column.values()]));
  const value = (what, place) => {
    const one = next.get(place).next().value;
    if (what === "text") return written[text(one)];
    if (what === "object") return Object.fromEntries(shapes[one].map(([key, inner]) => [key, value(inner, `${place}.${key}`)]));
    if (what === "list") return shapes[one].flatMap(([count, inner]) => Array.from({ length: count }, () => value(inner, `${place}[]`)));
    return one;
  };
  return value(kind, "");
}
