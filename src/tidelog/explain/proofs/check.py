"""A proof checked by substitution: bindings put into the rules as they were written."""

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from tidelog.dataclass import dataclass
from tidelog.engine.reference.terms import same
from tidelog.engine.reference.variables import awaited, mentioned
from tidelog.errors import TidelogError
from tidelog.explain.proofs.atom import GroundAtom
from tidelog.explain.proofs.derivation import Derivation, Premise
from tidelog.explain.proofs.lattice import join_all
from tidelog.explain.proofs.lattice_moves import kind_of, moved
from tidelog.explain.proofs.order import is_stateful, waits_for_state
from tidelog.explain.proofs.prover import Prover
from tidelog.explain.proofs.source import Level
from tidelog.explain.proofs.steps import Equivalence, Input, LatticeJoin, LatticeMove, premises_of
from tidelog.explain.proofs.wording import word_literal
from tidelog.program.nodes import (
    Atom,
    BranchTerm,
    Constraint,
    Generator,
    Literal,
    NegatedAtom,
    RecordTerm,
    Rule,
    Variable,
)
from tidelog.program.suggest import counted
from tidelog.values import NoValueError, Value
from tidelog.values.functors import compare, range_values

if TYPE_CHECKING:
    from tidelog.explain.proofs.proof import Proof


@dataclass(frozen=True, slots=True)
class CheckedProof:
    """The result of checking a proof: true if nothing is wrong; `problems` says what is."""

    problems: tuple[str, ...]

    def __bool__(self) -> bool:
        return not self.problems


def check_proof(proof: "Proof") -> CheckedProof:
    """Return whether every step of a proof is right; see `Proof.check`."""
    checker = _Checker(proof.explorer.prover)
    nodes: Iterable[Proof] = (proof,)
    missing: list[str] = []
    try:
        nodes = tuple(proof.in_order())
    except TidelogError as error:
        if any(each.code != "no-proof" for each in error.diagnostics):
            raise
        missing = [each.message for each in error.diagnostics]
    found = [f"{node.atom}: {problem}" for node in nodes for problem in checker.node(node)]
    return CheckedProof((*found, *missing))


class _Checker:
    def __init__(self, prover: Prover) -> None:
        self.prover = prover
        self.book = prover.book
        self.solver = prover.deriver.solver
        self.terms = self.solver.terms

    def node(self, node: "Proof") -> Iterator[str]:
        """Yield what is wrong with one step."""
        if not self.held(node):
            yield "its key has another value"
        elif tuple(premise.atom for premise in node.premises) != premises_of(node.step):
            yield "the premises are not those of the step"
        if self.has_whiles(node) and node.level is not None:
            yield from self.came_about(node, node.level)
        match node.step:
            case Input():
                if not self.prover.source.is_input(node.relation, node.fact):
                    yield "it is not an input fact"
            case Derivation():
                yield from self.derivation(node.step, node)
            case Equivalence():
                yield from self.equivalence(node.step, node)
            case LatticeJoin():
                yield from self.join(node.step, node)
            case LatticeMove():
                yield from self.move(node.step, node)

    def derivation(self, derivation: Derivation, node: "Proof") -> Iterator[str]:
        """Yield what is wrong with a rule application."""
        if derivation.head != node.atom:
            yield f"the step derives {derivation.head}"
        rule = self.book.find(derivation.rule.name)
        binding = dict(derivation.bindings)
        # Aggregates are over the facts before the level, wherever in the rule they are.
        with self.solver.before(node.limit):
            yield from self._application(rule, derivation, binding)
        again = self.prover.deriver.derivation(rule, derivation.head, binding, node.limit)
        for found, claimed in zip(again.aggregations, derivation.aggregations, strict=True):
            if (found.value, found.group) != (claimed.value, claimed.group):
                yield f"{claimed} is {found.value} over {counted(len(found.group), 'fact')}"

    def _application(self, rule: Rule, derivation: Derivation, binding: dict[str, Value]) -> Iterator[str]:
        """Yield what the binding does not make of the rule; it is completed on the way."""
        later: list[Literal] = []
        for literal, part in zip(rule.body, derivation.parts, strict=True):
            if not isinstance(literal, Atom):
                later.append(literal)
                continue
            assert isinstance(part, Premise)
            fits = literal.relation == part.atom.relation and self._fits(
                literal, part.atom.fact, binding, later
            )
            if not fits:
                yield f"{part} is not {word_literal(literal, binding)}"
        if not self._fits(rule.head, derivation.head.fact, binding, later):
            yield f"the head is {word_literal(rule.head, binding)}"
        yield from self._rest(later, binding)

    def _fits(
        self, atom: Atom, fact: tuple[Value, ...], binding: dict[str, Value], later: list[Literal]
    ) -> bool:
        try:
            return all(
                self.terms.fit(term, value, binding, later)
                for term, value in zip(atom.terms, fact, strict=True)
            )
        except NoValueError:
            return False

    def _rest(self, waiting: list[Literal], binding: dict[str, Value]) -> Iterator[str]:
        """Yield the constraints and negated atoms that do not hold, or whose variables have no value."""
        while waiting:
            ready = next((each for each in waiting if self._is_ready(each, binding)), None)
            if ready is None:
                if not waits_for_state(waiting, self.book.program):
                    yield f"{word_literal(waiting[0], binding)} has variables without a value"
                return
            waiting.remove(ready)
            try:
                if not self._holds(ready, binding, waiting):
                    yield f"{word_literal(ready, binding)} does not hold"
            except NoValueError:
                yield f"{word_literal(ready, binding)} has no value"

    def _is_ready(self, literal: Literal, binding: dict[str, Value]) -> bool:
        match literal:
            case NegatedAtom():
                return mentioned(literal) - {"_"} <= binding.keys()
            case Generator():
                return mentioned(literal) <= binding.keys() | mentioned_in(literal)
            case Constraint(op="=") if not is_stateful(literal, self.book.program):
                sides = (literal.left, literal.right)
                known = [awaited(side) <= binding.keys() for side in sides]
                takes_apart = [isinstance(side, Variable | RecordTerm | BranchTerm) for side in sides]
                return any(known) and (all(known) or takes_apart[known.index(False)])
            case _:
                return mentioned(literal) <= binding.keys()

    def _holds(self, literal: Literal, binding: dict[str, Value], later: list[Literal]) -> bool:
        match literal:
            case NegatedAtom():
                return is_stateful(literal, self.book.program) or not self.solver.holds(literal.atom, binding)
            case Generator():
                start, stop = (self.terms.value(term, binding) for term in (literal.start, literal.stop))
                step = None if literal.step is None else self.terms.value(literal.step, binding)
                values = range_values(literal.kind, start, stop, step)
                return any(self.terms.fit(literal.target, value, binding, later) for value in values)
            case Constraint():
                return self._compare(literal, binding, later)
            case _:
                return False

    def _compare(self, literal: Constraint, binding: dict[str, Value], later: list[Literal]) -> bool:
        if is_stateful(literal, self.book.program):
            return True
        if mentioned(literal) <= binding.keys():
            left, right = (self.terms.value(side, binding) for side in (literal.left, literal.right))
            return compare(literal.op, literal.kind, left, right)
        known, free = (literal.left, literal.right)
        if not awaited(known) <= binding.keys():
            known, free = free, known
        return self.terms.fit(free, self.terms.value(known, binding), binding, later)

    def equivalence(self, step: Equivalence, node: "Proof") -> Iterator[str]:
        """Yield what is wrong with a chain of pairs."""
        if not self.book.program.relations[node.relation].is_equivalence:
            yield f"{node.relation} is not an equivalence"
        start, goal = node.fact
        if same(start, goal):
            if not any(start in pair.fact for pair in step.pairs):
                yield "no pair holds the value"
            return
        at = start
        for pair, is_turned in zip(step.pairs, step.turned, strict=True):
            left, right = reversed(pair.fact) if is_turned else pair.fact
            if pair.relation != node.relation or not same(left, at):
                yield f"{pair} does not go on from the pair before"
            at = right
        if not same(at, goal):
            yield "the chain ends elsewhere"

    def join(self, step: LatticeJoin, node: "Proof") -> Iterator[str]:
        """Yield what is wrong with a least upper bound."""
        yield from self.of_one_key((node.atom, *step.parts))
        total = join_all(self.prover.deriver, node.relation, [part.fact for part in step.parts])
        if total != node.fact:
            yield f"the least upper bound is {GroundAtom(node.relation, total)}"

    def move(self, step: LatticeMove, node: "Proof") -> Iterator[str]:
        """Yield what is wrong with a value that was made of the one before."""
        yield from self.of_one_key((node.atom, step.before, *step.parts))
        facts = [part.fact for part in step.parts]
        is_narrowed = step.kind == "narrowing"
        deriver = self.prover.deriver
        found, applied = moved(deriver, node.relation, step.before.fact, facts, is_narrowed=is_narrowed)
        if applied != step.applied or kind_of(applied, is_narrowed=is_narrowed) != step.kind:
            yield f"what was applied is {', '.join(map(str, applied)) or 'the join alone'}"
        if found != node.fact:
            yield f"the {step.kind} gives {GroundAtom(node.relation, found)}"

    def of_one_key(self, atoms: Sequence[GroundAtom]) -> Iterator[str]:
        """Yield the atoms that differ from the first one in columns that are no lattice."""
        columns = self.book.program.relations[atoms[0].relation].columns
        for atom in atoms[1:]:
            pairs = zip(atoms[0].fact, atom.fact, columns, strict=True)
            if atom.relation != atoms[0].relation or any(
                not column.is_lattice and not same(left, right) for left, right, column in pairs
            ):
                yield f"{atom} has another key"

    def has_whiles(self, node: "Proof") -> bool:
        """Say whether a fact may hold for several whiles, because values are widened or narrowed."""
        return self.book.has_moving_bounds(node.relation) and not node.is_asserted

    def held(self, node: "Proof") -> bool:
        """Say whether a fact held when it is said to."""
        return not self.has_whiles(node) or node.level is not None

    def came_about(self, node: "Proof", level: Level) -> Iterator[str]:
        """Yield what is wrong with how a value came about, where values are widened or narrowed."""
        before, is_narrowed = self.prover.before(node.atom, level)
        step = node.step
        if not isinstance(step, LatticeMove):
            if before is not None:
                yield f"it was made of {GroundAtom(node.relation, before)}"
        elif step.before.fact != before or (step.kind == "narrowing") != is_narrowed:
            known = "no value" if before is None else GroundAtom(node.relation, before)
            yield f"the value before was {known}"


def mentioned_in(literal: Generator) -> frozenset[str]:
    """Return the variables of a generator's target, which it binds."""
    return awaited(literal.target)
