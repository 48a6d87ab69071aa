// The relations at the left: inputs, then derived ones, with how many facts each has.

import { count, fill, h } from "./dom.js";
import { address, currentRoute, go } from "./router.js";
import { session } from "./session.js";

export function startSidebar(side) {
  const find = h("input", {
    type: "search",
    id: "find-relation",
    placeholder: "Find a relation  /",
    "aria-label": "Find a relation",
    autocomplete: "off",
  });
  const list = h("nav", { class: "list", "aria-label": "Relations" });
  fill(side, h("div", { class: "find" }, find), list);
  const draw = () => drawList(list, find.value);
  find.addEventListener("input", draw);
  find.addEventListener("keydown", (event) => {
    const links = [...list.querySelectorAll("a")];
    if (event.key === "Enter" && links.length) go("facts", links[0].dataset.name);
    if (event.key === "ArrowDown" && links.length) {
      event.preventDefault();
      links[0].focus();
    }
  });
  list.addEventListener("keydown", (event) => move(event, list, find));
  session.addEventListener("changed", draw);
  window.addEventListener("hashchange", () => mark(list));
  draw();
}

// Only the marks change: whoever stands on a link stays there.
function mark(list) {
  const { view, parts } = currentRoute();
  for (const link of list.querySelectorAll("a")) {
    if (view === "facts" && parts[0] === link.dataset.name) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
}

function drawList(list, typed) {
  const shown = session.about.relations.filter((each) => each.name.toLowerCase().includes(typed.toLowerCase()));
  const groups = [
    ["Input", shown.filter((each) => !each.is_derived)],
    ["Derived", shown.filter((each) => each.is_derived)],
  ];
  fill(
    list,
    groups
      .filter(([, members]) => members.length)
      .map(([title, members]) => [
        h("h2", {}, title),
        members.map((each) => {
          const link = h(
            "a",
            { class: "relation", href: address("facts", each.name), title: signature(each) },
            h("span", { class: "name" }, each.name),
            h("span", { class: "count" }, count(each.size), h("span", { class: "unseen" }, " facts")),
          );
          link.dataset.name = each.name;
          return link;
        }),
      ]),
    shown.length ? null : h("p", { class: "quiet none" }, "No relation has this in its name."),
  );
  mark(list);
}

export function signature(relation) {
  return `${relation.name}(${relation.columns.map((each) => `${each.name}: ${each.type}`).join(", ")})`;
}

function move(event, list, find) {
  if (event.key !== "ArrowDown" && event.key !== "ArrowUp") return;
  event.preventDefault();
  const links = [...list.querySelectorAll("a")];
  const next = links.indexOf(document.activeElement) + (event.key === "ArrowDown" ? 1 : -1);
  (next < 0 ? find : links[Math.min(next, links.length - 1)]).focus();
}
