"""What the explorer can say of a session, as plain data; HTTP stands in `app`."""

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Protocol, TypeVar, cast

from tidelog.dataclass import dataclass
from tidelog.engine.protocol import Codes
from tidelog.program.nodes import Column, Relation
from tidelog.session import Session
from tidelog.web.cache import ArrayCache
from tidelog.web.changes import PageChanges
from tidelog.web.downloads import Downloads
from tidelog.web.epochs import delta_listing, find_delta, plain_epoch, plain_timeline
from tidelog.web.pages import Listing, Pager, PageRequest, plain_columns
from tidelog.web.queries import Queries
from tidelog.web.questions import Questions
from tidelog.web.replies import diagnostic_replies, mistake
from tidelog.web.schema import EpochReply, PageReply, ProgramReply, SessionReply, TimelineReply, ValuesReply
from tidelog.web.settings import WebSettings
from tidelog.web.sources import plain_rules
from tidelog.web.suggestions import suggest_values

if TYPE_CHECKING:
    from tidelog.engine.epoch import MaintainedEngine

Reply = TypeVar("Reply")
Answer = TypeVar("Answer")


class _EpochPassedError(Exception):
    """The facts asked for are those of an epoch that is over."""


class _SlicedEngine(Protocol):
    """An engine that reads some facts, in the order in which they are stored, without copying the others."""

    def facts_between(self, relation: str, first: int, last: int) -> list[Codes]:
        """Return the facts from one place up to another."""

    def facts_at(self, relation: str, places: Codes) -> list[Codes]:
        """Return the facts at these places."""

    def fact_column(self, relation: str, column: int) -> Codes:
        """Return one column of all facts."""


@dataclass(frozen=True, slots=True)
class _StoredParts:
    """Reads the facts of a relation in parts, as long as the epoch lasts."""

    session: Session
    name: str
    epoch: int

    def between(self, first: int, last: int) -> Sequence[Codes]:
        return self._ask(lambda engine: engine.facts_between(self.name, first, last))

    def at(self, places: Codes) -> Sequence[Codes]:
        return self._ask(lambda engine: engine.facts_at(self.name, places))

    def column(self, number: int) -> Codes:
        return self._ask(lambda engine: engine.fact_column(self.name, number))

    def _ask(self, question: Callable[[_SlicedEngine], Answer]) -> Answer:
        snapshot = self.session.snapshot
        with snapshot.lock:
            if self.session.epoch != self.epoch:
                raise _EpochPassedError
            return question(cast("_SlicedEngine", snapshot.engine))


class SessionExplorer:
    """Answers questions about one session; several threads may ask.

    The session's lock is held while facts are fetched and while an epoch is applied, and not while
    fetched facts are filtered and sorted.
    """

    def __init__(self, session: Session, settings: WebSettings, title: str) -> None:
        self.session = session
        self.settings = settings
        self._title = title
        self._cache = ArrayCache(settings.limits.cache_bytes)
        self._pager = Pager(self._cache, settings.limits)
        self._cached_epoch = session.epoch
        self._downloads = Downloads()
        self.questions = Questions(session, settings.limits)
        self.queries = Queries(session)
        self.changes = PageChanges(session, settings, self._relation)

    # --- reading -----------------------------------------------------------------------------------

    def about(self) -> SessionReply:
        """Return the program's relations with their sizes, and what may be done."""
        session = self.session
        with session.snapshot.lock:
            snapshot = session.snapshot
            program, inputs = snapshot.program, frozenset(session.inputs)
            sizes = {name: snapshot.engine.size(name) for name in program.relations}
        derived = {rule.head.relation for rule in program.rules}
        outputs = {each.relation for each in program.directives if each.kind == "output"}
        return {
            "title": self._title,
            "epoch": snapshot.epoch,
            "may_write": self.settings.may_write,
            "page_rows": self.settings.limits.page_rows,
            "relations": [
                {
                    "name": name,
                    "columns": plain_columns(relation.columns, snapshot.codec),
                    "size": sizes[name],
                    "is_input": name in inputs,
                    "is_derived": name in derived,
                    "is_output": name in outputs,
                    "qualifiers": list(relation.qualifiers),
                }
                for name, relation in program.relations.items()
            ],
            "warnings": diagnostic_replies(session.warnings),
        }

    def facts(self, name: str, request: PageRequest) -> PageReply:
        """Return a page of a relation's facts."""
        return self._on_facts(name, lambda listing: self._page(listing, request))

    def values(self, name: str, column: int, typed: str) -> ValuesReply:
        """Return values of a column to offer for what was typed."""
        limits = self.settings.limits

        def suggest(listing: Listing) -> ValuesReply:
            if not 0 <= column < len(listing.columns):
                raise mistake("bad-request", f"`{name}` has no column {column}")
            codes = self._pager.column(listing, column)
            of = listing.columns[column].type
            found = suggest_values(codes, of, typed, listing.codec, limits.suggestions)
            return {"values": [text for text in found if len(text) <= limits.cell_characters]}

        return self._on_facts(name, suggest)

    def rules(self) -> ProgramReply:
        """Return the program's text and its rules."""
        return plain_rules(self.session)

    # --- epochs ------------------------------------------------------------------------------------

    def timeline(self) -> TimelineReply:
        """Return the epochs that are remembered."""
        return plain_timeline(self.session)

    def epoch(self, number: int) -> EpochReply:
        """Return what an epoch did, in numbers."""
        return plain_epoch(self.session, find_delta(self.session, number))

    def epoch_facts(self, number: int, name: str, request: PageRequest, *, is_inserted: bool) -> PageReply:
        """Return a page of the facts that an epoch inserted into a relation, or deleted from it."""
        listing = delta_listing(find_delta(self.session, number), name, is_inserted=is_inserted)
        return self._page(listing, request)

    def trial_facts(self, number: int, name: str, request: PageRequest, *, is_inserted: bool) -> PageReply:
        """Return a page of the facts that changes would insert into a relation, or delete from it."""
        listing = delta_listing(self.changes.trial(number), name, is_inserted=is_inserted, trial=number)
        return self._page(listing, request)

    # --- queries and downloads -----------------------------------------------------------------------

    def query(self, text: str, request: PageRequest) -> PageReply:
        """Return a page of the answer to a query."""
        return self._page(self.queries.listing(text), request)

    def download(self, listing: Listing, request: PageRequest, form: str) -> Iterator[bytes]:
        """Return a whole listing as a file, piece by piece, filtered and sorted as asked."""
        _check_columns(listing, request)
        rows, columns = self._pager.rows(listing, request), self._pager.columns(listing)
        return self._downloads.write(listing, rows, columns, form)

    # --- the rest ----------------------------------------------------------------------------------

    def _on_facts(self, name: str, work: Callable[[Listing], Reply]) -> Reply:
        """Return what the work gives for a relation as it is in one epoch."""
        while True:
            try:
                return work(self.listing(name))
            except _EpochPassedError:
                # Somebody changed facts between two looks at them: what is known now is wanted.
                continue

    def _page(self, listing: Listing, request: PageRequest) -> PageReply:
        _check_columns(listing, request)
        return self._pager.page(listing, request)

    def listing(self, name: str) -> Listing:
        """Return the facts of a relation in the present epoch, to be paged through."""
        session, relation = self.session, self._relation(name)
        is_stored = name in session.program.relations
        with session.snapshot.lock:
            snapshot = session.snapshot
            size, epoch = len(session[name]), snapshot.epoch

        def read() -> Sequence[Codes]:
            with snapshot.lock:
                if session.epoch != epoch:
                    raise _EpochPassedError
                # In the order in which they are stored: a view would sort them all.
                return snapshot.engine.facts(name) if is_stored else session[name].codes()

        is_sliced = is_stored and hasattr(snapshot.engine, "facts_between")
        if epoch != self._cached_epoch:
            self._cached_epoch = epoch
            self._cache.forget(lambda key: _is_of_another_epoch(key, epoch))
        key = ("facts", name, epoch)
        may_delete = self.settings.may_write and name in session.inputs
        return Listing(
            key,
            name,
            relation.columns,
            snapshot.codec,
            size,
            read,
            epoch,
            _StoredParts(session, name, epoch) if is_sliced else None,
            are_inputs=(lambda codes: self._are_inputs(name, codes)) if may_delete else None,
        )

    def _are_inputs(self, name: str, codes: Sequence[Codes]) -> Sequence[bool]:
        """Say of each fact whether it was given: those of the program's text cannot be deleted."""
        with self.session.snapshot.lock:
            engine = cast("MaintainedEngine", self.session.snapshot.engine)
            found: list[bool] = engine.is_input(name, list(codes)).tolist()
        return found

    def _relation(self, name: str) -> Relation:
        # Raises the diagnostic that names the relations there are.
        view = self.session[name]
        found = self.session.program.relations.get(name)
        if found is not None:
            return found
        # A virtual relation is answered from others, and stored nowhere.
        columns = tuple(Column(each, of) for each, of in zip(view.columns, view.types, strict=True))
        return Relation(name, columns)


def _check_columns(listing: Listing, request: PageRequest) -> None:
    for place, _ in (*request.sorts, *request.filters):
        if not 0 <= place < len(listing.columns):
            raise mistake("bad-request", f"`{listing.name}` has no column {place}")


def _is_of_another_epoch(key: object, epoch: int) -> bool:
    match key:
        case ("rows", inner, _, _):
            return _is_of_another_epoch(inner, epoch)
        case ("facts" | "query", _, number, *_):
            return bool(number != epoch)
        case _:
            return False
