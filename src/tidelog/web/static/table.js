// A page of facts as a table: filter, sort, turn pages, move with the keyboard, choose a fact.

import { AskError, isAbort } from "./api.js";
import { count, counted, cut, fill, h, icon, later } from "./dom.js";
import { diagnosticList } from "./notices.js";
import { copyButton, downloadMenu } from "./table_files.js";
import { visible } from "./visible.js";

const SIZES = [50, 100, 250, 1000];
const NUMBERS = ["number", "unsigned", "float"];

/** @typedef {import("../replies.js").PageReply} Page */
/** @typedef {import("../replies.js").RowReply} Row */
/** @typedef {{ offset: number, limit: number, sort: [number, boolean][], filters: Record<number, string> }} State */
/** @typedef {[words: string, title: string, act: (row: Row, element: HTMLElement) => void]} Action */
/**
 * `ask` gives a page; `choose` is called for a row that is clicked or entered, `remove` for the Delete key;
 * `note` hears of every new state; `file` gives the address of the whole table; `sign` marks rows of a delta.
 * @typedef {object} Options
 * @property {string} label
 * @property {(parameters: import("./api.js").Parameters, signal: AbortSignal) => Promise<Page>} ask
 * @property {(row: Row) => void} choose
 * @property {(row: Row) => Action[]} actions
 * @property {(row: Row) => void} [remove]
 * @property {(state: State) => void} [note]
 * @property {(form: string, parameters: import("./api.js").Parameters) => string} [file]
 * @property {boolean} [filters]
 * @property {string} [sign]
 * @property {string} [noun]
 */

export class FactTable {
  /** @type {Page | null} */
  page = null;
  /** @type {AbortController | null} */
  running = null;
  /** @type {HTMLElement[]} */
  sorters = [];

  /**
   * @param {Options} options
   * @param {Partial<State>} state
   */
  constructor(options, state = {}) {
    this.options = options;
    /** @type {State} */
    this.state = { offset: 0, limit: 100, sort: [], filters: {}, ...state };
    this.status = h("div", { class: "matching", role: "status" });
    this.frame = h("div", { class: "frame" });
    this.body = h("tbody");
    this.footer = h("div", { class: "turn" });
    this.mistakes = h("div", {});
    this.element = h("div", { class: "facts" }, this.mistakes, this.frame, this.footer);
    this.filterSoon = later(300, () => this.restart());
  }

  /** Load the page that the state asks for; raises a mistake only if there is nothing to show beside it. */
  async load() {
    this.running?.abort();
    this.running = new AbortController();
    this.element.setAttribute("aria-busy", "true");
    try {
      const page = await this.options.ask(this.parameters(), this.running.signal);
      const hasNewColumns = this.page === null || this.page.columns.length !== page.columns.length;
      this.page = page;
      if (hasNewColumns) this.drawHead(page);
    } catch (error) {
      if (isAbort(error)) return;
      this.element.removeAttribute("aria-busy");
      if (!(error instanceof AskError) || this.page === null) throw error;
      fill(this.mistakes, diagnosticList(error.diagnostics));
      return;
    }
    this.element.removeAttribute("aria-busy");
    this.state.offset = this.page.offset;
    fill(this.mistakes);
    this.drawSorts(this.page);
    this.drawRows(this.page);
    this.drawFooter(this.page);
    this.options.note?.(this.state);
  }

  parameters() {
    const { offset, limit, sort, filters } = this.state;
    /** @type {Record<string, string | number>} */
    const asked = { offset, limit, sort: sort.map(([place, down]) => (down ? `-${place}` : place)).join(",") };
    for (const [place, text] of Object.entries(filters)) asked[`f${place}`] = text;
    return asked;
  }

  restart() {
    this.state.offset = 0;
    this.loadAgain();
  }

  /** @param {number} offset */
  turn(offset) {
    if (!this.page) return;
    const { matching, limit } = this.page;
    const last = Math.max(0, Math.floor((matching - 1) / limit) * limit);
    this.state.offset = Math.max(0, Math.min(offset, last));
    this.loadAgain();
  }

  async loadAgain() {
    const hadFocus = this.body.contains(document.activeElement);
    try {
      await this.load();
    } catch (error) {
      fill(this.mistakes, diagnosticList(error instanceof AskError ? error.diagnostics : []));
      return;
    }
    this.frame.scrollTop = 0;
    if (hadFocus) this.focus();
  }

  /** Put the focus on the row where one would go on. */
  focus() {
    const row = this.body.querySelector('tr.row[tabindex="0"]') ?? this.body.querySelector("tr.row");
    if (row instanceof HTMLElement) row.focus();
  }

  /** @param {Page} page */
  drawHead({ columns }) {
    this.sorters = columns.map((column, place) => {
      const sort = (/** @type {MouseEvent} */ event) => this.sortBy(place, event.shiftKey);
      const title = "Sort; with Shift by several columns";
      return h("button", { type: "button", class: "sorter", title, "aria-label": column.name, on: { click: sort } });
    });
    const filters = columns.map((column, place) => {
      const input = h("input", {
        type: "text",
        class: "filter",
        autocomplete: "off",
        spellcheck: "false",
        placeholder: NUMBERS.includes(column.kind) ? "5  >5  1..9" : "contains  =is",
        "aria-label": `Filter ${column.name}`,
        value: this.state.filters[place] ?? "",
      });
      input.addEventListener("input", () => {
        this.state.filters[place] = input.value;
        this.filterSoon();
      });
      return h("td", {}, input);
    });
    this.body = h("tbody", { on: { keydown: (/** @type {KeyboardEvent} */ event) => this.onKey(event) } });
    const heads = this.sorters.map((sorter, place) => h("th", { scope: "col", class: columns[place].kind }, sorter));
    const hasFilters = this.options.filters && columns.length > 0;
    const table = h(
      "table",
      { role: "grid", "aria-label": this.options.label },
      h(
        "thead",
        {},
        h(
          "tr",
          {},
          this.options.sign ? unseenHead("sign-cell", "Change") : null,
          heads,
          columns.length ? null : h("th", { scope: "col" }, "holds"),
          unseenHead("act", "Actions"),
        ),
        hasFilters ? h("tr", { class: "filters" }, filters, h("td", { class: "act" })) : null,
      ),
      this.body,
    );
    fill(this.frame, table);
  }

  /** @param {Page} page */
  drawSorts({ columns }) {
    this.sorters.forEach((sorter, place) => {
      const found = this.state.sort.find(([each]) => each === place);
      const order = found ? (found[1] ? "descending" : "ascending") : "none";
      sorter.parentElement?.setAttribute("aria-sort", order);
      fill(
        sorter,
        h("span", { class: "name" }, columns[place].name),
        h("span", { class: "type" }, columns[place].type),
        h("span", { class: `order ${order}` }, icon(found ? (found[1] ? "down" : "up") : "sort")),
      );
    });
  }

  /**
   * @param {number} place
   * @param {boolean} isFurther
   */
  sortBy(place, isFurther) {
    const found = this.state.sort.find(([each]) => each === place);
    const others = isFurther ? this.state.sort.filter(([each]) => each !== place) : [];
    /** @type {[number, boolean][]} */
    const next = found === undefined ? [[place, false]] : found[1] ? [] : [[place, true]];
    this.state.sort = [...others, ...next];
    this.restart();
  }

  /** @param {Page} page */
  drawRows({ rows, columns }) {
    fill(
      this.body,
      rows.map((row, number) => this.row(row, number, columns)),
    );
    if (rows.length) return;
    const isFiltered = Object.values(this.state.filters).some(Boolean);
    const noun = this.options.noun ?? "fact";
    const words = isFiltered ? `No ${noun} fits the filters.` : `There are no ${noun}s.`;
    fill(this.body, h("tr", {}, h("td", { class: "none", colspan: columns.length + 1 }, words)));
  }

  /**
   * @param {Row} row
   * @param {number} number
   * @param {Page["columns"]} columns
   */
  row(row, number, columns) {
    const { sign } = this.options;
    const cells = columns.length
      ? row.values.map((text, place) => cell(text, columns[place].kind))
      : [h("td", {}, "true")];
    if (sign) cells.unshift(signCell(sign));
    const kind = sign === "+" ? " plus" : sign ? " minus" : "";
    const element = h(
      "tr",
      { class: `row${kind}`, tabindex: number === 0 ? 0 : -1 },
      cells,
      h("td", { class: "act" }, this.actions(row)),
    );
    element.addEventListener("click", (event) => {
      const isButton = event.target instanceof Element && event.target.closest("button");
      if (!isButton && !String(getSelection())) this.choose(row, element);
    });
    element.addEventListener("focus", () => this.stand(element));
    rowOf.set(element, row);
    return element;
  }

  /** @param {Row} row */
  actions(row) {
    return this.options.actions(row).map(([words, title, act]) => {
      const of = row.fact ?? row.facts?.[0] ?? row.values.join(", ");
      const click = (/** @type {MouseEvent} */ event) => {
        const element = event.target instanceof Element ? event.target.closest("tr") : null;
        if (element) act(row, element);
      };
      const label = `${title}: ${cut(of, 200)}`;
      return h(
        "button",
        { type: "button", class: "bare", tabindex: -1, title, "aria-label": label, on: { click } },
        words,
      );
    });
  }

  /**
   * @param {Row} row
   * @param {HTMLElement} element
   */
  choose(row, element) {
    if (!row.fact && !row.facts?.length) return;
    for (const each of this.body.querySelectorAll("[aria-selected]")) each.removeAttribute("aria-selected");
    element.setAttribute("aria-selected", "true");
    this.stand(element);
    this.options.choose(row);
    // A panel may open beside the table and make it narrower: the row stays where the eye is.
    requestAnimationFrame(() => element.scrollIntoView({ block: "nearest" }));
  }

  /** @param {HTMLElement} element */
  stand(element) {
    for (const each of this.body.querySelectorAll('tr[tabindex="0"]')) each.setAttribute("tabindex", "-1");
    element.setAttribute("tabindex", "0");
  }

  /** @param {KeyboardEvent} event */
  onKey(event) {
    const row = event.target instanceof Element ? event.target.closest("tr.row") : null;
    if (!(row instanceof HTMLElement) || event.ctrlKey || event.metaKey || event.altKey) return;
    const rows = /** @type {HTMLElement[]} */ ([...this.body.querySelectorAll("tr.row")]);
    const stops = /** @type {HTMLElement[]} */ ([row, ...row.querySelectorAll(".act button")]);
    const place = rows.indexOf(row);
    const stop = stops.indexOf(/** @type {HTMLElement} */ (document.activeElement));
    const fact = rowOf.get(row);
    const to = { ArrowDown: place + 1, ArrowUp: place - 1, Home: 0, End: rows.length - 1 }[event.key];
    if (to !== undefined) {
      rows[Math.max(0, Math.min(to, rows.length - 1))].focus();
    } else if (event.key === "ArrowRight" || event.key === "ArrowLeft") {
      stops[Math.max(0, Math.min(stop + (event.key === "ArrowRight" ? 1 : -1), stops.length - 1))].focus();
    } else if (stop > 0) {
      return;
    } else if (event.key === "Enter" && fact) {
      this.choose(fact, row);
    } else if ((event.key === "PageDown" || event.key === "PageUp") && this.page) {
      this.turn(this.page.offset + (event.key === "PageDown" ? 1 : -1) * this.page.limit);
    } else if (event.key === "Delete" && this.options.remove && fact) {
      this.options.remove(fact);
    } else {
      return;
    }
    event.preventDefault();
  }

  /** @param {Page} page */
  drawFooter(page) {
    const { matching, size, order } = page;
    const noun = this.options.noun ?? "fact";
    const words = matching === size ? counted(size, noun) : `${count(matching)} of ${counted(size, noun)}`;
    fill(this.status, words, order === "stored" ? ", as stored" : "");
    const { file } = this.options;
    const rows = () => [page.columns.map((each) => each.name), ...page.rows.map((each) => each.values)];
    fill(
      this.footer,
      this.status,
      matching > SIZES[0] ? this.pager(page) : null,
      size ? h("div", { class: "take" }, copyButton(rows), file ? this.files(file) : null) : null,
    );
  }

  /** @param {NonNullable<Options["file"]>} file */
  files(file) {
    return downloadMenu((form) => {
      const kept = Object.entries(this.parameters()).filter(([name]) => name !== "offset" && name !== "limit");
      return file(form, Object.fromEntries(kept));
    });
  }

  /** @param {Page} page */
  pager({ matching, offset, limit, rows }) {
    /**
     * @param {"first" | "left" | "right" | "last"} name
     * @param {string} words
     * @param {number} to
     * @param {boolean} isOff
     */
    const button = (name, words, to, isOff) => {
      const click = () => this.turn(to);
      return h(
        "button",
        { type: "button", class: "bare", "aria-label": words, title: words, disabled: isOff, on: { click } },
        icon(name),
      );
    };
    const last = Math.floor(Math.max(0, matching - 1) / limit) * limit;
    const options = SIZES.map((each) =>
      h("option", { value: each, selected: each === limit }, `${count(each)} a page`),
    );
    const sizes = h("select", { "aria-label": "Facts on a page", class: "small" }, options);
    sizes.addEventListener("change", () => {
      this.state.limit = Number(sizes.value);
      this.restart();
    });
    const properties = { type: "text", inputmode: "numeric", class: "small jump", placeholder: "go to" };
    const jump = h("input", { ...properties, "aria-label": "Go to fact number" });
    jump.addEventListener("keydown", (event) => {
      const wanted = Number(jump.value.replaceAll(",", ""));
      if (event.key === "Enter" && wanted > 0) this.turn(Math.floor((wanted - 1) / limit) * limit);
    });
    return h(
      "div",
      { class: "pager" },
      h("span", { class: "range" }, `${count(offset + 1)}–${count(offset + rows.length)}`),
      button("first", "First page", 0, offset === 0),
      button("left", "Previous page", offset - limit, offset === 0),
      button("right", "Next page", offset + limit, offset >= last),
      button("last", "Last page", last, offset >= last),
      matching > limit ? jump : null,
      sizes,
    );
  }
}

/** @type {WeakMap<Element, Row>} */
const rowOf = new WeakMap();

/**
 * @param {string} kind
 * @param {string} words
 */
function unseenHead(kind, words) {
  return h("th", { class: kind, scope: "col" }, h("span", { class: "unseen" }, words));
}

/** The sign stands in a cell of its own: before a number it would be part of it. @param {string} sign */
function signCell(sign) {
  const [mark, kind, words] = sign === "+" ? ["+", "plus", "inserted"] : ["−", "minus", "deleted"];
  return h(
    "td",
    { class: "sign-cell" },
    h("span", { class: `sign ${kind}`, "aria-hidden": "true" }, mark),
    h("span", { class: "unseen" }, words),
  );
}

/**
 * @param {string} text
 * @param {string} kind
 */
function cell(text, kind) {
  const title = text.length > 60 ? text.slice(0, 1000) : null;
  return h("td", { class: kind, title }, NUMBERS.includes(kind) ? text : visible(text));
}
