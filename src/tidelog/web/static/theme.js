// Light, dark, or as the system has it; the choice is kept in this browser.

import { fill, h, icon } from "./dom.js";

/** @type {Record<string, string>} */
const NEXT = { auto: "light", light: "dark", dark: "auto" };
/** @type {Record<string, "half" | "sun" | "moon">} */
const PICTURES = { auto: "half", light: "sun", dark: "moon" };
const KEY = "tidelog-theme";

export function themeButton() {
  const button = h("button", { class: "bare", type: "button", id: "theme" });
  button.addEventListener("click", () => {
    set(NEXT[theme()]);
    draw(button);
  });
  set(theme());
  draw(button);
  return button;
}

function theme() {
  try {
    const kept = localStorage.getItem(KEY) ?? "";
    return NEXT[kept] ? kept : "auto";
  } catch {
    return document.documentElement.dataset.theme ?? "auto";
  }
}

/** @param {string} name */
function set(name) {
  try {
    localStorage.setItem(KEY, name);
  } catch {
    // Without storage the choice lasts as long as the page.
  }
  if (name === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = name;
}

/** @param {HTMLElement} button */
function draw(button) {
  const words = `Colours: ${theme()}. Change`;
  button.setAttribute("aria-label", words);
  button.setAttribute("title", words);
  fill(button, icon(PICTURES[theme()]));
}
