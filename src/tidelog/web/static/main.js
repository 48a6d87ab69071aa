// The start of the page: load what is known, then show what the address asks for.

import { showBlame } from "./blame.js";
import { startChanges } from "./changes.js";
import { fill, h } from "./dom.js";
import { showEpochs } from "./epochs.js";
import { showFacts } from "./facts.js";
import { closeInspector } from "./inspector.js";
import { shortcutsButton, startKeys } from "./keys.js";
import { diagnosticList } from "./notices.js";
import { showOverview } from "./overview.js";
import { showProfile } from "./profile.js";
import { address, currentRoute } from "./router.js";
import { showRules } from "./rules.js";
import { session } from "./session.js";
import { startSidebar } from "./sidebar.js";
import { themeButton } from "./theme.js";
import { showWhy } from "./why.js";
import { showWhyNot } from "./why_not.js";

const main = document.getElementById("main");
const VIEWS = {
  "": showOverview,
  facts: showFacts,
  rules: showRules,
  why: showWhy,
  "why-not": showWhyNot,
  epochs: showEpochs,
  blame: showBlame,
  profile: showProfile,
};
const NAMED = [
  ["Facts", "", ["", "facts", "why"]],
  ["Rules", "rules", ["rules"]],
  ["Why not", "why-not", ["why-not"]],
  ["Epochs", "epochs", ["epochs", "blame"]],
  ["Profile", "profile", ["profile"]],
];

let drawn = 0;

async function draw() {
  const route = currentRoute();
  const show = VIEWS[route.view] ?? showOverview;
  const turn = (drawn += 1);
  drawViews(route.view);
  // Each view draws on a ground of its own, so that a slow one cannot write over its successor.
  const ground = h("div", { class: "ground" });
  main.classList.toggle("fills", ["facts", "why", "why-not", "rules"].includes(route.view));
  fill(main, ground);
  main.scrollTop = 0;
  try {
    await show(ground, route);
  } catch (error) {
    if (error.name === "AbortError" || turn !== drawn) return;
    fill(
      ground,
      h("h1", {}, "This cannot be shown"),
      diagnosticList(error.diagnostics ?? [{ code: "page", message: String(error) }]),
    );
    if (!error.diagnostics) throw error;
  }
}

function drawViews(view) {
  fill(
    document.getElementById("views"),
    NAMED.map(([words, name, members]) =>
      h("a", { href: name ? address(name) : "#/", "aria-current": members.includes(view) ? "page" : null }, words),
    ),
  );
}

function drawTitle() {
  const { title, epoch, may_write } = session.about;
  document.title = `${title} · Tidelog explorer`;
  fill(document.getElementById("title"), title);
  const tools = document.getElementById("tools");
  fill(
    tools,
    h("a", { class: "badge", href: "#/epochs", id: "epoch-badge", title: "The present epoch" }, `epoch ${epoch}`),
    h(
      "span",
      {
        class: `badge ${may_write ? "writes" : "reads"}`,
        title: may_write ? "Facts can be changed" : "Started without --write",
      },
      may_write ? "can write" : "read-only",
    ),
    theme,
    keys,
  );
}

const theme = themeButton();
const keys = shortcutsButton();

async function start() {
  try {
    await session.load();
  } catch (error) {
    fill(main, h("h1", {}, "The explorer cannot be reached"), diagnosticList(error.diagnostics ?? []));
    return;
  }
  session.addEventListener("changed", drawTitle);
  drawTitle();
  startSidebar(document.getElementById("side"));
  startChanges(document.getElementById("tray"), draw);
  startKeys(closeInspector);
  document.getElementById("skip").addEventListener("click", () => main.focus());
  window.addEventListener("hashchange", draw);
  await draw();
}

start();
