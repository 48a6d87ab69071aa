// Written by `python -m tidelog.web.typescript` from schema.py; a test compares the two.

/** Lines and columns of a source, from 1. */
export interface PlaceReply {
  source: string;
  line: number;
  column: number;
  end_line?: number;
  end_column?: number;
}

/** A mistake; `text` is what a terminal would show. */
export interface DiagnosticReply {
  code: string;
  severity: string;
  message: string;
  hint: string | null;
  place: PlaceReply | null;
  text: string;
}

/** A column, its declared type and the kind of its values. */
export interface ColumnReply {
  name: string;
  type: string;
  kind: string;
}

/** A relation, and what may be done to it. */
export interface RelationReply {
  name: string;
  columns: ColumnReply[];
  size: number;
  is_input: boolean;
  is_derived: boolean;
  is_output: boolean;
  qualifiers: string[];
}

/** The program's relations, and what may be done. */
export interface SessionReply {
  title: string;
  epoch: number;
  may_write: boolean;
  page_rows: number;
  relations: RelationReply[];
  warnings: DiagnosticReply[];
}

/** A fact or a binding; `fact` is null if it is too long to ask about. */
export interface RowReply {
  values: string[];
  fact: string | null;
  facts?: string[];
  is_deletable?: boolean;
}

/** A page of facts; `matching` counts those that the filters keep. */
export interface PageReply {
  relation: string;
  columns: ColumnReply[];
  size: number;
  matching: number;
  offset: number;
  limit: number;
  order: "value" | "sorted" | "stored";
  rows: RowReply[];
  epoch: number;
}

/** Values to offer for what was typed. */
export interface ValuesReply {
  values: string[];
}

/** One fact that matches a pattern, null if there is none. */
export interface FactReply {
  fact: string | null;
}

/** A text of the program. */
export interface SourceReply {
  name: string;
  text: string;
}

/** A rule as it was written. */
export interface RuleReply {
  id: number;
  text: string;
  head: string | null;
  place: PlaceReply;
}

/** The program's text and its rules. */
export interface ProgramReply {
  sources: SourceReply[];
  rules: RuleReply[];
  declarations: Record<string, PlaceReply>;
}

/** The rule of a derivation. */
export interface QuotedRuleReply {
  id: number;
  name: string;
  text: string;
  place: PlaceReply;
}

/** A node of a proof, a refutation or an incremental proof. */
export interface NodeReply {
  kind: string;
  text: string;
  premises: NodeReply[] | null;
  has_more?: boolean;
  path?: number[];
  is_input?: boolean;
  rule?: QuotedRuleReply;
  bindings?: ([string, string])[];
  note?: string | null;
  mark?: string | null;
  fact?: string | null;
  place?: PlaceReply;
  count?: number;
  rules?: string[];
  is_cut?: boolean;
  end?: NodeReply;
}

/** A node of a proof, and the epoch it belongs to. */
export interface ProofReply {
  proof: NodeReply;
  epoch: number;
}

/** Steps of a chain, each with what it rests on beside the next step. */
export interface StepsReply {
  steps: NodeReply[];
}

/** The ways in which a fact is derived. */
export interface DerivationsReply {
  proofs: NodeReply[];
  is_cut: boolean;
}

/** A page of the input facts that a proof rests on, in value order. */
export interface SupportReply {
  facts: string[];
  size: number;
  offset: number;
}

/** A box of a proof's picture, and the numbers of those it rests on. */
export interface GraphNodeReply {
  text: string;
  note: string;
  kind: "input" | "derived" | "fold";
  premises: number[];
}

/** A proof as a graph; the root is the first node. */
export interface GraphReply {
  nodes: GraphNodeReply[];
  is_cut: boolean;
}

/** How near each rule comes to a fact; a fact that holds has none. */
export interface RefutationReply {
  refutation: NodeReply | null;
  holds: boolean;
}

/** An epoch of the timeline. */
export interface EpochNumbers {
  epoch: number;
  inserted: number;
  deleted: number;
  changes: number;
  impact: number;
  seconds: number;
}

/** The epochs that are remembered, oldest first. */
export interface TimelineReply {
  epoch: number;
  epochs: EpochNumbers[];
}

/** How many facts of a relation changed. */
export interface RelationCounts {
  name: string;
  inserted: number;
  deleted: number;
  is_derived?: boolean;
}

/** A guard that an epoch broke. */
export interface ViolationReply {
  guard: string;
  facts: string[];
  is_always: boolean;
}

/** What was done to a stratum, and why. */
export interface StratumReply {
  relations: string[];
  action: string;
  strategy: string;
  reason: string;
  work: number;
  seconds: number;
}

/** What an epoch did; one that was only tried out has the number of its `trial`. */
export interface EpochReply {
  epoch: number;
  inserted: number;
  deleted: number;
  impact: number;
  seconds: number;
  relations: RelationCounts[];
  changes: RelationCounts[];
  without_effect: RelationCounts[];
  rules_inserted: string[];
  rules_deleted: string[];
  violations: ViolationReply[];
  strata: StratumReply[];
  trial?: number;
}

/** What is wrong with changes; nothing if the list is empty. */
export interface CheckReply {
  diagnostics: DiagnosticReply[];
}

/** An epoch as every open page hears of it. */
export interface LiveReply {
  epoch: number;
  inserted: number;
  deleted: number;
  has_rules: boolean;
  relations: RelationCounts[];
}

/** What the evaluation of a stratum took. */
export interface ProfileStratum {
  title: string;
  seconds: number;
  iterations: number;
  facts: number;
  derivations: number;
  bindings: number;
  planning: number;
  indexes: number;
}

/** What a rule took. */
export interface ProfileRule {
  place: string;
  delta: string;
  text: string;
  seconds: number;
  bindings: number;
  derivations: number;
  new_facts: number;
  duplicates: number;
  is_wasteful: boolean;
}

/** What an operator took; `expected` are the rows out of each row in. */
export interface ProfileOperator {
  text: string;
  rule: string;
  seconds: number;
  rows_in: number;
  rows_out: number;
  expected: number | null;
}

/** What might make the program quicker. */
export interface AdviceReply {
  code: string;
  message: string;
  hint: string | null;
}

/** What the evaluation took; without `is_measured` there are no rules. */
export interface ProfileReply {
  is_measured: boolean;
  seconds: number;
  memory: number;
  strata: ProfileStratum[];
  rules: ProfileRule[];
  operators: ProfileOperator[];
  advice: AdviceReply[];
}

/** A change of the past: of a fact, or of a rule. */
export interface FaultChange {
  change: string;
  text: string;
  rule?: string;
  relation?: string;
}

/** The changes that cause faults, with an incremental proof of each. */
export interface BlameReply {
  changes: FaultChange[];
  proofs: NodeReply[];
  seconds: number;
  notes: string[];
}

/** The cheapest changes to take back; `alternatives` are others. */
export interface RepairReply {
  found: boolean;
  changes: FaultChange[];
  apply: string[];
  taken_back: string[];
  cost: number;
  bound: number;
  optimal: boolean;
  notes: string[];
  alternatives: RepairReply[];
}
