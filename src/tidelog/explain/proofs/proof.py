"""A fact, the step that proves it, and proofs of what the step rests on, found when asked for."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import field
from functools import cached_property
from typing import TYPE_CHECKING, Literal

from tidelog.dataclass import dataclass
from tidelog.errors import Diagnostic, TidelogError
from tidelog.errors.arguments import Arguments
from tidelog.explain.proofs.atom import GroundAtom
from tidelog.explain.proofs.check import CheckedProof, check_proof
from tidelog.explain.proofs.derivation import Absence, Aggregation, Derivation
from tidelog.explain.proofs.dot import write_dot, write_mermaid
from tidelog.explain.proofs.html import write_fragment, write_page
from tidelog.explain.proofs.json_form import Json, proof_value, write_json
from tidelog.explain.proofs.prover import Prover
from tidelog.explain.proofs.rules import QuotedRule
from tidelog.explain.proofs.source import Level
from tidelog.explain.proofs.steps import (
    Equivalence,
    Input,
    LatticeMove,
    Step,
    asserted_from,
    places_of,
    premises_of,
)
from tidelog.explain.proofs.support import find_support
from tidelog.explain.proofs.text import draw_text
from tidelog.values import Fact, Value

if TYPE_CHECKING:
    from tidelog.values.arrow import pa

ProofKind = Literal["input", "rule", "equivalence", "join", "widening", "narrowing"]
_Key = tuple[GroundAtom, Level | None, bool]


@dataclass
class Explorer:
    """What the nodes of a proof share: the prover of an epoch, and the nodes found so far.

    `epoch_now` tells the present epoch; the facts of an earlier one are gone, so that its proofs can be
    read but not expanded. `chosen` has the steps of all nodes where something else than their levels
    chose them.
    """

    prover: Prover
    epoch_now: Callable[[], int] = field(default=lambda: 0)
    epoch: int = 0
    lock: AbstractContextManager[object] = field(default_factory=nullcontext)
    nodes: "dict[_Key, Proof]" = field(default_factory=dict)
    chosen: Mapping[_Key, Step] | None = None

    def step(self, key: _Key) -> Step:
        """Return the step of a node: the chosen one, or the first that goes down the levels."""
        if self.chosen is not None:
            return self.chosen[key]
        atom, below, asserted = key
        return self.prover.step(atom, below, asserted=asserted)

    def node(self, atom: GroundAtom, below: Level | None = None, *, asserted: bool = False) -> "Proof":
        """Return the one proof of a fact."""
        limit = self.prover.limit_of(atom, below, asserted=asserted)
        is_inlined = not self.prover.book.is_stored(atom.relation)
        key = (atom, None if self.chosen is not None and is_inlined and not asserted else limit, asserted)
        found = self.nodes.get(key)
        if found is None:
            found = self.nodes[key] = Proof(self, atom, key[1], asserted=asserted)
        return found

    def check_epoch(self, atom: GroundAtom) -> None:
        """Raise if the session went on to another epoch."""
        if self.epoch_now() != self.epoch:
            raise TidelogError([_outdated(atom, self.epoch)])


class Proof:
    """Why a fact holds: `proof.step` proves it from `proof.premises`, each a proof itself.

    Steps and premises are found when they are first read, fragment by fragment; equal facts share one
    node. `kind` is `input` for an input fact, `rule` for a derivation, `equivalence`, `join`, `widening` and
    `narrowing` where a law of the relation adds facts. Printing a proof draws a tree.

        proof = db.why("path(1, 3)")
        proof.rule.text, proof.bindings, [str(each.atom) for each in proof.premises]
        print(proof)
    """

    def __init__(
        self, explorer: Explorer, atom: GroundAtom, below: Level | None = None, *, asserted: bool = False
    ) -> None:
        self.atom = atom
        self._explorer = explorer
        self._below = below
        self._asserted = asserted
        self._depth: int | None = None

    # --- one node ---------------------------------------------------------------------------------

    @property
    def explorer(self) -> Explorer:
        """Return what all nodes of the proof share."""
        return self._explorer

    @property
    def relation(self) -> str:
        """Return the relation of the fact."""
        return self.atom.relation

    @property
    def fact(self) -> Fact:
        """Return the fact's values."""
        return self.atom.fact

    @cached_property
    def step(self) -> Step:
        """Return how the fact is proved."""
        with self._explorer.lock:
            self._explorer.check_epoch(self.atom)
            return self._explorer.step((self.atom, self._below, self._asserted))

    @cached_property
    def level(self) -> Level | None:
        """Return the stratum and the iteration in which the fact first held.

        It is None for a fact that no engine holds: one of an inlined relation, or a part of a join.
        """
        with self._explorer.lock:
            self._explorer.check_epoch(self.atom)
            return None if self._asserted else self._explorer.prover.level(self.atom, self._below)

    @property
    def limit(self) -> Level | None:
        """Return the level that all premises stay below, or None if nothing limits them."""
        return self._below if self.level is None else self.level

    @cached_property
    def premises(self) -> "tuple[Proof, ...]":
        """Return proofs of the facts that the step rests on, each once."""
        first = asserted_from(self.step)
        return tuple(
            self._explorer.node(atom, self.limit, asserted=place >= first)
            for place, atom in enumerate(premises_of(self.step))
        )

    @property
    def is_asserted(self) -> bool:
        """Say whether a law of the relation is applied to the fact, which a rule or an input asserts."""
        return self._asserted

    @property
    def kind(self) -> ProofKind:
        """Return what sort of step proves the fact."""
        match self.step:
            case Input():
                return "input"
            case Derivation():
                return "rule"
            case Equivalence():
                return "equivalence"
            case LatticeMove(kind=kind):
                return kind
            case _:
                return "join"

    @property
    def derivation(self) -> Derivation | None:
        """Return the rule application, or None if no rule proves the fact."""
        return self.step if isinstance(self.step, Derivation) else None

    @property
    def rule(self) -> QuotedRule | None:
        """Return the rule as the user wrote it."""
        return None if self.derivation is None else self.derivation.rule

    @property
    def bindings(self) -> dict[str, Value]:
        """Return the values of the rule's variables."""
        return {} if self.derivation is None else dict(self.derivation.bindings)

    @property
    def constraints(self) -> tuple[str, ...]:
        """Return the constraints, with values instead of variables."""
        return () if self.derivation is None else tuple(map(str, self.derivation.constraints))

    @property
    def negated(self) -> tuple[Absence, ...]:
        """Return the negated atoms: leaves that you can ask about with `why_not`."""
        return () if self.derivation is None else self.derivation.negated

    @property
    def aggregations(self) -> tuple[Aggregation, ...]:
        """Return the aggregates with the facts of their groups."""
        return () if self.derivation is None else self.derivation.aggregations

    # --- what follows from it ---------------------------------------------------------------------

    def support(self) -> dict[str, set[Fact]]:
        """Return the input facts at the leaves, by relation: these alone are enough to derive the fact.

        If the proof contains a negated atom or an aggregate whose relation itself depends on negation,
        aggregates or choices, all input facts behind that relation belong to the support, because
        with fewer of them the relation could have more facts.

            tidelog.open("prog.dl", facts=db.why("path(1, 3)").support())
        """
        return find_support(self)

    def check(self) -> CheckedProof:
        """Check every step by substitution alone, and return the result.

        For each node the bindings are substituted into the rule as it was written; head, premises,
        constraints and aggregates must come out as the proof says, leaves must be input facts and
        negated atoms absent. This involves no engine and no search for proofs.
        """
        with self._explorer.lock:
            self._explorer.check_epoch(self.atom)
            return check_proof(self)

    # --- forms ------------------------------------------------------------------------------------

    def text(self, width: int | None = None, depth: int | None = None) -> str:
        """Return the proof drawn as a tree that fits the width (the terminal's by default)."""
        with Arguments() as arguments:
            arguments.whole("width", width, least=1, is_optional=True)
        return draw_text(self, width, self._shown(depth))

    def horizontal(self, depth: int | None = None) -> str:
        """Return the proof as logic textbooks draw it: premises side by side above a line, the fact below."""
        from tidelog.explain.proofs.horizontal import draw_horizontal  # noqa: PLC0415 - few draw it so

        return draw_horizontal(self, self._shown(depth))

    def to_json(self, depth: int | None = None) -> str:
        """Return the proof as JSON; docs/proofs.md has the schema."""
        return write_json(self, self._shown(depth))

    def to_dict(self, depth: int | None = None) -> dict[str, Json]:
        """Return the proof as plain data, what `to_json` writes."""
        return proof_value(self, self._shown(depth))

    def to_dot(self, depth: int | None = None) -> str:
        """Return the proof as a graph in Graphviz's language."""
        return write_dot(self, self._shown(depth))

    def to_mermaid(self, depth: int | None = None) -> str:
        """Return the proof as a Mermaid flowchart."""
        return write_mermaid(self, self._shown(depth))

    def to_html(self, depth: int | None = None) -> str:
        """Return a standalone HTML page whose branches open and close without any script."""
        return write_page(self, self._shown(depth))

    def to_arrow(self, depth: int | None = None) -> "dict[str, pa.Table]":
        """Return the proof as relations: `node`, `premise`, `binding`, `negated`, `constraint`."""
        from tidelog.explain.proofs.arrow import write_tables  # noqa: PLC0415 - loads Arrow

        return write_tables(self, self._shown(depth))

    def _shown(self, depth: int | None) -> int | None:
        """Return how deep a form goes."""
        with Arguments() as arguments:
            arguments.whole("depth", depth, least=0, is_optional=True)
        return self._depth if depth is None else depth

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        return f"<proof of {self.atom}>"

    def _repr_html_(self) -> str:
        return write_fragment(self, self._depth)

    # --- the whole proof ----------------------------------------------------------------------------

    @property
    def depth(self) -> int | None:
        """Return how deep the forms of the proof go by default; None is all the way."""
        return self._depth

    def with_step(self, step: Step) -> "Proof":
        """Return a proof of the same fact that begins with another step."""
        other = Proof(self._explorer, self.atom, self._below, asserted=self._asserted)
        other.step = step
        return other

    def with_depth(self, depth: int | None) -> "Proof":
        """Return the same proof, shown to another depth."""
        self._shown(depth)
        shown = Proof(self._explorer, self.atom, self._below, asserted=self._asserted)
        for name in ("step", "level", "premises"):
            if name in self.__dict__:
                setattr(shown, name, self.__dict__[name])
        shown._depth = depth
        return shown

    def nodes(self, depth: int | None = None) -> "Iterator[Proof]":
        """Yield each distinct node once, down to a depth, from the root on."""
        self._shown(depth)
        seen: set[int] = set()
        level: list[Proof] = [self]
        remaining = depth
        while level:
            following: list[Proof] = []
            for node in level:
                if id(node) not in seen:
                    seen.add(id(node))
                    yield node
                    if remaining is None or remaining > 0:
                        following.extend(node.premises)
            level = following
            remaining = None if remaining is None else remaining - 1

    def in_order(self) -> "list[Proof]":
        """Return each distinct node once, premises before what rests on them."""
        ordered: list[Proof] = []
        done: set[int] = set()
        waiting: list[tuple[Proof, bool]] = [(self, False)]
        while waiting:
            node, is_expanded = waiting.pop()
            if is_expanded:
                ordered.append(node)
            elif id(node) not in done:
                done.add(id(node))
                waiting.append((node, True))
                waiting.extend((premise, False) for premise in node.premises if id(premise) not in done)
        return ordered

    @cached_property
    def height(self) -> int:
        """Return the number of steps on the longest way down to an input fact.

        A fact of an inlined relation is part of the rule that reads it and adds nothing.
        """
        heights: dict[int, int] = {}
        book = self._explorer.prover.book
        for node in self.in_order():
            is_step = not isinstance(node.step, Input) and book.is_stored(node.relation)
            heights[id(node)] = is_step + max((heights[id(each)] for each in node.premises), default=0)
        return heights[id(self)]

    @cached_property
    def size(self) -> int:
        """Return the number of facts in the whole tree, one for every place where a fact stands.

        A fact that several steps rest on, or that stands twice in a body, counts every time, with all
        that is below it: this is what `metric="nodes"` makes smallest. `len(list(proof.nodes()))` is the
        number of distinct facts.
        """
        sizes: dict[int, int] = {}
        for node in self.in_order():
            of_atom = {premise.atom: sizes[id(premise)] for premise in node.premises}
            below = [of_atom[atom] for atom in places_of(node.step)]
            if isinstance(node.step, LatticeMove):
                # A fact before that is asserted again has two proofs.
                below = [sizes[id(premise)] for premise in node.premises]
            sizes[id(node)] = 1 + sum(below)
        return sizes[id(self)]


def _outdated(atom: GroundAtom, epoch: int) -> Diagnostic:
    return Diagnostic(
        code="proof-outdated",
        message=f"the proof of {atom} is about epoch {epoch}, which is over",
        hint="ask again; what was expanded before can still be read",
    )
