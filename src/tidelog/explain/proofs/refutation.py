"""Why a fact does not hold: for each rule, how near it comes to deriving the fact."""

from collections.abc import Collection, Iterator
from dataclasses import field
from html import escape
from itertools import combinations
from typing import TYPE_CHECKING, Final

from tidelog.dataclass import dataclass
from tidelog.engine.reference.steps import Body
from tidelog.engine.reference.terms import Binding
from tidelog.errors.arguments import Arguments
from tidelog.explain.proofs.atom import GroundAtom
from tidelog.explain.proofs.derivations import written_variables
from tidelog.explain.proofs.judge import JudgedLiteral, Verdict, judge_body
from tidelog.explain.proofs.prover import Prover
from tidelog.explain.proofs.rules import QuotedRule
from tidelog.explain.proofs.solve import BodySolver
from tidelog.explain.proofs.work import SearchEndedError, SearchWork
from tidelog.program.nodes import Rule
from tidelog.values import Value

if TYPE_CHECKING:
    from tidelog.explain.proofs.json_form import Json

# Steps a search for near misses may take for one rule, before it tells what it found so far.
_WORK_LIMIT: Final = 50_000


@dataclass(frozen=True, slots=True)
class NearMiss:
    """A rule with values for its variables, and its literals, of which some fail."""

    rule: QuotedRule
    bindings: tuple[tuple[str, Value], ...]
    literals: tuple[JudgedLiteral, ...]

    @property
    def failing(self) -> tuple[JudgedLiteral, ...]:
        """Return the literals that do not hold."""
        return tuple(each for each in self.literals if each.verdict is not Verdict.HOLDS)

    @property
    def holding(self) -> int:
        """Return how many literals hold."""
        return sum(each.verdict is Verdict.HOLDS for each in self.literals)

    def lacks(self, facts: Collection[GroundAtom]) -> bool:
        """Say whether one of these facts is among those that are missing."""
        return any(each.missing in facts for each in self.literals if each.missing is not None)

    def rank(self) -> tuple[int, int, int]:
        """Return what near misses are sorted by: few failing, many holding, few free variables."""
        free = {name for each in self.literals for name in each.free}
        return len(self.failing), -self.holding, len(free)


@dataclass(frozen=True, slots=True)
class RuleRefutation:
    """What keeps one rule from deriving the fact; `note` says what near misses do not."""

    rule: QuotedRule
    near_misses: tuple[NearMiss, ...]
    note: str = ""


@dataclass(frozen=True, repr=False)
class Refutation:
    """Why a fact does not hold.

    `rules` are those that could derive it, nearest first. `deeper` says, down to the depth asked for,
    why the missing facts of the near misses do not hold. `note` is about the relation as a whole.
    """

    atom: GroundAtom
    rules: tuple[RuleRefutation, ...]
    note: str = ""
    deeper: "dict[GroundAtom, Refutation]" = field(default_factory=dict)

    @property
    def near_misses(self) -> tuple[NearMiss, ...]:
        """Return the near misses of all rules, nearest first."""
        found = [miss for rule in self.rules for miss in rule.near_misses]
        return tuple(sorted(found, key=NearMiss.rank))

    @property
    def missing(self) -> tuple[GroundAtom, ...]:
        """Return the facts that near misses lack, nearest first."""
        facts = (each.missing for miss in self.near_misses for each in miss.literals)
        return tuple(dict.fromkeys(fact for fact in facts if fact is not None))

    def text(self, width: int | None = None) -> str:
        """Return the refutation drawn as a tree that fits the width (the terminal's by default)."""
        from tidelog.explain.proofs.refutation_text import draw_refutation  # noqa: PLC0415 - it reads these

        with Arguments() as arguments:
            arguments.whole("width", width, least=1, is_optional=True)
        return draw_refutation(self, width)

    def to_json(self) -> str:
        """Return the refutation as JSON; docs/proofs.md has the schema."""
        from tidelog.explain.proofs.refutation_text import write_refutation  # noqa: PLC0415 - as above

        return write_refutation(self)

    def to_dict(self) -> "dict[str, Json]":
        """Return the refutation as plain data, what `to_json` writes."""
        from tidelog.explain.proofs.refutation_text import refutation_value  # noqa: PLC0415 - as above

        return refutation_value(self)

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        return f"<refutation of {self.atom}>"

    def _repr_html_(self) -> str:
        return f"<pre>{escape(self.text(100))}</pre>"


class Refuter:
    """Finds near misses over the facts of one epoch; `limit` is how many for each rule."""

    def __init__(self, prover: Prover, limit: int = 3) -> None:
        self.prover = prover
        self.book = prover.book
        self.limit = limit

    def refute(self, atom: GroundAtom, depth: int = 1) -> Refutation:
        """Return why a fact does not hold; missing facts are refuted in turn down to the depth.

        No near miss lacks the fact that it is asked for, nor one whose refutation it is part of: that
        these do not hold is what is to be explained.
        """
        above = self._alike(atom)
        found = self._refute(atom, above)
        waiting = [(found, depth, above)]
        seen = {atom}
        while waiting:
            refutation, remaining, above = waiting.pop()
            if remaining <= 1:
                continue
            for missing in refutation.missing:
                if missing not in seen:
                    seen.add(missing)
                    path = above | self._alike(missing)
                    refutation.deeper[missing] = self._refute(missing, path)
                    waiting.append((refutation.deeper[missing], remaining - 1, path))
        return found

    def _alike(self, atom: GroundAtom) -> frozenset[GroundAtom]:
        """Return a fact with those that hold just when it does."""
        if self.book.program.relations[atom.relation].is_equivalence:
            return frozenset((atom, GroundAtom(atom.relation, atom.fact[::-1])))
        return frozenset((atom,))

    def _refute(self, atom: GroundAtom, above: frozenset[GroundAtom]) -> Refutation:
        rules = [rule for rule in self.book.rules_of(atom.relation) if rule.body]
        if not rules:
            return Refutation(atom, (), "it is not an input fact, and no rule derives its relation")
        found = [self._rule(rule, atom, above) for rule in rules]
        # Rules whose head cannot be the fact have nothing to tell next to others.
        found.sort(key=lambda each: each.near_misses[0].rank() if each.near_misses else (99, 0, 0))
        return Refutation(atom, tuple(found), self._note(atom))

    def _rule(self, rule: Rule, atom: GroundAtom, above: frozenset[GroundAtom]) -> RuleRefutation:
        """Return how near a rule comes to deriving a fact without those that are asked about already."""
        solver = self.prover.deriver.solver.again(SearchWork(_WORK_LIMIT))
        quoted = self.book.quote(rule)
        step = solver.fit_fact(rule.head, atom.fact, {})
        if step is None:
            return RuleRefutation(quoted, (), "its head cannot be this fact")
        binding, later = step
        # A computed term of the head must have the value that the fact has there.
        body = (*rule.body, *later)
        note = ""
        misses: list[NearMiss] = []
        try:
            misses.extend(self._near_misses(rule, body, binding, solver, above))
        except SearchEndedError:
            note = f"the search ended after {_WORK_LIMIT:,} steps"
        if not misses:
            judging = self.prover.deriver.solver.again(SearchWork())
            whole = self._near_miss(rule, body, binding, judging, range(len(body)))
            if whole.lacks(above):
                itself = whole.lacks(self._alike(atom))
                asked = "this fact itself" if itself else "a fact that is asked about above"
                return RuleRefutation(quoted, (), f"it needs {asked}")
            misses = [whole]
        if not misses[0].failing and not note:
            note = self._law(atom.relation)
        return RuleRefutation(quoted, tuple(sorted(misses, key=NearMiss.rank)[: self.limit]), note)

    def _near_misses(
        self, rule: Rule, body: Body, binding: Binding, solver: BodySolver, above: frozenset[GroundAtom]
    ) -> Iterator[NearMiss]:
        """Yield bindings that fail as few literals as possible and lack no fact that stands above.

        Sets of literals to leave out are tried in the order of their size, until one gives some.
        """
        judging = self.prover.deriver.solver.again(SearchWork())
        places = range(len(body))
        for size in range(len(body) + 1):
            is_found = False
            for left_out in combinations(places, size):
                kept = tuple(body[place] for place in places if place not in left_out)
                seen: set[tuple[tuple[str, Value], ...]] = set()
                for found in solver.bindings(kept, binding):
                    miss = self._near_miss(rule, body, found, judging, left_out)
                    if miss.bindings in seen or miss.lacks(above):
                        continue
                    seen.add(miss.bindings)
                    is_found = True
                    yield miss
                    if len(seen) >= self.limit:
                        break
            if is_found:
                return

    def _near_miss(
        self, rule: Rule, body: Body, binding: Binding, solver: BodySolver, left_out: Collection[int]
    ) -> NearMiss:
        """Return a rule's literals judged under a binding."""
        named = tuple((name, binding[name]) for name in written_variables(rule) if name in binding)
        return NearMiss(self.book.quote(rule), named, judge_body(body, binding, solver, left_out))

    def _note(self, atom: GroundAtom) -> str:
        relation = self.book.program.relations[atom.relation]
        if relation.is_equivalence:
            return "no chain of pairs joins the two values; below is what a pair of its own would take"
        return ""

    def _law(self, name: str) -> str:
        relation = self.book.program.relations[name]
        if relation.choices:
            return "the rule applies, but the choice-domain holds another fact"
        if relation.lattice_columns:
            return "the rule applies, but the fact was joined into a larger one"
        if relation.size_limit is not None:
            return "the rule applies, but the size limit was reached"
        return "the rule applies, but another fact subsumes this one"
