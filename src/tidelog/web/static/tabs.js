// Several views of one thing, one of them shown: the pattern of ARIA tabs.

import { fill, h } from "./dom.js";
import { showError } from "./notices.js";

let made = 0;

/**
 * Return the tabs and the panel below. What a tab shows is made when it is first chosen.
 * @param {string} label
 * @param {[words: string, make: () => HTMLElement | Promise<HTMLElement>][]} tabs
 */
export function tabbed(label, tabs) {
  made += 1;
  const id = `tabs-${made}`;
  const panel = h("div", { class: "tab-panel", role: "tabpanel", id: `${id}-panel` });
  /** @type {Map<number, HTMLElement>} */
  const known = new Map();
  let chosen = 0;
  const show = async (/** @type {number} */ number) => {
    chosen = number;
    buttons.forEach((button, place) => {
      button.setAttribute("aria-selected", String(place === number));
      button.setAttribute("tabindex", place === number ? "0" : "-1");
    });
    panel.setAttribute("aria-labelledby", `${id}-${number}`);
    try {
      if (!known.has(number)) {
        fill(panel, h("p", { class: "quiet pad" }, "Looking …"));
        known.set(number, await tabs[number][1]());
      }
      const found = known.get(number);
      if (chosen === number && found) fill(panel, found);
    } catch (error) {
      if (chosen === number) fill(panel);
      showError(error);
    }
  };
  const buttons = tabs.map(([words], place) =>
    h(
      "button",
      {
        type: "button",
        role: "tab",
        id: `${id}-${place}`,
        "aria-controls": panel.id,
        on: { click: () => show(place) },
      },
      words,
    ),
  );
  const list = h("div", { class: "tabs", role: "tablist", "aria-label": label }, buttons);
  list.addEventListener("keydown", (event) => {
    const to = { ArrowRight: chosen + 1, ArrowLeft: chosen - 1, Home: 0, End: tabs.length - 1 }[event.key];
    if (to === undefined || !buttons[to]) return;
    event.preventDefault();
    show(to);
    buttons[to].focus();
  });
  show(0);
  return { list, panel };
}
