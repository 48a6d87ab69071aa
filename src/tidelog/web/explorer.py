"""What the explorer can say of a session, as plain data; HTTP stands in `app`."""

from collections.abc import Callable, Mapping, Sequence

from tidelog.engine.protocol import Codes
from tidelog.errors import TidelogError
from tidelog.errors.plain import plain_diagnostics
from tidelog.program.nodes import Column, Relation
from tidelog.session import Session
from tidelog.values import Value
from tidelog.values.text import TextError
from tidelog.web.cache import ArrayCache
from tidelog.web.epochs import delta_listing, find_delta, plain_epoch, plain_timeline
from tidelog.web.pages import Listing, Pager, PageRequest, plain_columns
from tidelog.web.questions import Questions
from tidelog.web.replies import Plain, mistake
from tidelog.web.settings import WebSettings
from tidelog.web.sources import plain_rules
from tidelog.web.suggestions import suggest_values


class _EpochPassedError(Exception):
    """The facts asked for are those of an epoch that is over."""


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
        self.questions = Questions(session, settings.limits)

    # --- reading -----------------------------------------------------------------------------------

    def about(self) -> Plain:
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
            "warnings": plain_diagnostics(session.warnings),
        }

    def facts(self, name: str, request: PageRequest) -> Plain:
        """Return a page of a relation's facts."""

        def page(listing: Listing) -> Plain:
            _check_columns(listing, request)
            return {**self._pager.page(listing, request), "epoch": listing.epoch}

        return self._on_facts(name, page)

    def values(self, name: str, column: int, typed: str) -> Plain:
        """Return values of a column to offer for what was typed."""
        limits = self.settings.limits

        def suggest(listing: Listing) -> Plain:
            if not 0 <= column < len(listing.columns):
                raise mistake("bad-request", f"`{name}` has no column {column}")
            codes = self._cache.get(listing.key, listing.read)[column]
            of = listing.columns[column].type
            found = suggest_values(codes, of, typed, listing.codec, limits.suggestions)
            return {"values": [text for text in found if len(text) <= limits.cell_characters]}

        return self._on_facts(name, suggest)

    def rules(self) -> Plain:
        """Return the program's text and its rules."""
        return plain_rules(self.session)

    # --- epochs ------------------------------------------------------------------------------------

    def timeline(self) -> Plain:
        """Return the epochs that are remembered."""
        return plain_timeline(self.session)

    def epoch(self, number: int) -> Plain:
        """Return what an epoch did, in numbers."""
        return plain_epoch(self.session, find_delta(self.session, number))

    def epoch_facts(self, number: int, name: str, request: PageRequest, *, is_inserted: bool) -> Plain:
        """Return a page of the facts that an epoch inserted into a relation, or deleted from it."""
        listing = delta_listing(find_delta(self.session, number), name, is_inserted=is_inserted)
        _check_columns(listing, request)
        return self._pager.page(listing, request)

    def change(self, body: Mapping[str, object]) -> Plain:
        """Apply changes as one epoch and return what it did.

        `insert` and `delete` are lists of facts: texts such as `edge(1, 2)`, or objects with a
        `relation` and the `values` of its columns as they stand in a fact file. `take_back` is the
        number of an epoch whose changes are undone instead.
        """
        self.check_may_write()
        undone = body.get("take_back")
        if isinstance(undone, int):
            inverse = find_delta(self.session, undone).inverse()
            return plain_epoch(self.session, self.session.apply(inverse))
        wanted = {side: self._facts_of(body.get(side, []), side) for side in ("insert", "delete")}
        if not any(texts or data for texts, data in wanted.values()):
            raise mistake("bad-request", "there is nothing to insert and nothing to delete")
        with self.session.transaction() as transaction:
            for side, take in (("delete", transaction.delete), ("insert", transaction.insert)):
                texts, data = wanted[side]
                take(texts)
                take(data)
        return plain_epoch(self.session, transaction.delta)

    def check_may_write(self) -> None:
        """Raise unless changes are allowed."""
        if not self.settings.may_write:
            raise mistake(
                "read-only-explorer", "this explorer changes nothing", "start it with --write to change facts"
            )

    # --- the rest ----------------------------------------------------------------------------------

    def _on_facts(self, name: str, work: Callable[[Listing], Plain]) -> Plain:
        """Return what the work gives for a relation as it is in one epoch."""
        while True:
            try:
                return work(self._listing(name))
            except _EpochPassedError:
                # Somebody changed facts between two looks at them: what is known now is wanted.
                continue

    def _listing(self, name: str) -> Listing:
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

        if epoch != self._cached_epoch:
            self._cached_epoch = epoch
            self._cache.forget(lambda key: _is_of_another_epoch(key, epoch))
        key = ("facts", name, epoch)
        return Listing(key, name, relation.columns, snapshot.codec, size, read, epoch)

    def _relation(self, name: str) -> Relation:
        # Raises the diagnostic that names the relations there are.
        view = self.session[name]
        found = self.session.program.relations.get(name)
        if found is not None:
            return found
        # A virtual relation is answered from others, and stored nowhere.
        columns = tuple(Column(each, of) for each, of in zip(view.columns, view.types, strict=True))
        return Relation(name, columns)

    def _facts_of(self, found: object, side: str) -> tuple[list[str], dict[str, list[tuple[Value, ...]]]]:
        """Return the facts given as texts, and those given as values by relation."""
        if not isinstance(found, list):
            raise mistake("bad-request", f"`{side}` is a list of facts")
        texts: list[str] = []
        data: dict[str, list[tuple[Value, ...]]] = {}
        for each in found:
            match each:
                case str():
                    texts.append(each)
                case {"relation": str(name), "values": list(values)}:
                    data.setdefault(name, []).append(self._parse(name, values))
                case _:
                    raise mistake(
                        "bad-request", "a fact is a text, or an object with `relation` and `values`"
                    )
        return texts, data

    def _parse(self, name: str, values: Sequence[object]) -> tuple[Value, ...]:
        """Return the values of a form; every one that does not fit its column is named."""
        relation, codec = self._relation(name), self.session.snapshot.codec
        if len(values) != relation.arity:
            raise mistake("wrong-arity", f"`{name}` has {relation.arity} columns, not {len(values)}")
        parsed: list[Value] = []
        wrong: list[TidelogError] = []
        for text, column in zip(values, relation.columns, strict=True):
            try:
                parsed.append(codec.decode(codec.parse(str(text), column.type), column.type))
            except TextError as error:
                wrong.append(
                    mistake(error.code, f"{column.name}: {error.message}", f"its type is `{column.type}`")
                )
        if wrong:
            raise TidelogError(diagnostic for each in wrong for diagnostic in each.diagnostics)
        return tuple(parsed)


def _check_columns(listing: Listing, request: PageRequest) -> None:
    for place, _ in (*request.sorts, *request.filters):
        if not 0 <= place < len(listing.columns):
            raise mistake("bad-request", f"`{listing.name}` has no column {place}")


def _is_of_another_epoch(key: object, epoch: int) -> bool:
    match key:
        case ("rows", inner, _, _):
            return _is_of_another_epoch(inner, epoch)
        case ("facts", _, number):
            return bool(number != epoch)
        case _:
            return False
