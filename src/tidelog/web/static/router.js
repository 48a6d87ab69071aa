// The address after # says what is shown: #/facts/path?sort=0. Back and forward just work.

/** @typedef {{ view: string, parts: string[], query: URLSearchParams }} Route */
/** @typedef {Record<string, string | number | null | undefined>} Parameters */

/** @returns {Route} */
export function currentRoute() {
  const [path, query] = location.hash.replace(/^#\/?/, "").split(/\?(.*)/s);
  const parts = path.split("/").filter(Boolean).map(decode);
  return { view: parts[0] ?? "", parts: parts.slice(1), query: new URLSearchParams(query ?? "") };
}

/** Return an address: address("facts", "path", { sort: "0" }). @param {(string | Parameters)[]} parts */
export function address(...parts) {
  const query = new URLSearchParams();
  const path = [];
  for (const part of parts) {
    if (typeof part === "string") {
      path.push(encodeURIComponent(part));
      continue;
    }
    for (const [name, value] of Object.entries(part)) {
      if (value !== undefined && value !== null && value !== "") query.set(name, String(value));
    }
  }
  const text = query.toString();
  return `#/${path.join("/")}${text ? `?${text}` : ""}`;
}

/** @param {(string | Parameters)[]} parts */
export function go(...parts) {
  location.hash = address(...parts);
}

/**
 * Change the address without a new entry in the browser's history and without drawing again.
 * @param {(string | Parameters)[]} parts
 */
export function note(...parts) {
  history.replaceState(null, "", address(...parts));
}

/** @param {string} text */
function decode(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
