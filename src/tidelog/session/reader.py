"""What can be asked about one epoch of a session: its relations, queries and explanations."""

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Literal, TypeVar, cast, overload

from tidelog.errors import TidelogError
from tidelog.errors.arguments import Arguments
from tidelog.explain.port import Explained
from tidelog.program.nodes import Program
from tidelog.program.suggest import undeclared_relation
from tidelog.program.text import WrittenRule
from tidelog.session import mistakes
from tidelog.views import Answer, RelationView, Snapshot, answer_query
from tidelog.views.virtual import VirtualView, virtual_relation

if TYPE_CHECKING:
    # Loaded by the first question: a session that is never asked starts without proofs.
    from tidelog.explain.proofs.asked import AskedFact
    from tidelog.explain.proofs.atom import GroundAtom
    from tidelog.explain.proofs.guided import GuidedRefutation
    from tidelog.explain.proofs.metric import Metric
    from tidelog.explain.proofs.proof import Proof
    from tidelog.explain.proofs.refutation import Refutation
    from tidelog.explain.proofs.semiring import Semiring
    from tidelog.explain.proofs.service import ProofService

T = TypeVar("T")


class EpochReader:
    """Reads the present epoch of a session, or an old one.

    `known` is what is known in it, and `provenance` the metric of proofs that the session was opened with.
    """

    def __init__(self, known: Explained, provenance: object) -> None:
        self._known = known
        self._provenance = provenance

    @property
    def program(self) -> Program:
        """Return the checked program."""
        return self._known.prepared.program

    @property
    def epoch(self) -> int:
        """Return the number of the present epoch; evaluating the program was epoch 0."""
        return self._known.epoch

    @property
    def snapshot(self) -> Snapshot:
        """Return what is known, for tools that work on codes."""
        return self._known.snapshot

    @property
    def relations(self) -> tuple[str, ...]:
        """Return the names of all relations."""
        return tuple(self.program.relations)

    @property
    def schema(self) -> dict[str, dict[str, str]]:
        """Return the columns of every relation with their types: `{"edge": {"x": "number"}}`."""
        relations = self.program.relations
        return {
            name: {column.name: column.type for column in relation.columns}
            for name, relation in relations.items()
        }

    @property
    def rules(self) -> tuple[WrittenRule, ...]:
        """Return the rules as they were written, each with its id, text and span."""
        return self._known.prepared.text.rules

    def __getitem__(self, name: str) -> RelationView:
        snapshot = self.snapshot
        if name not in self:
            raise TidelogError([undeclared_relation(name, self.relations, is_asked=True)])
        virtual = virtual_relation(name, snapshot.program)
        if virtual is not None:
            return VirtualView(*virtual, lambda: self.snapshot)
        return RelationView(snapshot.program.relations[name], lambda: self.snapshot)

    def __contains__(self, name: object) -> bool:
        """Say whether `db[name]` is a relation; virtual ones are not iterated over, but they are there."""
        if not isinstance(name, str):
            return False
        return name in self.program.relations or virtual_relation(name, self.program) is not None

    def __iter__(self) -> Iterator[str]:
        return iter(self.program.relations)

    def __len__(self) -> int:
        return len(self.program.relations)

    def query(self, text: str, /, *others: object, **values: object) -> Answer:
        """Return the bindings of the query's variables, in the order they first occur.

        A query is one atom or a whole body, with strings in single or double quotes:

            db.query("path(1, x)")
            db.query("edge(x, y), !edge(y, x), x < 10")

        A name after `$` stands for the value passed under that name, whatever characters it has:

            db.query("path($start, x)", start=name)
        """
        with Arguments() as arguments:
            arguments.text("text", text)
            if others:
                arguments.diagnostics.append(mistakes.VALUES_BY_NAME)
        with self._known.lock:
            return answer_query(text, self.snapshot, values)

    @cached_property
    def proofs(self) -> "ProofService":
        """Return the rules as written and the facts of the present epoch, for tools that explain."""
        from tidelog.explain.proofs.service import ProofService  # noqa: PLC0415 - see above

        return ProofService(self._known, self._provenance)

    def why(
        self, fact: "AskedFact", *, depth: int | None = None, metric: "Metric | str | None" = None
    ) -> "Proof":
        """Return why a fact holds: a proof, found step by step as you look at it.

        `depth` is how deep its forms go. `metric` asks for the smallest proof, by `"height"`, `"nodes"`,
        `"leaves"` or a `Metric`.

            print(db.why("alias('userSession', 'ins')"))
            db.why(("path", (1, 3)), metric="height")
        """
        from tidelog.explain.proofs.arguments import check_why  # noqa: PLC0415 - see above

        check_why(depth, metric)
        with self._known.lock:
            self._check_open()
            return self._proofs_of(fact).why(fact, metric).with_depth(depth)

    def why_all(
        self,
        fact: "AskedFact",
        *,
        limit: int | None = None,
        depth: int | None = None,
        metric: "Metric | str | None" = None,
    ) -> "list[Proof]":
        """Return proofs of a fact that begin with different derivations, at most `limit`.

        With a `metric` each is the smallest proof that begins with its derivation, smallest first.
        """
        from tidelog.explain.proofs.arguments import check_numbers, check_why  # noqa: PLC0415 - see above

        check_numbers(depth, limit)
        check_why(depth, metric)
        with self._known.lock:
            self._check_open()
            return [
                proof.with_depth(depth) for proof in self._proofs_of(fact).all_proofs(fact, limit, metric)
            ]

    @overload
    def annotate(
        self,
        fact: "AskedFact",
        semiring: "Semiring[T]",
        *,
        leaf: "Callable[[GroundAtom], T] | None" = None,
        cycles: Literal["refuse", "levels"] = "refuse",
    ) -> T: ...

    @overload
    def annotate(
        self,
        fact: "AskedFact",
        semiring: Literal["count", "boolean", "tropical"],
        *,
        leaf: "Callable[[GroundAtom], object] | None" = None,
        cycles: Literal["refuse", "levels"] = "refuse",
    ) -> float: ...

    def annotate(
        self,
        fact: "AskedFact",
        semiring: "Semiring[T] | str",
        *,
        leaf: "Callable[[GroundAtom], T] | None" = None,
        cycles: Literal["refuse", "levels"] = "refuse",
    ) -> object:
        """Return the annotation of a fact over all its proofs.

        The semiring is `"count"`, `"boolean"`, `"tropical"` or a `Semiring`; `leaf` annotates input facts.
        With `cycles="levels"` only derivations from smaller levels count, of which there are finitely many.

            db.annotate("path(1, 3)", "count")
        """
        from tidelog.explain.proofs.arguments import check_annotate  # noqa: PLC0415 - see above
        from tidelog.explain.proofs.semiring import named_semiring  # noqa: PLC0415 - see above

        check_annotate(semiring, leaf, cycles)
        chosen = named_semiring(semiring) if isinstance(semiring, str) else semiring
        with self._known.lock:
            self._check_open()
            return self._proofs_of(fact).annotation(fact, cast("Semiring[T]", chosen), leaf, cycles)

    @overload
    def why_not(self, fact: "AskedFact", *, depth: int = 1, limit: int = 3) -> "Refutation": ...

    @overload
    def why_not(self, fact: "AskedFact", *, guided: Literal[True]) -> "GuidedRefutation": ...

    def why_not(
        self, fact: "AskedFact", *, depth: int = 1, limit: int = 3, guided: bool = False
    ) -> "Refutation | GuidedRefutation":
        """Return why a fact does not hold: for each rule, how near it comes to deriving the fact.

        Each near miss has values for the rule's variables and says for every literal whether it
        holds; there are at most `limit` for each rule. Missing facts are asked about in turn, down to
        `depth`. With `guided` you choose the rule and the values.

            print(db.why_not("vpt('userSession', 'L4')"))
            db.why_not("vpt('userSession', 'L4')", guided=True).choose(2).bind(Var2="ins").literals
        """
        from tidelog.explain.proofs.arguments import check_why_not  # noqa: PLC0415 - see above

        check_why_not(depth=depth, limit=limit, guided=guided)
        with self._known.lock:
            self._check_open()
            proofs = self._proofs_of(fact, is_whole=True)
            return proofs.guide(fact) if guided else proofs.why_not(fact, depth, limit)

    def _proofs_of(self, fact: "AskedFact", *, is_whole: bool = False) -> "ProofService":  # noqa: ARG002 - see `Session`
        """Return what explains a fact; `is_whole` if facts that do not hold are looked at too."""
        return self.proofs

    def _check_open(self) -> None:
        _ = self.snapshot
