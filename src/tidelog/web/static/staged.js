// Changes that wait for a commit: facts and rules. They survive a reload of this tab.

/** @typedef {import("./calls.js").GivenFact} GivenFact */
/**
 * What is shown, and what the server gets for it: a fact, the text of a rule, or the id of a rule to remove.
 * @typedef {{ sign: "+" | "-", text: string, fact?: GivenFact, rule?: string | number }} StagedChange
 */

const KEY = "tidelog-staged";

/** @type {Map<string, StagedChange>} */
const changes = new Map();
/** @type {Set<() => void>} */
const listeners = new Set();

/** @param {() => void} listener */
export function onStaged(listener) {
  listeners.add(listener);
}

export function stagedChanges() {
  return [...changes.values()];
}

/**
 * Read what this tab staged before it was loaded anew; changes of another program are forgotten.
 * @param {string} title
 */
export function restoreStaged(title) {
  try {
    const kept = JSON.parse(sessionStorage.getItem(KEY) ?? "null");
    if (kept?.title !== title) return;
    for (const change of kept.changes) changes.set(nameOf(change), change);
  } catch {
    // Without storage there is nothing to restore.
  }
  tell();
}

/** @param {StagedChange[]} added */
export function stageAll(added) {
  for (const change of added) {
    changes.delete(nameOf(change));
    changes.set(nameOf(change), change);
  }
  tell();
}

/**
 * Stage a change of a fact: the last word about a fact counts.
 * @param {"+" | "-"} sign
 * @param {string} text
 * @param {GivenFact} fact
 */
export function stage(sign, text, fact = text) {
  stageAll([{ sign, text, fact }]);
}

/** @param {StagedChange} change */
export function unstage(change) {
  changes.delete(nameOf(change));
  tell();
}

export function unstageAll() {
  changes.clear();
  tell();
}

/** @param {string} title */
export function keepStaged(title) {
  try {
    if (changes.size) sessionStorage.setItem(KEY, JSON.stringify({ title, changes: stagedChanges() }));
    else sessionStorage.removeItem(KEY);
  } catch {
    // A private window may refuse; then a reload asks before it forgets.
  }
}

/** Return what the server gets. @returns {import("./calls.js").ChangeBody} */
export function changeBody() {
  const all = stagedChanges();
  const facts = (/** @type {string} */ sign) =>
    all.flatMap((each) => (each.sign === sign && each.fact !== undefined ? [each.fact] : []));
  return {
    insert: facts("+"),
    delete: facts("-"),
    add_rules: all.flatMap((each) => (typeof each.rule === "string" ? [each.rule] : [])).join("\n"),
    remove_rules: all.flatMap((each) => (typeof each.rule === "number" ? [each.rule] : [])),
  };
}

/** @param {StagedChange} change */
function nameOf(change) {
  return change.rule === undefined ? change.text : `rule ${change.sign} ${change.rule}`;
}

function tell() {
  for (const listener of listeners) listener();
}
