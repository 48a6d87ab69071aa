// Epochs as they are committed, here or elsewhere: every open page hears of them.

/** @typedef {import("../replies.js").LiveReply} News */

/** @type {EventSource | null} */
let source = null;
let known = -1;
/** @type {Set<(epoch: number, news: News) => void>} */
const listeners = new Set();

/** Call a function for every epoch from now on. @param {(epoch: number, news: News) => void} listener */
export function onEpoch(listener) {
  listeners.add(listener);
}

/**
 * Call a function for every epoch while an element is part of the page; nothing is kept of it afterwards.
 * @param {HTMLElement} element
 * @param {(epoch: number) => void} listener
 */
export function whenLive(element, listener) {
  element.dataset.live = "";
  element.addEventListener("epoch", (event) => {
    if (event instanceof CustomEvent) listener(event.detail);
  });
}

/** Tell the elements that follow epochs. @param {number} epoch */
function tellElements(epoch) {
  for (const element of document.querySelectorAll("[data-live]")) {
    element.dispatchEvent(new CustomEvent("epoch", { detail: epoch }));
  }
}

/** Listen while the page is seen: browsers open few connections to one host. @param {number} epoch */
export function startLive(epoch) {
  known = epoch;
  const follow = () => {
    if (document.hidden) {
      source?.close();
      source = null;
    } else if (!source) {
      source = new EventSource("/api/live");
      source.addEventListener("present", hear);
      source.addEventListener("epoch", hear);
    }
  };
  document.addEventListener("visibilitychange", follow);
  window.addEventListener("pagehide", () => source?.close());
  follow();
}

/** @param {MessageEvent} event */
function hear(event) {
  /** @type {News} */
  const news = JSON.parse(event.data);
  if (news.epoch <= known) return;
  known = news.epoch;
  for (const listener of listeners) listener(news.epoch, news);
  tellElements(news.epoch);
}
