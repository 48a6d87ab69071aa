// The state of a table in the address: which page, which order, which filters.

/** @typedef {import("./table.js").State} State */

/** @param {State} state */
export function remember({ offset, limit, sort, filters }) {
  /** @type {Record<string, string | number>} */
  const kept = {
    offset: offset || "",
    limit: limit === 100 ? "" : limit,
    sort: sort.map(([place, down]) => (down ? `-${place}` : place)).join(","),
  };
  for (const [place, text] of Object.entries(filters)) kept[`f${place}`] = text;
  return kept;
}

/** @param {URLSearchParams} query @returns {Partial<State>} */
export function recall(query) {
  /** @type {Partial<State>} */
  const state = { filters: {} };
  if (query.get("offset")) state.offset = Number(query.get("offset")) || 0;
  if (query.get("limit")) state.limit = Number(query.get("limit")) || 100;
  const sort = query.get("sort");
  if (sort) state.sort = sort.split(",").map((part) => [Math.abs(Number(part)), part.startsWith("-")]);
  for (const [name, text] of query) {
    if (/^f\d+$/.test(name) && state.filters) state.filters[Number(name.slice(1))] = text;
  }
  return state;
}
