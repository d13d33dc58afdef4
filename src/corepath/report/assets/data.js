// The data of the page: blocks of deflated JSON, which `page_data.py` writes.

const blocks = new Map();

/** The data of a block; decoded once, when it is first needed. */
function blockData(id) {
  if (!blocks.has(id)) blocks.set(id, decode(document.getElementById(id).textContent));
  return blocks.get(id);
}

/** Base64 of deflated JSON as a value. */
async function decode(text) {
  const bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return JSON.parse(await new Response(stream).text());
}

/** One row of columns as an object. */
const rowAt = (columns, place) => Object.fromEntries(Object.entries(columns).map(([key, column]) => [key, column[place]]));

/** The record of a row's task. */
const taskOf = async (row) => rowAt(await blockData(`tasks-${row.block}`), row.among);
