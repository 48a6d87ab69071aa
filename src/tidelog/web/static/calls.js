// Every question that the page asks, with the type of its answer; the types are those of the server.

import { get, post, withParameters } from "./api.js";

/** @typedef {import("./api.js").Parameters} Parameters */
/** @typedef {{ fact: string, path?: number[], derivation?: number | null }} NodeName */
/** @typedef {{ unwanted: string[], missing: string[], epoch: number }} Faults */
/** @typedef {string | { relation: string, values: string[] }} GivenFact */
/** @typedef {{ insert?: GivenFact[], delete?: GivenFact[], add_rules?: string, remove_rules?: number[] }} ChangeBody */

const name = encodeURIComponent;

/** @returns {Promise<import("../replies.js").SessionReply>} */
export const askSession = () => get("/api/session");

/** @returns {Promise<import("../replies.js").ProgramReply>} */
export const askRules = () => get("/api/rules");

/**
 * @param {string} relation
 * @param {Parameters} parameters
 * @param {AbortSignal} [signal]
 * @returns {Promise<import("../replies.js").PageReply>}
 */
export const askFacts = (relation, parameters, signal) => get(`/api/facts/${name(relation)}`, parameters, signal);

/**
 * @param {string} q
 * @param {Parameters} parameters
 * @param {AbortSignal} [signal]
 * @returns {Promise<import("../replies.js").PageReply>}
 */
export const askQuery = (q, parameters, signal) => get("/api/query", { ...parameters, q }, signal);

/**
 * @param {string} relation
 * @param {number} column
 * @param {string} typed
 * @param {AbortSignal} [signal]
 * @returns {Promise<import("../replies.js").ValuesReply>}
 */
export const askValues = (relation, column, typed, signal) =>
  get(`/api/values/${name(relation)}/${column}`, { typed }, signal);

/** @param {string} pattern @returns {Promise<import("../replies.js").FactReply>} */
export const askWitness = (pattern) => post("/api/witness", { pattern });

/** @param {NodeName & { depth: number }} node @returns {Promise<import("../replies.js").ProofReply>} */
export const askWhy = (node) => post("/api/why", node);

/** @param {NodeName & { offset: number, limit: number }} part @returns {Promise<import("../replies.js").StepsReply>} */
export const askSteps = (part) => post("/api/steps", part);

/** @param {NodeName} node @returns {Promise<import("../replies.js").GraphReply>} */
export const askGraph = (node) => post("/api/proof-graph", node);

/** @param {string} fact @returns {Promise<import("../replies.js").DerivationsReply>} */
export const askDerivations = (fact) => post("/api/derivations", { fact });

/** @param {string} fact @param {number} offset @returns {Promise<import("../replies.js").SupportReply>} */
export const askSupport = (fact, offset) => post("/api/support", { fact, offset });

/** @param {string} fact @returns {Promise<import("../replies.js").RefutationReply>} */
export const askWhyNot = (fact) => post("/api/why-not", { fact, depth: 2 });

/** @param {Faults} faults @returns {Promise<import("../replies.js").BlameReply>} */
export const askBlame = (faults) => post("/api/blame", faults);

/**
 * @param {Faults & { reject: string[], alternatives: number }} faults
 * @returns {Promise<import("../replies.js").RepairReply>}
 */
export const askRepair = (faults) => post("/api/repair", faults);

/** @returns {Promise<import("../replies.js").TimelineReply>} */
export const askEpochs = () => get("/api/epochs");

/** @param {number} epoch @returns {Promise<import("../replies.js").EpochReply>} */
export const askEpoch = (epoch) => get(`/api/epochs/${epoch}`);

/**
 * A page of a delta: `of` is an epoch, or a trial.
 * @param {import("../replies.js").EpochReply} of
 * @param {string} relation
 * @param {Parameters} parameters
 * @param {AbortSignal} [signal]
 * @returns {Promise<import("../replies.js").PageReply>}
 */
export function askDelta(of, relation, parameters, signal) {
  const place = of.trial === undefined ? `epochs/${of.epoch}` : `trials/${of.trial}`;
  return get(`/api/${place}/${name(relation)}`, parameters, signal);
}

/** @returns {Promise<import("../replies.js").ProfileReply>} */
export const askProfile = () => get("/api/profile");

/** @param {ChangeBody} changes @returns {Promise<import("../replies.js").EpochReply>} */
export const commitChanges = (changes) => post("/api/changes", changes);

/** @param {number} epoch @returns {Promise<import("../replies.js").EpochReply>} */
export const takeBackEpoch = (epoch) => post("/api/changes", { take_back: epoch });

/** @param {ChangeBody} changes @param {AbortSignal} [signal] @returns {Promise<import("../replies.js").CheckReply>} */
export const checkChanges = (changes, signal) => post("/api/check", changes, signal);

/** @param {ChangeBody} changes @returns {Promise<import("../replies.js").EpochReply>} */
export const previewChanges = (changes) => post("/api/preview", changes);

/**
 * Return the address of a file: download("facts/path", "csv", { sort: "0" }).
 * @param {string} of
 * @param {string} form
 * @param {Parameters} parameters
 */
export const download = (of, form, parameters) => withParameters(`/api/download/${of}.${form}`, parameters);

/** @param {string} fact @param {string} form */
export const proofFile = (fact, form) => withParameters(`/api/download/proof/${form}`, { fact });
