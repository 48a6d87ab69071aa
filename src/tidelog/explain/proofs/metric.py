"""Proofs that are smallest by a measure of one's choice."""

import heapq
from collections.abc import Callable, Mapping, Sequence
from itertools import count
from typing import TYPE_CHECKING, Any, Final

from tidelog.dataclass import dataclass
from tidelog.errors import Diagnostic, TidelogError
from tidelog.errors.arguments import Arguments, to_float
from tidelog.explain.proofs.atom import GroundAtom
from tidelog.explain.proofs.cone import FACT_LIMIT, Cone, Place, explore_cone
from tidelog.explain.proofs.derivation import Derivation
from tidelog.explain.proofs.prover import Prover
from tidelog.explain.proofs.rules import RuleBook
from tidelog.explain.proofs.steps import Input, Step
from tidelog.program.suggest import did_you_mean

if TYPE_CHECKING:
    from tidelog.explain.proofs.proof import Proof


@dataclass(frozen=True)
class Metric:
    """How large a proof is: `leaf` for an input fact, `combine` for a step over its premises.

    `combine` takes the step and the sizes of its premises; a fact that occurs twice in the body counts
    twice. It must be monotone (larger premises never make a proof smaller), and its result must be no
    smaller than any premise; sizes are compared by `<`.

        depth_of_joins = Metric("joins", lambda atom: 0, lambda step, sizes: sum(sizes) + len(sizes) - 1)
    """

    name: str
    leaf: Callable[[GroundAtom], Any]
    combine: Callable[[Step, Sequence[Any]], Any]

    @classmethod
    def weighted(cls, weights: Mapping[str, float], *, default: float = 1) -> "Metric":
        """Return the sum of the weights of all rules that a proof applies, by name or by relation.

        Metric.weighted({"vpt#2": 5, "alias": 0})
        """
        with Arguments() as arguments:
            wanted = "a mapping from rules or relations to numbers of at least 0"
            arguments.mapping("weights", weights, wanted, of=_is_weight)
            arguments.number("default", default)

        def combine(step: Step, sizes: Sequence[Any]) -> Any:
            name = step.rule.name if isinstance(step, Derivation) else ""
            relation = name.rpartition("#")[0]
            return weights.get(name, weights.get(relation, default)) + sum(sizes)

        return cls("weighted", lambda _atom: 0, combine)

    @classmethod
    def lexicographic(cls, *metrics: "Metric | str") -> "Metric":
        """Return the metric that compares by the first of several, then by the second, and so on.

        What is smallest by the first alone is smallest by this one; the others choose among the
        smallest proofs of each premise.

            Metric.lexicographic("height", "nodes")
        """
        chosen = [named_metric(each) if isinstance(each, str) else each for each in metrics]

        def combine(step: Step, sizes: Sequence[Any]) -> Any:
            parts = enumerate(chosen)
            return tuple(each.combine(step, [size[place] for size in sizes]) for place, each in parts)

        return cls("lexicographic", lambda atom: tuple(each.leaf(atom) for each in chosen), combine)


HEIGHT: Final = Metric("height", lambda _atom: 0, lambda _step, sizes: 1 + max(sizes, default=0))
# Input facts at the leaves, each as often as it stands there.
LEAVES: Final = Metric("leaves", lambda _atom: 1, lambda _step, sizes: sum(sizes))
NODES: Final = Metric("nodes", lambda _atom: 1, lambda _step, sizes: 1 + sum(sizes))


def _height_in(book: RuleBook) -> Metric:
    """Return the height of proofs, to which facts of inlined relations add nothing of their own."""

    def combine(step: Step, sizes: Sequence[Any]) -> Any:
        is_inlined = isinstance(step, Derivation) and not book.is_stored(step.head.relation)
        return max(sizes, default=0) + (not is_inlined)

    return Metric(HEIGHT.name, HEIGHT.leaf, combine)


def named_metric(name: str) -> Metric:
    """Return `height`, `nodes` or `leaves`."""
    known = {metric.name: metric for metric in (HEIGHT, NODES, LEAVES)}
    if name in known:
        return known[name]
    hint = did_you_mean(name, list(known), "choose height, nodes or leaves, or give a `Metric`")
    raise TidelogError([Diagnostic("unknown-metric", f"there is no metric `{name}`", None, hint)])


def smallest_steps(
    prover: Prover,
    atom: GroundAtom,
    metric: Metric,
    *,
    fact_limit: int = FACT_LIMIT,
    known: Callable[[GroundAtom], Any] = lambda _atom: None,
) -> dict[Place, tuple[Any, Step]]:
    """Return the size of the smallest proof of every fact below one, and the step it begins with.

    All derivations of all facts below are looked at, and facts are settled in the order of their
    sizes, as in the search for shortest paths. `known` gives sizes that are known, or None; such facts
    are not looked into, and stand in the result with a step that means nothing.
    """
    if metric.name == HEIGHT.name:
        metric = _height_in(prover.book)
    cone = explore_cone(prover, atom, limit=fact_limit, is_end=lambda each: known(each) is not None)
    search = _Search(cone, metric)
    for place, steps in cone.steps.items():
        if not steps:
            search.offer(known(place[0]), place, Input())
        for number, (step, premises) in enumerate(steps):
            search.add(place, number, step, premises)
    settled = search.run()
    if cone.root not in settled:
        raise TidelogError([no_smallest_proof(atom)])
    return settled


def no_smallest_proof(atom: GroundAtom) -> Diagnostic:
    """Return what to tell where an aggregate reads its own stratum, so that facts wait for each other."""
    return Diagnostic(
        code="no-smallest-proof",
        message=f"no smallest proof of {atom} was found",
        hint="an aggregate reads its own stratum; ask for a proof without a metric",
    )


def _is_weight(value: object) -> bool:
    number = to_float(value)
    return number is not None and number >= 0


def measure_proof(proof: "Proof", metric: Metric) -> Any:
    """Return how large a proof is."""
    sizes: dict[int, Any] = {}
    for node in proof.in_order():
        if isinstance(node.step, Input):
            sizes[id(node)] = metric.leaf(node.atom)
        else:
            sizes[id(node)] = metric.combine(node.step, [sizes[id(premise)] for premise in node.premises])
    return sizes[id(proof)]


class _Search:
    """Settles facts in the order of their sizes; a step offers one when its premises are settled."""

    def __init__(self, cone: Cone, metric: Metric) -> None:
        self.cone = cone
        self.metric = metric
        self.uses: dict[Place, list[tuple[Place, int]]] = {}
        self.waiting: dict[tuple[Place, int], set[Place]] = {}
        self.offers: list[tuple[Any, int, Place, Step]] = []
        self.settled: dict[Place, tuple[Any, Step]] = {}
        # Equal sizes are settled in the order of their offers: places cannot be compared.
        self.numbers = count()

    def offer(self, size: Any, place: Place, step: Step) -> None:
        """Offer a size to a fact."""
        heapq.heappush(self.offers, (size, next(self.numbers), place, step))

    def add(self, place: Place, number: int, step: Step, premises: tuple[Place, ...]) -> None:
        """Enter a step of a fact."""
        if isinstance(step, Input):
            self.offer(self.metric.leaf(place[0]), place, step)
        elif not premises:
            self.offer(self.metric.combine(step, ()), place, step)
        else:
            self.waiting[place, number] = set(premises)
            for premise in set(premises):
                self.uses.setdefault(premise, []).append((place, number))

    def run(self) -> dict[Place, tuple[Any, Step]]:
        """Return all facts with their sizes and steps."""
        while self.offers:
            size, _, place, step = heapq.heappop(self.offers)
            if place not in self.settled:
                self.settled[place] = (size, step)
                for head, number in self.uses.get(place, ()):
                    self._use(place, head, number)
        return self.settled

    def _use(self, place: Place, head: Place, number: int) -> None:
        missing = self.waiting[head, number]
        missing.discard(place)
        if not missing and head not in self.settled:
            step, premises = self.cone.steps[head][number]
            sizes = [self.settled[premise][0] for premise in premises]
            self.offer(self.metric.combine(step, sizes), head, step)
