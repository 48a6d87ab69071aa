"""What a session needs to answer why: the rules as written, and the facts of the present epoch."""

from tidelog.program.written_program import written_program
from tidelog.session.epochs import Epochs
from tidelog.session.rules import ProgramText
from tidelog.source import Span
from tidelog.views.proofs.engine_facts import EngineFacts
from tidelog.views.proofs.rules import RuleBook
from tidelog.views.proofs.source import FactSource


class ProofDesk:
    """The rule book and the fact source of a session, made when they are first asked for.

    Whoever reads them holds the session's lock: both speak of the present epoch.
    """

    def __init__(self, epochs: Epochs) -> None:
        self._epochs = epochs
        self._text: ProgramText | None = None
        self._epoch = -1

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

    def _refresh(self) -> None:
        snapshot = self._epochs.snapshot
        text = self._epochs.text
        if self._text is not text:
            ids = {_place(rule.span): rule.id for rule in text.rules}
            self._book = RuleBook(
                written_program(text.tree, snapshot.program),
                frozenset(snapshot.program.relations),
                snapshot.codec,
                self._epochs.functions,
                lambda span: ids.get(_place(span), 0),
            )
            self._text = text
            self._epoch = -1
        if self._epoch != snapshot.epoch:
            self._source = self._make_source()
            self._epoch = snapshot.epoch

    def _make_source(self) -> FactSource:
        snapshot, machine = self._epochs.snapshot, self._epochs.machine
        engine = machine.engine
        if machine.kind.name == "local":
            # Imported here: the local engine brings its compiler, and other engines need none.
            from tidelog.maintain import MaintainedEngine as LocalState  # noqa: PLC0415
            from tidelog.views.proofs.local import LocalFacts  # noqa: PLC0415

            assert isinstance(engine, LocalState)
            # Its indexes follow the relations from epoch to epoch.
            if self._epoch >= 0 and isinstance(self._source, LocalFacts):
                return self._source
            return LocalFacts(snapshot.program, snapshot.codec, engine)
        return EngineFacts(snapshot.program, snapshot.codec, engine)


def _place(span: Span) -> tuple[str, int, int]:
    return span.source.name, span.start, span.end
