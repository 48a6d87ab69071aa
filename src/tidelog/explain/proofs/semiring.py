"""An annotation of a fact, computed over all its proofs."""

from collections.abc import Callable
from dataclasses import replace
from functools import reduce
from typing import Final, Generic, TypeVar

from tidelog.dataclass import dataclass
from tidelog.errors import Diagnostic, TidelogError
from tidelog.explain.proofs.atom import GroundAtom
from tidelog.explain.proofs.cone import FACT_LIMIT, Cone, Cycles, Place, explore_cone
from tidelog.explain.proofs.prover import Prover
from tidelog.explain.proofs.steps import Input
from tidelog.program.strongly_connected import strongly_connected
from tidelog.program.suggest import did_you_mean

T = TypeVar("T")


@dataclass(frozen=True)
class Semiring(Generic[T]):
    """How annotations combine: `plus` over the derivations of a fact, `times` over premises.

    `leaf` is the annotation of an input fact, `one` by default; negated atoms and constraints count
    as `one`. `is_idempotent` says that `plus(x, x) == x`.

        probability = Semiring(0.0, 1.0, max, lambda a, b: a * b, is_idempotent=True)
        db.annotate("path(1, 3)", probability, leaf=lambda atom: 0.9)
    """

    zero: T
    one: T
    plus: Callable[[T, T], T]
    times: Callable[[T, T], T]
    leaf: Callable[[GroundAtom], T] | None = None
    is_idempotent: bool = False


COUNT: Final[Semiring[int]] = Semiring(0, 1, lambda a, b: a + b, lambda a, b: a * b)
BOOLEAN: Final[Semiring[bool]] = Semiring(
    False, True, lambda a, b: a or b, lambda a, b: a and b, is_idempotent=True
)
TROPICAL: Final[Semiring[float]] = Semiring(
    float("inf"), 0.0, min, lambda a, b: a + b, lambda _atom: 1.0, is_idempotent=True
)


def named_semiring(name: str) -> "Semiring[int] | Semiring[bool] | Semiring[float]":
    """Return `count`, `boolean` or `tropical`."""
    match name:
        case "count":
            return COUNT
        case "boolean":
            return BOOLEAN
        case "tropical":
            return TROPICAL
    known = ["count", "boolean", "tropical"]
    hint = did_you_mean(name, known, f"choose one of {', '.join(known)}, or give a `Semiring`")
    raise TidelogError([Diagnostic("unknown-semiring", f"there is no semiring `{name}`", None, hint)])


def annotate(  # noqa: PLR0913 - each is a choice of its own, most have a default
    prover: Prover,
    atom: GroundAtom,
    semiring: Semiring[T],
    *,
    leaf: Callable[[GroundAtom], T] | None = None,
    cycles: Cycles = "refuse",
    fact_limit: int = FACT_LIMIT,
) -> T:
    """Return the sum over all proofs of a fact of the products of their leaves.

    Where facts rest on themselves there are endlessly many proofs. With an idempotent `plus` the
    value is then the least fixpoint, found by iteration. Otherwise such a fact is refused, unless
    `cycles="levels"` counts only derivations whose premises came earlier than their head; these never
    go round in circles, and every fact has one.
    """
    cone = explore_cone(prover, atom, by_levels=cycles == "levels", limit=fact_limit)
    chosen = semiring if leaf is None else replace(semiring, leaf=leaf)
    try:
        return _Annotation(cone, chosen).root()
    except TidelogError:
        raise
    except Exception as cause:
        raise TidelogError([_failed(cause)]) from cause


class _Annotation(Generic[T]):
    def __init__(self, cone: Cone, semiring: Semiring[T]) -> None:
        self.cone = cone
        self.semiring = semiring
        self.values: dict[Place, T] = {}

    def root(self) -> T:
        """Return the annotation of the root."""
        graph = {
            place: tuple(below for _, premises in steps for below in premises)
            for place, steps in self.cone.steps.items()
        }
        for places in strongly_connected(graph):
            if len(places) == 1 and places[0] not in graph[places[0]]:
                self.values[places[0]] = self._value(places[0])
            else:
                self._iterate(places)
        return self.values[self.cone.root]

    def _value(self, place: Place) -> T:
        ring = self.semiring
        total = ring.zero
        for step, premises in self.cone.steps[place]:
            if isinstance(step, Input):
                product = ring.one if ring.leaf is None else ring.leaf(place[0])
            else:
                product = reduce(ring.times, (self.values[below] for below in premises), ring.one)
            total = ring.plus(total, product)
        return total

    def _iterate(self, places: list[Place]) -> None:
        """Find the least fixpoint of facts that rest on each other."""
        if not self.semiring.is_idempotent:
            raise TidelogError([_cyclic(places[0][0])])
        for place in places:
            self.values[place] = self.semiring.zero
        # A best proof repeats no fact, so it is as deep as there are facts at most.
        for _ in range(len(places) + 1):
            is_changed = False
            for place in places:
                value = self._value(place)
                is_changed |= value != self.values[place]
                self.values[place] = value
            if not is_changed:
                return
        raise TidelogError([_diverging(places[0][0])])


def _failed(cause: Exception) -> Diagnostic:
    return Diagnostic(
        code="semiring-failed",
        message=f"a function of the semiring failed: {type(cause).__name__}: {cause}",
        hint="`leaf` takes an input fact, `plus` and `times` take two annotations",
    )


def _cyclic(atom: GroundAtom) -> Diagnostic:
    return Diagnostic(
        code="cyclic-proofs",
        message=f"{atom} rests on itself: it has infinitely many proofs",
        hint='give `cycles="levels"` to take only derivations whose premises came earlier',
    )


def _diverging(atom: GroundAtom) -> Diagnostic:
    return Diagnostic(
        code="semiring-diverges",
        message=f"the annotation of {atom}, which rests on itself, grows without end",
        hint="going round a cycle must not improve an annotation",
    )
