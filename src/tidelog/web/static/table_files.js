// Copies of a table: its page to the clipboard, all of it as a file.

import { h, icon } from "./dom.js";
import { showError, toast } from "./notices.js";

const FORMS = [
  ["csv", "CSV", "for spreadsheets"],
  ["json", "JSON", "a list of objects"],
  ["parquet", "Parquet", "for data frames"],
];

/**
 * Return a menu with the files of a table; `address(form)` is where each lies.
 * @param {(form: string) => string} address
 */
export function downloadMenu(address) {
  const menu = h(
    "details",
    { class: "menu" },
    h("summary", { class: "button bare" }, icon("save"), "Download"),
    h(
      "div",
      { class: "menu-items" },
      FORMS.map(([form, words, use]) =>
        h("a", { href: address(form), download: "", data: { form } }, h("span", {}, words), h("small", {}, use)),
      ),
    ),
  );
  closesOutside(menu);
  // The address has the filters and the order of this moment.
  menu.addEventListener("toggle", () => {
    for (const link of menu.querySelectorAll("a")) link.href = address(link.dataset.form ?? "csv");
  });
  return menu;
}

/** Close a menu when something else is used, or with Escape. @param {HTMLDetailsElement} menu */
export function closesOutside(menu) {
  menu.addEventListener("focusout", (event) => {
    if (event.relatedTarget instanceof Node && !menu.contains(event.relatedTarget)) menu.open = false;
  });
  menu.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !menu.open) return;
    event.stopPropagation();
    menu.open = false;
    menu.querySelector("summary")?.focus();
  });
  menu.addEventListener("click", (event) => {
    if (event.target instanceof Element && event.target.closest("a, button")) menu.open = false;
  });
}

/**
 * Return a button that copies rows, as spreadsheets take them.
 * @param {() => string[][]} rows
 */
export function copyButton(rows) {
  const copy = async () => {
    const text = rows()
      .map((cells) => cells.map(quoted).join("\t"))
      .join("\n");
    try {
      await copyText(text);
      toast("Copied the rows of this page.", { seconds: 4 });
    } catch (error) {
      showError(error);
    }
  };
  return h("button", { type: "button", class: "bare", on: { click: copy } }, icon("copy"), "Copy");
}

/** @param {string} text */
function quoted(text) {
  return /[\t\n\r"]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** Copy a text; without a secure connection browsers have only the old way. @param {string} text */
export async function copyText(text) {
  if (navigator.clipboard) {
    await navigator.clipboard.writeText(text);
    return;
  }
  const area = h("textarea", { class: "unseen", value: text });
  document.body.append(area);
  area.select();
  document.execCommand("copy");
  area.remove();
}
