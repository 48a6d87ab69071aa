// The relations at the left: inputs, then derived ones, with how many facts each has.

import { byId, count, fill, h, icon } from "./dom.js";
import { address, currentRoute, go } from "./router.js";
import { session } from "./session.js";

/** @typedef {import("../replies.js").RelationReply} Relation */

/** Whether the facts that come next take the focus: somebody came to them by the keyboard. */
let takesFocus = false;

export function wantsFocus() {
  const wanted = takesFocus;
  takesFocus = false;
  return wanted;
}

/** @param {HTMLElement} side */
export function startSidebar(side) {
  const find = h("input", {
    type: "search",
    id: "find-relation",
    placeholder: "Find a relation",
    "aria-label": "Find a relation",
    autocomplete: "off",
  });
  const list = h("nav", { class: "list", "aria-label": "Relations" });
  fill(side, h("div", { class: "find" }, find), list);
  const draw = () => drawList(list, find.value);
  find.addEventListener("input", draw);
  find.addEventListener("keydown", (event) => {
    const links = [...list.querySelectorAll("a")];
    if (event.key === "Enter" && links.length) {
      takesFocus = true;
      const target = links[0].dataset.name ?? "";
      if (location.hash === address("facts", target)) window.dispatchEvent(new HashChangeEvent("hashchange"));
      else go("facts", target);
    }
    if (event.key === "ArrowDown" && links.length) {
      event.preventDefault();
      links[0].focus();
    }
  });
  list.addEventListener("keydown", (event) => move(event, list, find));
  list.addEventListener("click", (event) => {
    // A click made by Enter has no place.
    takesFocus = event.detail === 0;
  });
  session.addEventListener("changed", draw);
  window.addEventListener("hashchange", () => {
    mark(list);
    fold(false);
  });
  draw();
}

/** On a small screen the list is folded away: return the button that opens it. */
export function foldButton() {
  const words = "Relations";
  const click = () => fold(byId("fold").getAttribute("aria-expanded") !== "true");
  return h(
    "button",
    {
      class: "bare side-button",
      type: "button",
      id: "fold",
      "aria-label": words,
      title: words,
      "aria-expanded": "false",
      on: { click },
    },
    icon("menu"),
  );
}

/** @param {boolean} isOpen */
function fold(isOpen) {
  byId("fold").setAttribute("aria-expanded", String(isOpen));
  byId("side").classList.toggle("open", isOpen);
}

/**
 * Only the marks change: whoever stands on a link stays there. One link is reached by Tab, the others by arrows.
 * @param {HTMLElement} list
 */
function mark(list) {
  const { view, parts } = currentRoute();
  const links = [...list.querySelectorAll("a")];
  const current = links.find((link) => view === "facts" && parts[0] === link.dataset.name);
  for (const link of links) {
    if (link === current) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
    link.tabIndex = link === (current ?? links[0]) ? 0 : -1;
  }
}

/**
 * @param {HTMLElement} list
 * @param {string} typed
 */
function drawList(list, typed) {
  const low = typed.toLowerCase();
  const shown = session.about.relations.filter((each) => each.name.toLowerCase().includes(low));
  /** @type {[string, Relation[]][]} */
  const groups = [
    ["Input", shown.filter((each) => !each.is_derived)],
    ["Derived", shown.filter((each) => each.is_derived)],
  ];
  fill(
    list,
    groups
      .filter(([, members]) => members.length)
      .map(([title, members]) => [h("h2", {}, title), members.map(relationLink)]),
    shown.length ? null : h("p", { class: "quiet none" }, "No relation has this in its name."),
  );
  mark(list);
}

/** @param {Relation} each */
function relationLink(each) {
  const columns = each.columns.map((column) => `${column.name}: ${column.type}`).join(", ");
  return h(
    "a",
    {
      class: "relation",
      href: address("facts", each.name),
      title: `${each.name}(${columns})`,
      data: { name: each.name },
    },
    h("span", { class: "name" }, each.name),
    h(
      "span",
      { class: "count" },
      count(each.size),
      h("span", { class: "unseen" }, each.size === 1 ? " fact" : " facts"),
    ),
  );
}

/**
 * @param {KeyboardEvent} event
 * @param {HTMLElement} list
 * @param {HTMLElement} find
 */
function move(event, list, find) {
  if (event.key !== "ArrowDown" && event.key !== "ArrowUp") return;
  event.preventDefault();
  const links = [...list.querySelectorAll("a")];
  const next =
    links.indexOf(/** @type {HTMLAnchorElement} */ (document.activeElement)) + (event.key === "ArrowDown" ? 1 : -1);
  (next < 0 ? find : links[Math.min(next, links.length - 1)]).focus();
}
