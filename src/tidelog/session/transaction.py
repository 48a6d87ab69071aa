"""Changes gathered one by one and applied together."""

from collections.abc import Callable
from types import TracebackType
from typing import Final, Self

from tidelog.errors import Diagnostic, TidelogError
from tidelog.errors.arguments import Arguments
from tidelog.program.text import SomeRules
from tidelog.session.changes import Changes, SomeFacts
from tidelog.session.pending import Functions, PendingEpoch, SomeText
from tidelog.syntax.changes import WrittenChange
from tidelog.views import Delta

_NOTHING: Final = object()


class Transaction:
    """Changes that become one epoch at the end of the `with` block, or nothing at all.

        with db.transaction() as t:
            t.insert("edge", [(1, 2)])
            t.delete("edge(2, 3)")
            t.add_rules("path(x, z) :- path(x, y), edge(y, z).")
        t.delta

    The last change to a fact counts. Rules and facts change together. Mistakes are
    reported at the end, all at once. An exception inside the block leaves the session as it was.
    """

    def __init__(
        self,
        pending: PendingEpoch,
        commit: Callable[[PendingEpoch], Delta],
        preview: Callable[[PendingEpoch], Delta],
    ) -> None:
        self._pending: PendingEpoch | None = pending
        self._commit = commit
        self._preview = preview
        self._delta: Delta | None = None

    def insert(self, facts: SomeFacts, data: object = _NOTHING) -> None:
        """Insert facts: `insert("edge", rows)`, `insert({"edge": rows})` or `insert("edge(1, 2)")`."""
        self._take(facts, data, is_insert=True)

    def delete(self, facts: SomeFacts, data: object = _NOTHING) -> None:
        """Delete facts, in the forms that `insert` takes."""
        self._take(facts, data, is_insert=False)

    def change(self, changes: Changes) -> None:
        """Take a change script such as `"+edge(1, 2). -edge(2, 3)."`, or changes by relation."""
        pending = self._open()
        pending.rules_of(changes)
        pending.changes(changes)

    def add_rules(self, text: SomeText, *, functions: Functions | None = None) -> None:
        """Add rules, or declarations and rules; later changes may be to relations that they declare."""
        self._open().rules(add=text, functions=functions)

    def remove_rules(self, rules: SomeRules) -> None:
        """Remove rules, named by id, by a member of `db.rules` or by text."""
        self._open().rules(remove=rules)

    def written(self, change: WrittenChange) -> None:
        """Take a change that was read from a script."""
        with Arguments() as arguments:
            is_right = isinstance(change, WrittenChange)
            arguments.expect("change", change, "a change read from a script", is_right=is_right)
        self._open().written([change])

    @property
    def mistakes(self) -> tuple[Diagnostic, ...]:
        """Return what is wrong with the changes so far."""
        return self._open().all_mistakes

    @property
    def delta(self) -> Delta:
        """Return what the transaction changed, once it is committed."""
        if self._delta is None:
            raise TidelogError([_not_committed()])
        return self._delta

    def preview(self) -> Delta:
        """Return the delta that the changes so far would cause, and leave the session unchanged.

        t = db.transaction()
        t.add_rules("path(x, z) :- path(x, y), edge(y, z).")
        print(t.preview())
        t.rollback()
        """
        return self._preview(self._open())

    def commit(self) -> Delta:
        """Apply the changes now; nothing can be added afterwards."""
        pending, self._pending = self._open(), None
        self._delta = self._commit(pending)
        return self._delta

    def rollback(self) -> None:
        """Discard the changes; nothing can be added afterwards."""
        self._pending = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None:
            self.rollback()
        elif self._pending is not None:
            self.commit()

    def _take(self, facts: SomeFacts, data: object, *, is_insert: bool) -> None:
        pending = self._open()
        if data is _NOTHING:
            pending.facts(facts, is_insert=is_insert)
        else:
            pending.data(facts, data, is_insert=is_insert)  # type: ignore[arg-type]  # checked there

    def _open(self) -> PendingEpoch:
        if self._pending is None:
            raise TidelogError([_ended()])
        return self._pending


def _ended() -> Diagnostic:
    return Diagnostic(
        code="transaction-ended",
        message="the transaction was committed or rolled back already",
        hint="begin another one with db.transaction()",
    )


def _not_committed() -> Diagnostic:
    return Diagnostic(
        code="transaction-ended",
        message="the transaction has no delta, because it was not committed",
        hint="leave the `with` block first",
    )
