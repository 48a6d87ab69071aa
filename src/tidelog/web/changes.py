"""Changes of facts and rules that a page asks for: checked, tried out, committed or taken back."""

from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from threading import Lock
from typing import Final

from tidelog.errors import TidelogError
from tidelog.program.nodes import Relation
from tidelog.session import Session
from tidelog.session.transaction import Transaction
from tidelog.source import Source
from tidelog.syntax.scanner import scan
from tidelog.values import Value
from tidelog.values.text import TextError
from tidelog.views import Delta
from tidelog.web.epochs import find_delta, plain_epoch
from tidelog.web.replies import diagnostic_replies, mistake
from tidelog.web.schema import CheckReply, EpochReply
from tidelog.web.settings import WebSettings

# A delta that was only tried out may be large: two can be compared.
_KEPT_TRIALS: Final = 2

Facts = tuple[list[str], dict[str, list[tuple[Value, ...]]]]


class PageChanges:
    """Turns what a page asks for into transactions.

    `insert` and `delete` are lists of facts: texts such as `edge(1, 2)`, or objects with a `relation` and
    the `values` of its columns as they stand in a fact file. `add_rules` is a text, `remove_rules` a list
    of ids.
    """

    def __init__(self, session: Session, settings: WebSettings, find: Callable[[str], Relation]) -> None:
        self._session = session
        self._settings = settings
        self._find = find
        self._trials: OrderedDict[int, Delta] = OrderedDict()
        self._trial_number = 0
        self._trying = Lock()

    def commit(self, body: Mapping[str, object]) -> EpochReply:
        """Apply changes as one epoch and return what it did.

        `take_back` is the number of an epoch whose changes are undone instead.
        """
        self._check_may_write()
        undone = body.get("take_back")
        if isinstance(undone, int):
            inverse = find_delta(self._session, undone).inverse()
            return plain_epoch(self._session, self._session.apply(inverse))
        return plain_epoch(self._session, self._gather(body).commit())

    def check(self, body: Mapping[str, object]) -> CheckReply:
        """Return what is wrong with changes, as far as it shows without applying them."""
        self._check_may_write()
        try:
            transaction = self._gather(body)
        except TidelogError as error:
            return {"diagnostics": diagnostic_replies(error.diagnostics)}
        found = transaction.mistakes
        transaction.rollback()
        return {"diagnostics": diagnostic_replies(found)}

    def preview(self, body: Mapping[str, object]) -> EpochReply:
        """Return what changes would do; nothing has changed afterwards.

        The session is busy while a trial lasts, so there is one at a time.
        """
        self._check_may_write()
        if not self._trying.acquire(blocking=False):
            raise mistake("explorer-busy", "someone else is trying out changes", "try again in a moment")
        try:
            transaction = self._gather(body)
            delta = transaction.preview()
            transaction.rollback()
        finally:
            self._trying.release()
        self._trial_number += 1
        self._trials[self._trial_number] = delta
        while len(self._trials) > _KEPT_TRIALS:
            self._trials.popitem(last=False)
        return {**plain_epoch(self._session, delta), "trial": self._trial_number}

    def trial(self, number: int) -> Delta:
        """Return the delta of a trial."""
        found = self._trials.get(number)
        if found is None:
            raise mistake("no-such-epoch", f"trial {number} is no longer kept", "try the changes out again")
        return found

    def _check_may_write(self) -> None:
        if not self._settings.may_write:
            raise mistake(
                "read-only-explorer", "this explorer is read-only", "start it with --write to change facts"
            )

    def _gather(self, body: Mapping[str, object]) -> Transaction:
        wanted = {side: self._facts_of(body.get(side, []), side) for side in ("insert", "delete")}
        added, removed = self._rules_of(body)
        if not (any(texts or data for texts, data in wanted.values()) or added or removed):
            raise mistake("bad-request", "there is nothing to insert and nothing to delete")
        transaction = self._session.transaction()
        if removed:
            transaction.remove_rules(removed)
        if added:
            transaction.add_rules(added)
        for side, take in (("delete", transaction.delete), ("insert", transaction.insert)):
            texts, data = wanted[side]
            take(texts)
            take(data)
        return transaction

    def _rules_of(self, body: Mapping[str, object]) -> tuple[Source | None, list[int]]:
        """Return the rules to add and the ids of those to remove."""
        text, removed = body.get("add_rules", ""), body.get("remove_rules", [])
        if not isinstance(text, str):
            raise mistake("bad-request", "`add_rules` is a text")
        if not isinstance(removed, list) or not all(isinstance(each, int) for each in removed):
            raise mistake("bad-request", "`remove_rules` is a list of ids")
        if not text.strip():
            return None, removed
        # Each epoch has one, so its name is its own.
        source = Source(f"edit-{self._session.epoch + 1}.dl", text)
        if any(token.kind == "#" or token.text in (".include", ".once") for token in scan(source)):
            raise mistake(
                "bad-request",
                "rules typed into the explorer read no files",
                "leave `#` lines and .include out",
            )
        return source, removed

    def _facts_of(self, found: object, side: str) -> Facts:
        """Return the facts given as texts, and those given as values by relation."""
        if not isinstance(found, list):
            raise mistake("bad-request", f"`{side}` is a list of facts")
        texts: list[str] = []
        data: dict[str, list[tuple[Value, ...]]] = {}
        wrong: list[TidelogError] = []
        for each in found:
            match each:
                case str():
                    texts.append(each)
                case {"relation": str(name), "values": list(values)}:
                    try:
                        data.setdefault(name, []).append(self._parse(name, values))
                    except TidelogError as error:
                        wrong.append(error)
                case _:
                    raise mistake(
                        "bad-request", "a fact is a text, or an object with `relation` and `values`"
                    )
        if wrong:
            raise TidelogError(diagnostic for each in wrong for diagnostic in each.diagnostics)
        return texts, data

    def _parse(self, name: str, values: Sequence[object]) -> tuple[Value, ...]:
        """Return the values of a form; every one that does not fit its column is named."""
        relation, codec = self._find(name), self._session.snapshot.codec
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
