// Questions to the server. A mistake comes back as an AskError that carries the diagnostics.

export class AskError extends Error {
  constructor(diagnostics, status) {
    super(diagnostics.map((each) => each.message).join("; "));
    this.diagnostics = diagnostics;
    this.status = status;
  }
}

export function get(path, parameters = {}, signal = undefined) {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) {
    if (value !== undefined && value !== null && value !== "") query.set(name, value);
  }
  const text = query.toString();
  return ask(text ? `${path}?${text}` : path, { signal });
}

export function post(path, body, signal = undefined) {
  return ask(path, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
    signal,
  });
}

let waiting = 0;

async function ask(path, options) {
  waiting += 1;
  // Quick answers show no sign of waiting: it would only flicker.
  setTimeout(showProgress, 250);
  try {
    let reply;
    try {
      reply = await fetch(path, { credentials: "same-origin", ...options });
    } catch (error) {
      if (error.name === "AbortError") throw error;
      throw new AskError(
        [plain("no-connection", "the explorer does not answer", "is `tidelog serve` still running?")],
        0,
      );
    }
    const answer = await reply.json().catch(() => ({}));
    if (reply.status === 401) location.assign("/login");
    if (!reply.ok) {
      throw new AskError(
        answer.diagnostics ?? [plain("no-answer", `the explorer answered ${reply.status}`)],
        reply.status,
      );
    }
    return answer;
  } finally {
    waiting -= 1;
    showProgress();
  }
}

function plain(code, message, hint = null) {
  return { code, message, hint, severity: "error", place: null };
}

function showProgress() {
  document.getElementById("progress").hidden = waiting === 0;
}

export function isAbort(error) {
  return error?.name === "AbortError";
}
