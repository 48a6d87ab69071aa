// The address after # says what is shown: #/facts/path?sort=0. Back and forward just work.

export function currentRoute() {
  const [path, query] = location.hash.replace(/^#\/?/, "").split(/\?(.*)/s);
  const parts = path.split("/").filter(Boolean).map(decode);
  return { view: parts[0] ?? "", parts: parts.slice(1), query: new URLSearchParams(query ?? "") };
}

// Return an address: address("facts", "path", { sort: "0" }).
export function address(...parts) {
  const parameters = typeof parts.at(-1) === "object" ? parts.pop() : {};
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) {
    if (value !== undefined && value !== null && value !== "") query.set(name, value);
  }
  const text = query.toString();
  return `#/${parts.map(encodeURIComponent).join("/")}${text ? `?${text}` : ""}`;
}

export function go(...parts) {
  location.hash = address(...parts);
}

// Change the address without a new entry in the browser's history and without drawing again.
export function note(...parts) {
  history.replaceState(null, "", address(...parts));
}

function decode(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
