// Requests to the server. A mistake comes back as an AskError that carries the diagnostics.

import { byId } from "./dom.js";

/** @typedef {import("../replies.js").DiagnosticReply} Diagnostic */
/** @typedef {Record<string, string | number | null | undefined>} Parameters */

export class AskError extends Error {
  /**
   * @param {Diagnostic[]} diagnostics
   * @param {number} status
   */
  constructor(diagnostics, status) {
    super(diagnostics.map((each) => each.message).join("; "));
    this.diagnostics = diagnostics;
    this.status = status;
  }
}

/**
 * @param {string} path
 * @param {Parameters} parameters
 */
export function withParameters(path, parameters) {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) {
    if (value !== undefined && value !== null && value !== "") query.set(name, String(value));
  }
  const text = query.toString();
  return text ? `${path}?${text}` : path;
}

/**
 * @param {string} path
 * @param {Parameters} parameters
 * @param {AbortSignal} [signal]
 * @returns {Promise<any>}
 */
export function get(path, parameters = {}, signal = undefined) {
  return ask(withParameters(path, parameters), { signal });
}

/**
 * @param {string} path
 * @param {object} body
 * @param {AbortSignal} [signal]
 * @returns {Promise<any>}
 */
export function post(path, body, signal = undefined) {
  const headers = { "content-type": "application/json" };
  return ask(path, { method: "POST", headers, body: JSON.stringify(body), signal });
}

let waiting = 0;

/**
 * @param {string} path
 * @param {RequestInit} options
 */
async function ask(path, options) {
  waiting += 1;
  // Quick answers show no sign of waiting: it would only flicker.
  setTimeout(showProgress, 250);
  try {
    const reply = await send(path, options);
    const answer = await reply.json().catch(() => ({}));
    if (reply.status === 401) location.assign("/login");
    if (!reply.ok) {
      const unknown = [plain("no-answer", `the explorer answered ${reply.status}`)];
      throw new AskError(answer.diagnostics ?? unknown, reply.status);
    }
    return answer;
  } finally {
    waiting -= 1;
    showProgress();
  }
}

/**
 * @param {string} path
 * @param {RequestInit} options
 */
async function send(path, options) {
  try {
    return await fetch(path, { credentials: "same-origin", ...options });
  } catch (error) {
    if (isAbort(error)) throw error;
    const words = plain("no-connection", "the explorer does not answer", "is `tidelog serve` still running?");
    throw new AskError([words], 0);
  }
}

/**
 * @param {string} code
 * @param {string} message
 * @param {string | null} hint
 * @returns {Diagnostic}
 */
export function plain(code, message, hint = null) {
  return { code, message, hint, severity: "error", place: null, text: message };
}

function showProgress() {
  byId("progress").hidden = waiting === 0;
}

/** @param {unknown} error */
export function isAbort(error) {
  return error instanceof Error && error.name === "AbortError";
}

/** Return the diagnostics of any error. @param {unknown} error @returns {Diagnostic[]} */
export function diagnosticsOf(error) {
  return error instanceof AskError ? error.diagnostics : [plain("page", String(error))];
}
