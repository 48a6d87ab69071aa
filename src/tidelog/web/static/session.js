// What is known of the session; whoever shows some of it listens for "changed".

import { askRules, askSession } from "./calls.js";

/** @typedef {import("../replies.js").SessionReply} About */
/** @typedef {import("../replies.js").ProgramReply} Program */

class SessionState extends EventTarget {
  /** @type {About} */
  about = { title: "", epoch: -1, may_write: false, page_rows: 0, relations: [], warnings: [] };
  /** @type {Program | null} */
  #rules = null;
  #rulesEpoch = -1;

  async load() {
    this.about = await askSession();
    this.dispatchEvent(new Event("changed"));
    return this.about;
  }

  /** @param {string} name */
  relation(name) {
    return this.about.relations.find((each) => each.name === name);
  }

  /** Return the program; it changes only with an epoch. */
  async rules() {
    if (this.#rules === null || this.#rulesEpoch !== this.about.epoch) {
      this.#rulesEpoch = this.about.epoch;
      this.#rules = await askRules();
    }
    return this.#rules;
  }
}

export const session = new SessionState();
