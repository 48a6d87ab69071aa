"""What a session needs to answer why: the rules as written, and the facts of the present epoch."""

import sys
from collections.abc import Callable
from itertools import islice
from typing import TYPE_CHECKING, TypeVar, cast

from tidelog.errors import Diagnostic, TidelogError
from tidelog.explain.port import Explained
from tidelog.explain.proofs.asked import AskedFact, read_fact
from tidelog.explain.proofs.atom import GroundAtom
from tidelog.explain.proofs.cone import Cycles
from tidelog.explain.proofs.guided import GuidedRefutation
from tidelog.explain.proofs.heights import HeightExplorer, HeightFacts, Heights
from tidelog.explain.proofs.metric import Metric, measure_proof, named_metric, smallest_steps
from tidelog.explain.proofs.proof import Explorer, Proof
from tidelog.explain.proofs.provenance import HEIGHT
from tidelog.explain.proofs.prover import Prover
from tidelog.explain.proofs.refutation import Refutation, Refuter
from tidelog.explain.proofs.rules import RuleBook
from tidelog.explain.proofs.semiring import Semiring, annotate
from tidelog.explain.proofs.source import FactSource
from tidelog.program.written_program import written_program
from tidelog.progress import activity
from tidelog.source import Span

if TYPE_CHECKING:
    from tidelog.program.text import ProgramText
    from tidelog.views import Snapshot

T = TypeVar("T")


class ProofService:
    """The rule book and the fact source of a session, made when they are first asked for.

    `provenance` is what the session was told to keep: a metric of proofs, its name or None.
    Whoever reads them holds the session's lock: both speak of the present epoch.
    """

    def __init__(self, epochs: Explained, provenance: object) -> None:
        self._epochs = epochs
        self._provenance = provenance
        self._text: ProgramText | None = None
        self._snapshot: Snapshot | None = None
        self._explorer: Explorer | None = None

    @property
    def book(self) -> RuleBook:
        """Return the rules as they were written."""
        self._refresh()
        return self._book

    @property
    def source(self) -> FactSource:
        """Return the facts of the present epoch."""
        self._refresh()
        return self._source

    def read(self, asked: AskedFact) -> GroundAtom:
        """Return the fact somebody asks about."""
        return read_fact(asked, self.book)

    @activity("searching for a proof")
    def why(self, asked: AskedFact, metric: Metric | str | None = None) -> Proof:
        """Return the proof of a fact that holds, the smallest one by a metric if one is given."""
        atom = self._held(asked)
        explorer = self.explorer()
        provenance = self._provenance
        if metric is None and provenance != HEIGHT:
            metric = cast("Metric | str | None", provenance)
        if metric is None or metric == provenance == HEIGHT:
            return explorer.node(atom)
        return self._smallest(atom, named_metric(metric) if isinstance(metric, str) else metric).node(atom)

    def _smallest(self, atom: GroundAtom, metric: Metric) -> Explorer:
        """Return what gives the smallest proofs of a fact and of all facts below it."""
        explorer = self.explorer()
        found = smallest_steps(explorer.prover, atom, metric)
        steps = {place: step for place, (_, step) in found.items()}
        return Explorer(explorer.prover, explorer.epoch_now, explorer.epoch, explorer.lock, chosen=steps)

    def all_proofs(
        self, asked: AskedFact, limit: int | None, metric: Metric | str | None = None
    ) -> list[Proof]:
        """Return proofs that begin with different derivations, at most `limit` of them.

        With a metric they are the smallest that begin so, in the order of their sizes.
        """
        atom = self._held(asked)
        if metric is not None:
            chosen = named_metric(metric) if isinstance(metric, str) else metric
            smallest = self._smallest(atom, chosen)
            first = smallest.node(atom)
            steps = [step for step in smallest.prover.derivations(atom) if step != first.step]
            proofs = [first, *(first.with_step(step) for step in steps)]
            return sorted(proofs, key=lambda proof: measure_proof(proof, chosen))[:limit]
        explorer = self.explorer()
        default = explorer.node(atom)
        others = (step for step in explorer.prover.derivations(atom) if step != default.step)
        wanted = None if limit is None else min(limit - 1, sys.maxsize)
        return [default, *(default.with_step(step) for step in islice(others, wanted))]

    def annotation(
        self, asked: AskedFact, semiring: Semiring[T], leaf: Callable[[GroundAtom], T] | None, cycles: Cycles
    ) -> T:
        """Return the annotation of a fact over all its proofs."""
        atom = self._held(asked)
        return annotate(self.explorer().prover, atom, semiring, leaf=leaf, cycles=cycles)

    @activity("searching for a refutation")
    def why_not(self, asked: AskedFact, depth: int, limit: int) -> Refutation:
        """Return why a fact does not hold."""
        return Refuter(self.explorer().prover, limit).refute(self._missing(asked), depth)

    def guide(self, asked: AskedFact) -> GuidedRefutation:
        """Return a fact that does not hold, to be asked about step by step."""
        return GuidedRefutation(self.explorer(), self._missing(asked))

    def _held(self, asked: AskedFact) -> GroundAtom:
        atom = self.read(asked)
        if not self.explorer().prover.holds(atom):
            raise TidelogError([_absent(atom, has_facts=self._has_facts())])
        return atom

    def _has_facts(self) -> bool:
        """Say whether an input relation has a fact, or there is none that could be read."""
        snapshot = self._epochs.snapshot
        inputs = {each.relation for each in snapshot.program.directives if each.kind == "input"}
        return not inputs or any(snapshot.engine.size(name) for name in inputs)

    def _missing(self, asked: AskedFact) -> GroundAtom:
        atom = self.read(asked)
        if self.explorer().prover.holds(atom):
            raise TidelogError([_present(atom)])
        return atom

    def explorer(self) -> Explorer:
        """Return what proofs of the present epoch share."""
        self._refresh()
        if self._explorer is None:
            epochs = self._epochs
            prover = Prover(self._book, self._source)
            now = lambda: epochs.epoch  # noqa: E731 - a property as a function
            if self._provenance == HEIGHT:
                heights = Heights(prover, self._exact)
                proving = Prover(self._book, HeightFacts(epochs.handle.port.heights(self._source), heights))
                self._explorer = HeightExplorer(proving, now, epochs.epoch, epochs.lock, heights=heights)
            else:
                self._explorer = Explorer(prover, now, epochs.epoch, epochs.lock)
        return self._explorer

    def _refresh(self) -> None:
        snapshot, handle = self._epochs.snapshot, self._epochs.handle
        text = self._epochs.prepared.text
        if self._text is not text:
            # Not `text.rules`, which writes every rule out.
            ids = {_place(item.span): number for piece in text.pieces for number, item in piece.rules.items()}
            checked = snapshot.program
            self._exact: frozenset[str] = frozenset()
            if self._provenance == HEIGHT and handle.counts_heights:
                from tidelog.plan.heights import exact_relations  # noqa: PLC0415 - only who asks pays

                checked = handle.passes(checked)
                self._exact = exact_relations(checked)
            self._book = RuleBook(
                written_program(text.tree, snapshot.program),
                checked,
                snapshot.codec,
                self._epochs.prepared.functions,
                lambda span: ids.get(_place(span), 0),
                handle.engine.numbering,
            )
            self._text = text
            self._snapshot = None
        if self._snapshot is not snapshot:
            before = self._source if self._snapshot is not None else None
            self._source: FactSource = handle.port.facts(self._book.checked, handle.codec, before)
            self._snapshot = snapshot
            self._explorer = None


def _absent(atom: GroundAtom, *, has_facts: bool) -> Diagnostic:
    hint = "ask `why_not` what is missing for it"
    if not has_facts:
        hint = "no input facts were read: name their folder with -F DIR, in Python with facts=..."
    return Diagnostic(code="fact-absent", message=f"{atom} does not hold", hint=hint)


def _present(atom: GroundAtom) -> Diagnostic:
    return Diagnostic(code="fact-holds", message=f"{atom} holds", hint="ask `why` for its proof")


def _place(span: Span) -> tuple[str, int, int]:
    return span.source.name, span.start, span.end
