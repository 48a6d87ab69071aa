// What is known of the session; whoever shows some of it listens for "changed".

import { get } from "./api.js";

class SessionState extends EventTarget {
  about = null;
  #rules = null;
  #rulesEpoch = -1;

  async load() {
    this.about = await get("/api/session");
    this.dispatchEvent(new Event("changed"));
    return this.about;
  }

  relation(name) {
    return this.about.relations.find((each) => each.name === name);
  }

  // Rules change only with an epoch.
  async rules() {
    if (this.#rules === null || this.#rulesEpoch !== this.about.epoch) {
      this.#rulesEpoch = this.about.epoch;
      this.#rules = await get("/api/rules");
    }
    return this.#rules;
  }
}

export const session = new SessionState();
