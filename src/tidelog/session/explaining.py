"""The questions a session answers about facts: why, and why not."""

from functools import cached_property
from typing import TYPE_CHECKING, Literal, TypeVar, cast, overload

from tidelog.errors import Diagnostic, TidelogError
from tidelog.errors.arguments import Arguments, described, is_whole
from tidelog.session.epochs import Epochs

if TYPE_CHECKING:
    # Loaded by the first question: a session that is never asked starts without proofs.
    from collections.abc import Callable

    from tidelog.explain.proofs.asked import AskedFact
    from tidelog.explain.proofs.atom import GroundAtom
    from tidelog.explain.proofs.guided import GuidedRefutation
    from tidelog.explain.proofs.metric import Metric
    from tidelog.explain.proofs.proof import Proof
    from tidelog.explain.proofs.refutation import Refutation
    from tidelog.explain.proofs.semiring import Semiring
    from tidelog.explain.proofs.service import ProofService

T = TypeVar("T")


class Explaining:
    """`why` and `why_not` of a session."""

    _epochs: Epochs

    @cached_property
    def proofs(self) -> "ProofService":
        """Return the rules as written and the facts of the present epoch, for tools that explain."""
        from tidelog.explain.proofs.service import ProofService  # noqa: PLC0415 - see above

        return ProofService(self._epochs, self._epochs.request.provenance)

    @overload
    def why(
        self, fact: "AskedFact", *, depth: int | None = None, metric: "Metric | str | None" = None
    ) -> "Proof": ...

    @overload
    def why(
        self, fact: "AskedFact", *, all: Literal[True], limit: int | None = None, depth: int | None = None
    ) -> "list[Proof]": ...

    @overload
    def why(
        self,
        fact: "AskedFact",
        *,
        semiring: "Semiring[T]",
        leaf: "Callable[[GroundAtom], T] | None" = None,
        cycles: Literal["refuse", "levels"] = "refuse",
    ) -> T: ...

    @overload
    def why(
        self,
        fact: "AskedFact",
        *,
        semiring: Literal["count", "boolean", "tropical"],
        leaf: "Callable[[GroundAtom], object] | None" = None,
        cycles: Literal["refuse", "levels"] = "refuse",
    ) -> float: ...

    def why(  # noqa: PLR0913 - one verb for all questions about a fact that holds
        self,
        fact: "AskedFact",
        *,
        depth: int | None = None,
        metric: "Metric | str | None" = None,
        all: bool = False,  # noqa: A002 - `why(..., all=True)` reads as it is meant
        limit: int | None = None,
        semiring: "Semiring[T] | str | None" = None,
        leaf: "Callable[[GroundAtom], T] | None" = None,
        cycles: Literal["refuse", "levels"] = "refuse",
    ) -> object:
        """Return why a fact holds: a proof, found step by step as it is looked at.

        `depth` is how deep its forms go. `metric` asks for the smallest proof, by `"height"`, `"nodes"`
        or a `Metric`. With `all` a list of proofs that begin with different derivations, at most
        `limit`. With `semiring`, `"count"`, `"boolean"`, `"tropical"` or a `Semiring`, the annotation
        of the fact over all its proofs; `leaf` annotates input facts.

            print(db.why("alias('userSession', 'ins')"))
            db.why(("path", (1, 3)), all=True, limit=5)
            db.why("path(1, 3)", semiring="count")
        """
        _check_numbers(depth, limit)
        with Arguments() as arguments:
            arguments.flag("all", all)
            arguments.function("leaf", leaf, is_optional=True)
            _check_metric(arguments, metric)
            _check_semiring(arguments, semiring)
            arguments.expect(
                "cycles", cycles, "'refuse' or 'levels'", is_right=cycles in ("refuse", "levels")
            )
            if semiring is not None:
                arguments.refuse(
                    if_any={
                        "depth": depth is not None, "metric": metric is not None, "all": all is True,
                        "limit": limit is not None,
                    },
                    because="a semiring gives one annotation over all proofs",
                )  # fmt: skip
            else:
                only = "it is for `semiring`"
                arguments.refuse(
                    if_any={"leaf": leaf is not None, "cycles": cycles == "levels"}, because=only
                )
                arguments.refuse(if_any={"limit": limit is not None and not all}, because="it is for `all`")
                arguments.refuse(
                    if_any={"metric": metric is not None and all is True},
                    because="`all` gives every derivation, not the smallest",
                )
        with self._epochs.lock:
            self._check_open()
            if semiring is not None:
                from tidelog.explain.proofs.semiring import named_semiring  # noqa: PLC0415 - see above

                chosen = named_semiring(semiring) if isinstance(semiring, str) else semiring
                return self.proofs.annotation(fact, cast("Semiring[T]", chosen), leaf, cycles)
            if all:
                return [proof.with_depth(depth) for proof in self.proofs.all_proofs(fact, limit)]
            return self.proofs.why(fact, metric).with_depth(depth)

    @overload
    def why_not(self, fact: "AskedFact", *, depth: int = 1, limit: int = 3) -> "Refutation": ...

    @overload
    def why_not(self, fact: "AskedFact", *, guided: Literal[True]) -> "GuidedRefutation": ...

    def why_not(
        self, fact: "AskedFact", *, depth: int = 1, limit: int = 3, guided: bool = False
    ) -> "Refutation | GuidedRefutation":
        """Return why a fact does not hold: for each rule, how near it comes to deriving the fact.

        Each near miss has values for the rule's variables and tells of every literal whether it
        holds; there are at most `limit` for each rule. Down to `depth` the missing facts are asked
        about in turn. With `guided` one chooses the rule and the values oneself.

            print(db.why_not("vpt('userSession', 'L4')"))
            db.why_not("vpt('userSession', 'L4')", guided=True).choose(2).bind(Var2="ins").literals
        """
        _check_numbers(depth, limit)
        with Arguments() as arguments:
            arguments.flag("guided", guided)
            arguments.expect("depth", depth, "a whole number", is_right=depth is not None)
            arguments.expect("limit", limit, "a whole number", is_right=limit is not None)
            arguments.refuse(
                if_any={"depth": guided is True and depth != 1, "limit": guided is True and limit != 3},
                because="`guided` lets you choose the rule and the values yourself",
            )
        with self._epochs.lock:
            self._check_open()
            return self.proofs.guide(fact) if guided else self.proofs.why_not(fact, depth, limit)

    def _check_open(self) -> None:
        """Raise if the session is closed."""
        raise NotImplementedError


def _check_metric(arguments: Arguments, metric: object) -> None:
    if metric is not None and not isinstance(metric, str):
        from tidelog.explain.proofs.metric import Metric  # noqa: PLC0415 - see above

        arguments.expect("metric", metric, "a name or a Metric", is_right=isinstance(metric, Metric))


def _check_semiring(arguments: Arguments, semiring: object) -> None:
    if semiring is not None and not isinstance(semiring, str):
        from tidelog.explain.proofs.semiring import Semiring  # noqa: PLC0415 - see above

        arguments.expect(
            "semiring", semiring, "a name or a Semiring", is_right=isinstance(semiring, Semiring)
        )


def _check_numbers(depth: int | None, limit: int | None) -> None:
    """Raise if a depth or a limit is not a number that makes sense."""
    found = []
    if depth is not None and not (is_whole(depth) and depth >= 0):
        hint = "give a number from 0 on, or None for all the way"
        message = f"{described(depth)} is not a valid depth"
        found.append(Diagnostic(code="bad-depth", message=message, hint=hint))
    if limit is not None and not (is_whole(limit) and limit >= 1):
        message = f"{described(limit)} is not a number of answers"
        found.append(Diagnostic(code="bad-limit", message=message))
    if found:
        raise TidelogError(found)
