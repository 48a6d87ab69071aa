"""What the explorer answers, type by type; `replies.d.ts` says the same to the page.

`python -m tidelog.web.typescript` writes that file anew.
"""

from collections.abc import Sequence
from typing import Literal, NotRequired, TypedDict


class PlaceReply(TypedDict):
    """Lines and columns of a source, from 1."""

    source: str
    line: int
    column: int
    end_line: NotRequired[int]
    end_column: NotRequired[int]


class DiagnosticReply(TypedDict):
    """A mistake; `text` is what a terminal would show."""

    code: str
    severity: str
    message: str
    hint: str | None
    place: PlaceReply | None
    text: str


class ColumnReply(TypedDict):
    """A column, its declared type and the kind of its values."""

    name: str
    type: str
    kind: str


class RelationReply(TypedDict):
    """A relation, and what may be done to it."""

    name: str
    columns: Sequence[ColumnReply]
    size: int
    is_input: bool
    is_derived: bool
    is_output: bool
    qualifiers: Sequence[str]


class SessionReply(TypedDict):
    """The program's relations, and what may be done."""

    title: str
    epoch: int
    may_write: bool
    page_rows: int
    relations: Sequence[RelationReply]
    warnings: Sequence[DiagnosticReply]


class RowReply(TypedDict):
    """A fact or a binding; `fact` is null if it is too long to ask about.

    `facts` are the atoms of a query with the values of the row; `_` stands for any value.
    """

    values: Sequence[str]
    fact: str | None
    facts: NotRequired[Sequence[str]]
    is_deletable: NotRequired[bool]


class PageReply(TypedDict):
    """A page of facts; `matching` counts those that the filters keep."""

    relation: str
    columns: Sequence[ColumnReply]
    size: int
    matching: int
    offset: int
    limit: int
    order: Literal["value", "sorted", "stored"]
    rows: Sequence[RowReply]
    epoch: int


class ValuesReply(TypedDict):
    """Values to offer for what was typed."""

    values: Sequence[str]


class FactReply(TypedDict):
    """One fact that matches a pattern, null if there is none."""

    fact: str | None


class SourceReply(TypedDict):
    """A text of the program."""

    name: str
    text: str


class RuleReply(TypedDict):
    """A rule as it was written."""

    id: int
    text: str
    head: str | None
    place: PlaceReply


class ProgramReply(TypedDict):
    """The program's text and its rules."""

    sources: Sequence[SourceReply]
    rules: Sequence[RuleReply]
    declarations: dict[str, PlaceReply]


class QuotedRuleReply(TypedDict):
    """The rule of a derivation."""

    id: int
    name: str
    text: str
    place: PlaceReply


class NodeReply(TypedDict):
    """A node of a proof, a refutation or an incremental proof.

    `premises` is null where they have not been looked for. A `fold` stands for `count` steps; `end` is
    the node that the last of them rests on.
    """

    kind: str
    text: str
    premises: "Sequence[NodeReply] | None"
    has_more: NotRequired[bool]
    path: NotRequired[Sequence[int]]
    is_input: NotRequired[bool]
    rule: NotRequired[QuotedRuleReply]
    bindings: NotRequired[Sequence[tuple[str, str]]]
    note: NotRequired[str | None]
    mark: NotRequired[str | None]
    fact: NotRequired[str | None]
    place: NotRequired[PlaceReply]
    count: NotRequired[int]
    rules: NotRequired[Sequence[str]]
    is_cut: NotRequired[bool]
    end: "NotRequired[NodeReply]"


class ProofReply(TypedDict):
    """A node of a proof, and the epoch it belongs to."""

    proof: NodeReply
    epoch: int


class StepsReply(TypedDict):
    """Steps of a chain, each with what it rests on beside the next step."""

    steps: Sequence[NodeReply]


class DerivationsReply(TypedDict):
    """The ways in which a fact is derived."""

    proofs: Sequence[NodeReply]
    is_cut: bool


class SupportReply(TypedDict):
    """A page of the input facts that a proof rests on, in value order."""

    facts: Sequence[str]
    size: int
    offset: int


class GraphNodeReply(TypedDict):
    """A box of a proof's picture, and the numbers of those it rests on."""

    text: str
    note: str
    kind: Literal["input", "derived", "fold"]
    premises: Sequence[int]


class GraphReply(TypedDict):
    """A proof as a graph; the root is the first node."""

    nodes: Sequence[GraphNodeReply]
    is_cut: bool


class RefutationReply(TypedDict):
    """How near each rule comes to a fact; a fact that holds has none."""

    refutation: NodeReply | None
    holds: bool


class EpochNumbers(TypedDict):
    """An epoch of the timeline."""

    epoch: int
    inserted: int
    deleted: int
    changes: int
    impact: int
    seconds: float


class TimelineReply(TypedDict):
    """The epochs that are remembered, oldest first."""

    epoch: int
    epochs: Sequence[EpochNumbers]


class RelationCounts(TypedDict):
    """How many facts of a relation changed."""

    name: str
    inserted: int
    deleted: int
    is_derived: NotRequired[bool]


class ViolationReply(TypedDict):
    """A guard that an epoch broke."""

    guard: str
    facts: Sequence[str]
    is_always: bool


class StratumReply(TypedDict):
    """What was done to a stratum, and why."""

    relations: Sequence[str]
    action: str
    strategy: str
    reason: str
    work: int
    seconds: float


class EpochReply(TypedDict):
    """What an epoch did; one that was only tried out has the number of its `trial`."""

    epoch: int
    inserted: int
    deleted: int
    impact: int
    seconds: float
    relations: Sequence[RelationCounts]
    changes: Sequence[RelationCounts]
    without_effect: Sequence[RelationCounts]
    rules_inserted: Sequence[str]
    rules_deleted: Sequence[str]
    violations: Sequence[ViolationReply]
    strata: Sequence[StratumReply]
    trial: NotRequired[int]


class CheckReply(TypedDict):
    """What is wrong with changes; nothing if the list is empty."""

    diagnostics: Sequence[DiagnosticReply]


class LiveReply(TypedDict):
    """An epoch as every open page hears of it."""

    epoch: int
    inserted: int
    deleted: int
    has_rules: bool
    relations: Sequence[RelationCounts]


class ProfileStratum(TypedDict):
    """What the evaluation of a stratum took."""

    title: str
    seconds: float
    iterations: int
    facts: int
    derivations: int
    bindings: int
    planning: float
    indexes: float


class ProfileRule(TypedDict):
    """What a rule took."""

    place: str
    delta: str
    text: str
    seconds: float
    bindings: int
    derivations: int
    new_facts: int
    duplicates: int
    is_wasteful: bool


class ProfileOperator(TypedDict):
    """What an operator took; `expected` are the rows out of each row in."""

    text: str
    rule: str
    seconds: float
    rows_in: int
    rows_out: int
    expected: float | None


class AdviceReply(TypedDict):
    """What might make the program quicker."""

    code: str
    message: str
    hint: str | None


class ProfileReply(TypedDict):
    """What the evaluation took; without `is_measured` there are no rules."""

    is_measured: bool
    seconds: float
    memory: int
    strata: Sequence[ProfileStratum]
    rules: Sequence[ProfileRule]
    operators: Sequence[ProfileOperator]
    advice: Sequence[AdviceReply]


class FaultChange(TypedDict):
    """A change of the past: of a fact, or of a rule."""

    change: str
    text: str
    rule: NotRequired[str]
    relation: NotRequired[str]


class BlameReply(TypedDict):
    """The changes that cause faults, with an incremental proof of each."""

    changes: Sequence[FaultChange]
    proofs: Sequence[NodeReply]
    seconds: float
    notes: Sequence[str]


class RepairReply(TypedDict):
    """The cheapest changes to take back; `alternatives` are others."""

    found: bool
    changes: Sequence[FaultChange]
    apply: Sequence[str]
    taken_back: Sequence[str]
    cost: float
    bound: float
    optimal: bool
    notes: Sequence[str]
    alternatives: "Sequence[RepairReply]"
