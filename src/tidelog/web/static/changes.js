// The tray: changes are checked as they come, tried out, and committed together as one epoch.

import { AskError, diagnosticsOf, isAbort } from "./api.js";
import { checkChanges, commitChanges, previewChanges, takeBackEpoch } from "./calls.js";
import { deltaView } from "./delta_view.js";
import { counted, cut, duration, fill, h, icon, later, signed } from "./dom.js";
import { diagnosticList, showError, toast } from "./notices.js";
import { go } from "./router.js";
import { session } from "./session.js";
import { coloured } from "./source.js";
import { changeBody, keepStaged, onStaged, restoreStaged, stagedChanges, unstage, unstageAll } from "./staged.js";

// A paste may stage thousands: so many are listed.
const LISTED = 100;

/** @typedef {import("../replies.js").EpochReply} Epoch */

/** The epochs that this page made. @type {Set<number>} */
export const ownEpochs = new Set();
/** Ends when no commit is under way. @type {Promise<unknown>} */
export let committing = Promise.resolve();

let isBusy = false;
/** @type {import("./api.js").Diagnostic[]} */
let mistakes = [];
/** @type {Epoch | null} */
let trial = null;
/** @type {AbortController | null} */
let checking = null;

/**
 * @param {HTMLElement} tray
 * @param {() => Promise<void>} redraw
 */
export function startChanges(tray, redraw) {
  const draw = () => drawTray(tray, redraw);
  onStaged(() => {
    keepStaged(session.about.title);
    trial = null;
    mistakes = [];
    draw();
    check(draw);
  });
  if (session.about.may_write) restoreStaged(session.about.title);
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey) || !stagedChanges().length) return;
    event.preventDefault();
    commit(draw, redraw);
  });
  window.addEventListener("beforeunload", (event) => {
    if (stagedChanges().length) event.preventDefault();
  });
}

const check = later(250, async (/** @type {() => void} */ draw) => {
  checking?.abort();
  if (!stagedChanges().length) return;
  checking = new AbortController();
  try {
    mistakes = (await checkChanges(changeBody(), checking.signal)).diagnostics;
    draw();
  } catch (error) {
    if (!isAbort(error)) showError(error);
  }
});

/**
 * @param {HTMLElement} tray
 * @param {() => Promise<void>} redraw
 */
function drawTray(tray, redraw) {
  const all = stagedChanges();
  const draw = () => drawTray(tray, redraw);
  tray.hidden = all.length === 0;
  const button = (/** @type {string} */ words, /** @type {() => void} */ act, /** @type {object} */ more = {}) =>
    h("button", { type: "button", disabled: isBusy, on: { click: act }, ...more }, words);
  const commitButton = button("Commit", () => commit(draw, redraw), { class: "main-button", id: "commit" });
  commitButton.append(h("kbd", {}, "Ctrl ⏎"));
  fill(
    tray,
    h(
      "div",
      { class: "heading" },
      h("h2", {}, `${counted(all.length, "change")} staged`),
      h(
        "span",
        { class: "quiet", role: "status" },
        trial ? "tried out; nothing has changed yet" : "nothing has changed yet",
      ),
      h("div", { class: "spring" }),
      button("Discard", unstageAll),
      button("Try out", () => tryOut(draw), { id: "try-out" }),
      commitButton,
    ),
    mistakes.length ? diagnosticList(mistakes) : null,
    h("ul", { class: "script" }, all.slice(0, LISTED).map(changeLine)),
    all.length > LISTED ? h("p", { class: "quiet" }, `and ${counted(all.length - LISTED, "more", "more")}`) : null,
    trial ? trialView(trial) : null,
  );
}

/** @param {import("./staged.js").StagedChange} change */
function changeLine(change) {
  const drop = () => unstage(change);
  const label = `Do not change ${cut(change.text, 100)}`;
  return h(
    "li",
    { class: change.sign === "+" ? "plus" : "minus" },
    h("span", { class: "sign" }, change.sign === "+" ? "+" : "−"),
    h("code", {}, coloured(change.text)),
    h("button", { type: "button", class: "bare", "aria-label": label, on: { click: drop } }, icon("close")),
  );
}

/** @param {Epoch} epoch */
function trialView(epoch) {
  const view = deltaView(epoch, null, () => {});
  view.ready.catch(showError);
  const words = h("h3", {}, "What they would do: ", ...numbers(epoch));
  return h("section", { class: "trial", "aria-label": "Trial" }, words, view.element);
}

/** @param {Epoch} epoch */
function numbers(epoch) {
  return [
    h("span", { class: epoch.inserted ? "plus" : "quiet" }, `${signed(epoch.inserted, "+")} inserted`),
    ", ",
    h("span", { class: epoch.deleted ? "minus" : "quiet" }, `${signed(epoch.deleted, "−")} deleted`),
    h("span", { class: "quiet" }, ` in ${duration(epoch.seconds)}`),
  ];
}

/** @param {() => void} draw */
async function tryOut(draw) {
  await whileBusy(draw, async () => {
    trial = await previewChanges(changeBody());
  });
}

/**
 * @param {() => void} draw
 * @param {() => Promise<void>} redraw
 */
function commit(draw, redraw) {
  committing = whileBusy(draw, async () => {
    const epoch = await commitChanges(changeBody());
    ownEpochs.add(epoch.epoch);
    unstageAll();
    await afterEpoch(epoch, redraw);
  });
}

/**
 * @param {() => void} draw
 * @param {() => Promise<void>} work
 */
async function whileBusy(draw, work) {
  if (isBusy) return;
  isBusy = true;
  checking?.abort();
  draw();
  try {
    await work();
  } catch (error) {
    mistakes = diagnosticsOf(error);
    if (!(error instanceof AskError)) showError(error);
  } finally {
    isBusy = false;
    draw();
  }
}

/**
 * Take an epoch back by applying the opposite changes; that is an epoch too.
 * @param {number} number
 * @param {() => Promise<void>} redraw
 */
export async function takeBack(number, redraw) {
  committing = (async () => {
    try {
      const epoch = await takeBackEpoch(number);
      ownEpochs.add(epoch.epoch);
      await afterEpoch(epoch, redraw);
    } catch (error) {
      showError(error);
    }
  })();
  await committing;
}

/**
 * Show what an epoch did and draw everything anew.
 * @param {Epoch} epoch
 * @param {() => Promise<void>} redraw
 */
async function afterEpoch(epoch, redraw) {
  await session.load();
  const broken = epoch.violations.length;
  const words = [
    h("strong", {}, `Epoch ${epoch.epoch}`),
    ": ",
    ...numbers(epoch),
    broken ? h("div", { class: "minus" }, `${counted(broken, "guard")} broken.`) : null,
    epoch.without_effect.length
      ? h("div", { class: "quiet" }, "Some changes had no effect: their facts were there, or were not, already.")
      : null,
  ];
  toast(words, {
    actions: [
      ["See the difference", () => go("epochs", String(epoch.epoch))],
      ["Take back", () => takeBack(epoch.epoch, redraw)],
    ],
  });
  await redraw();
}
