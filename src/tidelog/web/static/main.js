// The start of the page: load what is known, then show what the address asks for.

import { AskError, diagnosticsOf, isAbort } from "./api.js";
import { showBlame } from "./blame.js";
import { committing, ownEpochs, startChanges } from "./changes.js";
import { byId, counted, fill, h } from "./dom.js";
import { showEpochs } from "./epochs.js";
import { showFacts } from "./facts.js";
import { closeInspector } from "./inspector.js";
import { focusContent, shortcutsButton, startKeys } from "./keys.js";
import { onEpoch, startLive } from "./live.js";
import { diagnosticList, showError, toast } from "./notices.js";
import { showOverview } from "./overview.js";
import { showProfile } from "./profile.js";
import { showQuery } from "./query.js";
import { address, currentRoute, go } from "./router.js";
import { showRules } from "./rules.js";
import { session } from "./session.js";
import { foldButton, startSidebar, wantsFocus } from "./sidebar.js";
import { themeButton } from "./theme.js";
import { showWhy } from "./why.js";
import { showWhyNot } from "./why_not.js";

/** @typedef {(ground: HTMLElement, route: import("./router.js").Route, redraw: () => Promise<void>) => unknown} Show */

const main = byId("main");
/** @type {Record<string, Show>} */
const VIEWS = {
  "": showOverview,
  facts: showFacts,
  query: showQuery,
  rules: showRules,
  why: showWhy,
  "why-not": showWhyNot,
  epochs: showEpochs,
  blame: showBlame,
  profile: showProfile,
};
/** @type {[words: string, name: string, members: string[]][]} */
const NAMED = [
  ["Facts", "", ["", "facts", "why"]],
  ["Query", "query", ["query"]],
  ["Rules", "rules", ["rules"]],
  ["Why not", "why-not", ["why-not"]],
  ["Epochs", "epochs", ["epochs", "blame"]],
  ["Profile", "profile", ["profile"]],
];
const FILLING = ["facts", "query", "why", "why-not", "rules"];

let drawn = 0;

async function draw() {
  const route = currentRoute();
  const show = VIEWS[route.view] ?? showOverview;
  drawn += 1;
  const turn = drawn;
  drawViews(route.view);
  // Each view draws on a ground of its own, so that a slow one cannot write over its successor.
  const ground = h("div", { class: "ground" });
  main.classList.toggle("fills", FILLING.includes(route.view));
  fill(main, ground);
  main.scrollTop = 0;
  try {
    await show(ground, route, draw);
    if (turn === drawn && wantsFocus()) focusContent();
  } catch (error) {
    if (isAbort(error) || turn !== drawn) return;
    fill(ground, h("h1", {}, "This cannot be shown"), diagnosticList(diagnosticsOf(error)));
    if (!(error instanceof AskError)) throw error;
  }
}

/** @param {string} view */
function drawViews(view) {
  const link = (/** @type {[string, string, string[]]} */ [words, name, members]) =>
    h("a", { href: name ? address(name) : "#/", "aria-current": members.includes(view) ? "page" : null }, words);
  fill(byId("views"), NAMED.map(link));
}

function drawTitle() {
  const { title, epoch, may_write } = session.about;
  document.title = `${title} · Tidelog explorer`;
  fill(byId("title"), title);
  const words = may_write ? "Facts and rules can be changed" : "Started without --write";
  fill(
    byId("tools"),
    h("a", { class: "badge", href: "#/epochs", id: "epoch-badge", title: "The present epoch" }, `epoch ${epoch}`),
    h(
      "span",
      { class: `badge ${may_write ? "writes" : "reads"}`, title: words },
      may_write ? "can write" : "read-only",
    ),
    theme,
    keys,
  );
}

const theme = themeButton();
const keys = shortcutsButton();

/**
 * An epoch that was made elsewhere: numbers follow by themselves, and a quiet note says what changed.
 * @param {number} number
 * @param {import("../replies.js").LiveReply} news
 */
async function hearOfEpoch(number, news) {
  await committing;
  if (ownEpochs.has(number)) return;
  await session.load();
  const changed = news.relations.slice(0, 4).map((each) => {
    const plus = each.inserted ? h("span", { class: "plus" }, ` +${each.inserted}`) : null;
    const minus = each.deleted ? h("span", { class: "minus" }, ` −${each.deleted}`) : null;
    return h("span", { class: "changed-word" }, h("span", { class: "mono" }, each.name), plus, minus);
  });
  const more = news.relations.length > 4 ? `and ${counted(news.relations.length - 4, "other relation")}` : null;
  const words = [h("strong", {}, `Epoch ${number}`), " was committed elsewhere. ", changed, more];
  toast(words, { kind: "elsewhere", actions: [["See the difference", () => go("epochs", String(number))]] });
  // Tables of facts and proofs follow by themselves; these pages are quickly drawn anew.
  if (["", "epochs", "rules"].includes(currentRoute().view) && !main.querySelector("form")) await draw();
}

async function start() {
  try {
    await session.load();
  } catch (error) {
    fill(main, h("h1", {}, "The explorer cannot be reached"), diagnosticList(diagnosticsOf(error)));
    return;
  }
  session.addEventListener("changed", drawTitle);
  drawTitle();
  byId("views").before(foldButton());
  startSidebar(byId("side"));
  startChanges(byId("tray"), draw);
  startKeys(closeInspector);
  onEpoch((number, news) => {
    hearOfEpoch(number, news).catch(showError);
  });
  startLive(session.about.epoch);
  byId("skip").addEventListener("click", focusContent);
  window.addEventListener("hashchange", () => {
    draw().catch(showError);
  });
  window.addEventListener("unhandledrejection", (event) => showError(event.reason));
  await draw();
}

start().catch(showError);
