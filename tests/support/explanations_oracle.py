"""Explanations held against the reference engine: proofs, refutations, blame, repair.

Each `check_` function takes a session, the text of its program, its input facts as Python values and a
`random.Random`, asks the session about a few facts, and asserts what the answers promise. It returns how
many answers it checked. Functions and aggregates in Python are passed as `functions`.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, combinations
from random import Random
from typing import TypeVar

from support.programs import Relations, build, run_program
from tidelog.engine.protocol import Settings, UserFunctions
from tidelog.errors import TidelogError
from tidelog.explain.blame.answers import InputChange
from tidelog.explain.blame.steps import Role, StoryStep
from tidelog.explain.proofs.atom import GroundAtom
from tidelog.explain.proofs.derivation import Derivation
from tidelog.explain.proofs.proof import Proof
from tidelog.explain.proofs.refutation import NearMiss, Refutation
from tidelog.program.nodes import Counter, Program, Rule
from tidelog.program.walk_nodes import deep_atoms, keeps_state, walk
from tidelog.session import Session
from tidelog.values import Fact, Value
from tidelog.values.functors import canonical_value, order_key
from tidelog.views.fact_text import write_fact

T = TypeVar("T")
Inputs = Mapping[str, Iterable[Fact]]
# A change of an input fact: its relation, the fact, and whether it was inserted.
Change = tuple[str, Fact, bool]
# Exhaustive search looks at 2 ** n worlds.
MOST_CHANGES = 6
_MOST_VALUES = 4
# Far more iterations than a small program needs.
_SETTINGS = Settings(jobs=1, iteration_limit=500)


def canonical(fact: Fact) -> Fact:
    """Return the fact with the one NaN that equals itself."""
    return tuple(map(canonical_value, fact))


def evaluate(program: Program, inputs: Inputs, functions: UserFunctions | None = None) -> Relations | None:
    """Return all relations by the reference engine; None if the program refuses these inputs."""
    # A relation without columns is given as a whole, so one without facts must not be given.
    given = {name: listed for name, facts in inputs.items() if (listed := list(facts))}
    try:
        return run_program(program, inputs=given, functions=functions, settings=_SETTINGS)
    except TidelogError:
        return None


def _sample(items: Sequence[T], most: int, random: Random) -> list[T]:
    return random.sample(items, min(most, len(items)))


# --- proofs ------------------------------------------------------------------------------------------


def check_proofs(
    db: Session, text: str, inputs: Inputs, random: Random, most: int = 5,
    functions: UserFunctions | None = None,
) -> int:  # fmt: skip
    """Assert that proofs of random facts pass `check` and that their support suffices.

    That is: the program, evaluated by the reference engine on `support()` alone, derives the fact. It is
    checked for the whole language, because `support` itself keeps all input facts behind a relation that
    the proof negates or aggregates, or that has a law, wherever it could hold more with fewer of them.
    What a support has must be among the inputs. What a stateful functor gave is not asked again, so a
    proof through one says only that such a derivation may be.
    """
    program = build(text)
    held = [GroundAtom(name, canonical(fact)) for name in db.relations for fact in db[name]]
    chosen = _sample(held, most, random)
    for atom in chosen:
        proof = db.why(atom)

        assert proof.check(), (str(proof), proof.check().problems)
        support = proof.support()
        _assert_given(support, inputs, program)
        if not any(_keeps_state(node, program) for node in proof.nodes()):
            again = evaluate(program, support, functions)
            assert again is not None, (str(proof), support)
            assert atom.fact in again[atom.relation], (str(proof), support)
        assert proof.size >= len({node.atom for node in proof.nodes()})
    return len(chosen)


def _keeps_state(node: Proof, program: Program) -> bool:
    """Say whether a step of a proof applies a rule with a stateful functor."""
    if not isinstance(node.step, Derivation):
        return False
    rule = node.explorer.prover.book.find(node.step.rule.name)
    return any(keeps_state(part, program) and not isinstance(part, Counter) for part in walk((rule,)))


def _assert_given(support: Mapping[str, set[Fact]], inputs: Inputs, program: Program) -> None:
    """Assert that facts are inputs, or stand in a text that has facts of their relation."""
    stated = {rule.head.relation for stratum in program.strata for rule in stratum.rules if not rule.body}
    for name, facts in support.items():
        known = set(map(canonical, inputs.get(name, ())))
        assert name in stated or set(map(canonical, facts)) <= known, (name, facts)


# --- refutations -------------------------------------------------------------------------------------


def check_why_not(
    db: Session, text: str, inputs: Inputs, random: Random, most: int = 3,
    functions: UserFunctions | None = None,
) -> int:  # fmt: skip
    """Assert that refutations of random facts are never circular, and that what they miss suffices.

    A near miss all of whose failing literals are missing facts is tried: the reference engine evaluates
    the program with these facts as further inputs and must derive the fact that was asked for.

    Left out are near misses whose missing facts can take something else away: where the rule negates or
    aggregates a relation that depends on them, where it reads a relation that may lose facts with them,
    and where the asked or a missing fact belongs to a relation with a law (a choice, a key, a lattice, a
    size limit, ...) or to an inlined one. Facts are asked about down to depth 3, and no depth may have a
    circle.
    """
    program = build(text)
    flow = Flow.of(program)
    checked = 0
    for atom in _sample(_absent(db, random), most, random):
        refutation = db.why_not(atom, depth=random.randint(1, 3))

        assert_not_circular(refutation)
        checked += 1
        for asked, miss, missing in _trials(db, refutation, flow):
            facts = {name: set(given) for name, given in inputs.items()}
            for each in missing:
                facts.setdefault(each.relation, set()).add(each.fact)
            found = evaluate(program, facts, functions)
            assert found is None or asked.fact in found[asked.relation], (str(refutation), miss)
            checked += found is not None
    return checked


def _trials(
    db: Session, refutation: Refutation, flow: "Flow"
) -> Iterator[tuple[GroundAtom, NearMiss, list[GroundAtom]]]:
    """Yield the near misses that lack only facts, at every depth, and can be tried."""
    book = db.proofs.book
    for miss in refutation.near_misses:
        missing = _only_missing(miss)
        if missing and all(book.is_stored(each.relation) for each in (refutation.atom, *missing)):
            relations = {each.relation for each in missing}
            if flow.is_sure(refutation.atom.relation, book.find(miss.rule.name), relations):
                yield refutation.atom, miss, missing
    for deeper in refutation.deeper.values():
        yield from _trials(db, deeper, flow)


def assert_not_circular(refutation: Refutation, above: frozenset[GroundAtom] = frozenset()) -> None:
    """Assert that nothing is missing because of itself, however deep the refutation was expanded."""
    above |= {refutation.atom}
    for miss in refutation.near_misses:
        for literal in miss.literals:
            assert literal.missing not in above, str(refutation)
    for atom, deeper in refutation.deeper.items():
        assert deeper.atom == atom
        assert_not_circular(deeper, above)


def _only_missing(miss: NearMiss) -> list[GroundAtom]:
    """Return the facts that a near miss lacks; none if something else fails too."""
    failing = [each.missing for each in miss.failing]
    return [each for each in failing if each is not None] if None not in failing else []


def _absent(db: Session, random: Random) -> list[GroundAtom]:
    """Return facts that do not hold, made of values that occur in columns of the same type."""
    values: dict[str, dict[Value, None]] = {}
    for name in db.relations:
        for fact in db[name]:
            for value, column in zip(canonical(fact), db.program.relations[name].columns, strict=True):
                values.setdefault(column.type, {})[value] = None
    found: list[GroundAtom] = []
    for name, relation in db.program.relations.items():
        held = set(map(canonical, db[name]))
        pools = [list(values.get(column.type, ())) for column in relation.columns]
        if all(pools):
            drawn = (tuple(random.choice(pool) for pool in pools) for _ in range(_MOST_VALUES))
            found += [GroundAtom(name, fact) for fact in dict.fromkeys(drawn) if fact not in held]
    return found


@dataclass(frozen=True)
class Flow:
    """What may gain and what may lose facts when some relations gain some."""

    # Of every rule: its head, the relations it reads as they grow, and those it negates or aggregates.
    rules: tuple[tuple[str, frozenset[str], frozenset[str]], ...]
    laws: frozenset[str]

    @classmethod
    def of(cls, program: Program) -> "Flow":
        """Return the flow of a program."""
        laws: set[str] = set()
        for stratum in program.strata:
            known = [program.relations[name] for name in stratum.relations]
            if any(each.size_limit is not None for each in known):
                laws.update(stratum.relations)
            laws.update(each.less.relation for each in stratum.subsumptions)
            for each in known:
                if each.is_equivalence or each.choices or each.keys or _has_lattice(program, each.name):
                    laws.add(each.name)
        rules = (rule for stratum in program.strata for rule in stratum.rules)
        return cls(tuple((rule.head.relation, *_read(rule)) for rule in rules), frozenset(laws))

    def is_sure(self, asked: str, rule: Rule, gaining: set[str]) -> bool:
        """Say whether a rule that lacks only facts of some relations derives its head with them."""
        moved, losing = set(gaining), gaining & self.laws
        while True:
            before = len(moved), len(losing)
            for head, grown, held in self.rules:
                if moved & (grown | held):
                    moved.add(head)
                if moved & held or losing & (grown | held) or (head in moved and head in self.laws):
                    losing.add(head)
            if before == (len(moved), len(losing)):
                break
        grown, held = _read(rule)
        return not ((gaining | {asked}) & self.laws or moved & held or losing & grown)


def _has_lattice(program: Program, name: str) -> bool:
    return any(column.is_lattice for column in program.relations[name].columns)


def _read(rule: Rule) -> tuple[frozenset[str], frozenset[str]]:
    """Return the relations that a rule reads as they grow, and those it negates or aggregates."""
    _, *atoms = deep_atoms((rule.head, *rule.body))
    grown = frozenset(atom.relation for atom, is_read in atoms if is_read)
    return grown, frozenset(atom.relation for atom, is_read in atoms if not is_read)


# --- blame and repair ----------------------------------------------------------------------------------


@dataclass
class Worlds:
    """All worlds between two epochs, each evaluated from nothing by the reference engine when asked for."""

    program: Program
    before: Inputs
    changes: tuple[Change, ...]
    functions: UserFunctions | None = None
    known: dict[frozenset[Change], Relations | None] = field(default_factory=dict)

    def world(self, applied: Iterable[Change]) -> Relations | None:
        """Return the older epoch with some of the changes; None if the program refuses it."""
        chosen = frozenset(applied)
        if chosen not in self.known:
            inputs = {name: set(map(canonical, facts)) for name, facts in self.before.items()}
            for name, fact, is_insert in chosen:
                own = inputs.setdefault(name, set())
                own.add(fact) if is_insert else own.discard(fact)
            self.known[chosen] = evaluate(self.program, inputs, self.functions)
        return self.known[chosen]

    def without(self, taken: Iterable[Change]) -> Relations | None:
        """Return the newer epoch with some of the changes taken back."""
        return self.world(set(self.changes) - set(taken))


@dataclass(frozen=True)
class Faults:
    """Facts that appeared and are unwanted, and facts that vanished and are missing."""

    unwanted: tuple[tuple[str, Fact], ...]
    missing: tuple[tuple[str, Fact], ...]

    @property
    def unwanted_texts(self) -> list[str]:
        """Return the unwanted facts as texts."""
        return [write_fact(*each) for each in self.unwanted]

    @property
    def missing_texts(self) -> list[str]:
        """Return the missing facts as texts."""
        return [write_fact(*each) for each in self.missing]

    def are_in(self, world: Relations | None) -> bool:
        """Say whether a world has all of them."""
        return world is not None and self._count(world) == len(self.unwanted) + len(self.missing)

    def are_out_of(self, world: Relations | None) -> bool:
        """Say whether a world has none of them."""
        return world is not None and not self._count(world)

    def _count(self, world: Relations) -> int:
        there = sum(fact in world[name] for name, fact in self.unwanted)
        return there + sum(fact not in world[name] for name, fact in self.missing)


def check_blame(
    db: Session, text: str, before_inputs: Inputs, inputs: Inputs, random: Random, most: int = 2,
    functions: UserFunctions | None = None,
) -> int:  # fmt: skip
    """Assert that blame and repair of random faults of the last epoch agree with exhaustive search.

    The changes that are blamed, alone on top of the older inputs, cause all the faults, and lose
    that with any one of them. A repair leaves no fault, and no smaller set of changes does. The proofs of
    a blame say of every fact just what became of it. Every set of changes is evaluated from nothing, so
    an epoch with more than `MOST_CHANGES` changes is not looked at.
    """
    changes = differences(before_inputs, inputs)
    delta = db.history[-1] if db.history else None
    if delta is None or not 0 < len(changes) <= MOST_CHANGES:
        return 0
    worlds = Worlds(build(text), before_inputs, changes, functions)
    sides = [
        [(name, canonical(fact)) for name in delta for fact in facts(delta[name]) if _is_written(fact)]
        for facts in (lambda each: each.inserted, lambda each: each.deleted)
    ]
    checked = 0
    for _ in range(most):
        unwanted, missing = (tuple(_sample(side, random.randint(0, 2), random)) for side in sides)
        if unwanted or missing:
            check_faults(db, Faults(unwanted, missing), worlds)
            checked += 2
    return checked


def differences(before: Inputs, after: Inputs) -> tuple[Change, ...]:
    """Return the changes that lead from one set of inputs to another."""
    found: list[Change] = []
    for name in dict.fromkeys([*before, *after]):
        old, new = (set(map(canonical, inputs.get(name, ()))) for inputs in (before, after))
        found += [(name, fact, True) for fact in sorted(new - old, key=_order)]
        found += [(name, fact, False) for fact in sorted(old - new, key=_order)]
    return tuple(found)


def check_faults(db: Session, faults: Faults, worlds: Worlds) -> None:
    """Assert that blame and repair of some faults of the last epoch agree with exhaustive search."""
    check_blamed(db, faults, worlds)
    check_repaired(db, faults, worlds)


def check_blamed(db: Session, faults: Faults, worlds: Worlds, method: str = "reasons") -> None:
    """Assert that what is blamed reproduces the faults, that nothing can be left out, and the proofs."""
    blame = db.blame(faults.unwanted_texts, faults.missing_texts, method=method)  # type: ignore[arg-type]

    blamed = as_changes(blame)
    after = worlds.world(blamed)
    assert faults.are_in(after), str(blame)
    for change in blamed:
        assert not faults.are_in(worlds.world(set(blamed) - {change})), str(blame)
    before = worlds.world(())
    assert after is not None
    assert before is not None
    told = _Told(_texts(before), _texts(after), {str(change) for change in blame})
    assert [step.fact for step in blame.proofs] == [*faults.unwanted_texts, *faults.missing_texts]
    for step in blame.proofs:
        told.check(step)


def check_repaired(db: Session, faults: Faults, worlds: Worlds) -> None:
    """Assert that a repair leaves no fault, and that no smaller one does."""
    repair = db.repair(faults.unwanted_texts, faults.missing_texts)

    taken = as_changes(repair.taken_back)
    assert repair.is_optimal, str(repair)
    assert faults.are_out_of(worlds.without(taken)), str(repair)
    assert len(taken) == len(smallest_repair(faults, worlds)), str(repair)


def smallest_repair(faults: Faults, worlds: Worlds) -> tuple[Change, ...]:
    """Return a smallest set of changes whose taking back leaves no fault."""
    return next(taken for taken in subsets(worlds.changes) if faults.are_out_of(worlds.without(taken)))


def as_changes(changes: Iterable[InputChange]) -> tuple[Change, ...]:
    """Return the changes of an answer as worlds have them; a rule is a fact of no relation, its text."""
    return tuple(
        (change.relation, canonical(change.fact if change.rule is None else (change.rule,)), change.is_insert)
        for change in changes
    )


def subsets(items: Sequence[T]) -> Iterator[tuple[T, ...]]:
    """Yield all subsets, small ones first."""
    return chain.from_iterable(combinations(items, size) for size in range(len(items) + 1))


@dataclass(frozen=True)
class _Told:
    """The facts of two worlds and the changes between them as texts, to hold a story against."""

    before: frozenset[str]
    after: frozenset[str]
    blamed: set[str]

    def check(self, step: StoryStep) -> None:
        """Assert that each step says of its fact what became of it, and rests on something."""
        # Atoms with wildcards stand for no one fact.
        if "_" not in step.fact:
            was_there, is_there = step.fact in self.before, step.fact in self.after
            match step.role:
                case Role.INSERTED | Role.DELETED:
                    sign = "+" if step.role is Role.INSERTED else "-"
                    assert f"{sign}{step.fact.removeprefix('rule ')}" in self.blamed, step
                case Role.APPEARED | Role.VANISHED:
                    assert (was_there, is_there) == (step.role is Role.VANISHED, step.role is Role.APPEARED)
                case Role.UNTOUCHED:
                    text = step.fact.removeprefix("!")
                    is_kept = not step.fact.startswith("!")
                    assert (text in self.before) == (text in self.after) == is_kept, step
        if step.role in {Role.APPEARED, Role.VANISHED} and not step.is_shown_above:
            assert step.premises, step
        for premise in step.premises:
            self.check(premise)


def _texts(world: Relations) -> frozenset[str]:
    return frozenset(write_fact(name, fact) for name, facts in world.items() for fact in facts)


def _is_written(fact: Fact) -> bool:
    """Say whether a fact can be written in a program: NaN and the infinities have no literal."""
    return all(not isinstance(value, float) or math.isfinite(value) for value in fact)


def _order(fact: Fact) -> object:
    return tuple(map(order_key, fact))
