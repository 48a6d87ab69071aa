"""The questions a session answers about facts: why, and why not."""

from functools import cached_property
from typing import TYPE_CHECKING, Literal, TypeVar, cast, overload

from tidelog.errors import Diagnostic, TidelogError
from tidelog.session.epochs import Epochs

if TYPE_CHECKING:
    # Loaded by the first question: a session that is never asked starts without proofs.
    from collections.abc import Callable

    from tidelog.session.asked import AskedFact
    from tidelog.session.proofs import ProofDesk
    from tidelog.views.proofs.atom import GroundAtom
    from tidelog.views.proofs.guided import GuidedRefutation
    from tidelog.views.proofs.metric import Metric
    from tidelog.views.proofs.proof import Proof
    from tidelog.views.proofs.refutation import Refutation
    from tidelog.views.proofs.semiring import Semiring

T = TypeVar("T")


class Explaining:
    """`why` and `why_not` of a session."""

    _epochs: Epochs

    @cached_property
    def proofs(self) -> "ProofDesk":
        """Return the rules as written and the facts of the present epoch, for tools that explain."""
        from tidelog.session.proofs import ProofDesk  # noqa: PLC0415 - see above

        return ProofDesk(self._epochs)

    @overload
    def why(
        self, fact: "AskedFact", *, depth: int | None = None, metric: "Metric | str | None" = None
    ) -> "Proof": ...

    @overload
    def why(self, fact: "AskedFact", *, all: Literal[True], limit: int | None = None) -> "list[Proof]": ...

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
        with self._epochs.lock:
            self._check_open()
            if semiring is not None:
                from tidelog.views.proofs.semiring import named_semiring  # noqa: PLC0415 - see above

                chosen = named_semiring(semiring) if isinstance(semiring, str) else semiring
                return self.proofs.annotation(fact, cast("Semiring[T]", chosen), leaf, cycles)
            if all:
                return self.proofs.all_proofs(fact, limit)
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
        with self._epochs.lock:
            self._check_open()
            return self.proofs.guide(fact) if guided else self.proofs.why_not(fact, depth, limit)

    def _check_open(self) -> None:
        """Raise if the session is closed."""
        raise NotImplementedError


def _check_numbers(depth: int | None, limit: int | None) -> None:
    """Raise if a depth or a limit is none."""
    found = []
    if depth is not None and depth < 0:
        hint = "give a number from 0 on, or None for all the way"
        found.append(Diagnostic(code="bad-depth", message=f"{depth} is no depth", hint=hint))
    if limit is not None and limit < 1:
        found.append(Diagnostic(code="bad-limit", message=f"{limit} is not a number of answers"))
    if found:
        raise TidelogError(found)
