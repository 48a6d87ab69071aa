"""What `.proofs` asks for beside steps: only those of smallest proofs, by metrics, and how many."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from typing import Final

from tidelog.dataclass import dataclass
from tidelog.errors import Diagnostic
from tidelog.program.suggest import did_you_mean
from tidelog.syntax import tree

HEIGHT: Final = "height"
NODES: Final = "nodes"
LEAVES: Final = "leaves"
WEIGHTED: Final = "weighted"
METRICS: Final = (HEIGHT, LEAVES, NODES, WEIGHTED)


@dataclass(frozen=True, slots=True)
class ProofOptions:
    """The metrics, the first of which decides, then the second; the weights of rules; how many are kept.

    Without metrics all steps are recorded. `weights` are by rule or by relation, and 1 for others.
    """

    metrics: tuple[str, ...] = ()
    weights: Mapping[str, int] = field(default_factory=dict)
    smallest: int = 1

    def weight(self, rule: str) -> int:
        """Return the weight of a rule such as `path#2`."""
        return self.weights.get(rule, self.weights.get(rule.rpartition("#")[0], 1))


def read_options(
    directive: tree.Directive, names: Sequence[str]
) -> tuple[ProofOptions, tuple[Diagnostic, ...]]:
    """Return what a directive asks for, and what is wrong with it; `names` are those of rules and relations.

    .proofs path(metric="height, weighted", weights="path#2=5, link=0", k=3)
    """
    reader = _Reader(directive, names)
    return reader.options(), tuple(reader.diagnostics)


class _Reader:
    def __init__(self, directive: tree.Directive, names: Sequence[str]) -> None:
        self._directive = directive
        self._names = names
        self._parameters = dict(directive.parameters)
        self.diagnostics: list[Diagnostic] = []

    def options(self) -> ProofOptions:
        for name in self._parameters.keys() - {"metric", "weights", "k"}:
            hint = did_you_mean(name, ("metric", "weights", "k"), "the parameters are metric, weights and k")
            self._report(f"`{name}` is not a valid parameter of `.proofs`", hint)
        metrics = tuple(self._metrics())
        weights = dict(self._weights())
        if "weights" in self._parameters and WEIGHTED not in metrics:
            self._report("`weights` have no effect without the metric `weighted`", 'add metric="weighted"')
        smallest = self._parameters.get("k", "1")
        if not smallest.isdecimal() or int(smallest) < 1:
            self._report(
                f"`{smallest}` is not a valid number of smallest proofs", "k is a number of at least 1"
            )
            smallest = "1"
        if "k" in self._parameters and not metrics:
            self._report("`k` has no effect without a metric", f'add for example metric="{HEIGHT}"')
        return ProofOptions(metrics, weights, int(smallest))

    def _metrics(self) -> Iterator[str]:
        for text in self._parameters.get("metric", "").split(",") if "metric" in self._parameters else ():
            name = text.strip()
            if name in METRICS:
                yield name
            else:
                hint = did_you_mean(name, METRICS, f"the metrics are {', '.join(METRICS)}")
                self._report(f"there is no metric `{name}`", hint)

    def _weights(self) -> Iterator[tuple[str, int]]:
        for text in self._parameters.get("weights", "").split(",") if "weights" in self._parameters else ():
            name, _, weight = (part.strip() for part in text.partition("="))
            if not weight.isdecimal():
                hint = 'weights are whole numbers of at least 0: weights="path#2=5, link=0"'
                self._report(f"`{text.strip()}` is not a valid weight", hint)
            elif name not in self._names:
                hint = did_you_mean(name, self._names, "name a rule, such as `path#2`, or a relation")
                self._report(f"there is no rule or relation `{name}` to weigh", hint)
            else:
                yield name, int(weight)

    def _report(self, message: str, hint: str) -> None:
        self.diagnostics.append(Diagnostic("bad-proofs", message, self._directive.span, hint))
