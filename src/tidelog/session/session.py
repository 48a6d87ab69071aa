"""The object a user holds: a program, its facts, and everything derived from them."""

from collections.abc import Callable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Self

from tidelog.engine.epoch import MaintenanceSettings, Strategy
from tidelog.engine.strategy import check_rule_strategy, choose_strategy
from tidelog.errors import Diagnostic, TidelogError
from tidelog.errors.arguments import Arguments, written
from tidelog.explain.blame.answers import Repair
from tidelog.explain.guards.guards import Guards
from tidelog.program.nodes import Program
from tidelog.program.suggest import did_you_mean
from tidelog.program.text import SomeRules, WrittenRule
from tidelog.progress import activity
from tidelog.session.blaming import Blaming
from tidelog.session.changes import Changes, SomeFacts
from tidelog.session.epochs import Epochs
from tidelog.session.explaining import Explaining
from tidelog.session.pending import Functions, PendingEpoch, SomeText
from tidelog.session.recorder import Recorder, Statistics
from tidelog.session.subscriptions import Callback, DeltaStream, Subscription, Subscriptions
from tidelog.session.transaction import Transaction
from tidelog.session.trees import script_changes
from tidelog.session.write import write_outputs
from tidelog.syntax.changes import WrittenTransaction
from tidelog.trees.edits import EditScript
from tidelog.views import Answer, Delta, RelationView, Snapshot, answer_query
from tidelog.views.virtual import VirtualView, virtual_relation


class Session(Explaining, Blaming):
    """An evaluated program: `db[name]` is a relation, `db.query(...)` an answer, `db.apply(...)` a delta.

    Made by `tidelog.open`; usable as a context manager, after which it holds nothing. Several
    threads may use a session: epochs happen one after the other, and whoever reads sees a whole one.
    """

    def __init__(self, epochs: Epochs, recorder: Recorder) -> None:
        self._epochs = epochs
        self._recorder = recorder
        self._maintenance = epochs.request.maintenance
        self._subscriptions = Subscriptions()
        self._guards = Guards()
        self._is_closed = False

    # --- what is known -------------------------------------------------------------------------

    @property
    def program(self) -> Program:
        """Return the checked program."""
        return self._epochs.program

    @property
    def epoch(self) -> int:
        """Return the number of the present epoch; evaluating the program was epoch 0."""
        return self._epochs.epoch

    @property
    def snapshot(self) -> Snapshot:
        """Return what is known, for tools that work on codes."""
        return self._epochs.snapshot

    @property
    def relations(self) -> tuple[str, ...]:
        """Return the names of all relations."""
        return tuple(self.program.relations)

    @property
    def inputs(self) -> tuple[str, ...]:
        """Return the names of the relations whose facts may be inserted and deleted."""
        return tuple(name for name in self.relations if name in self._epochs.changeable)

    @property
    def rules(self) -> tuple[WrittenRule, ...]:
        """Return the rules as they were written, each with its id, text and span."""
        return self._epochs.text.rules

    @property
    def warnings(self) -> tuple[Diagnostic, ...]:
        """Return what the checks found strange but not wrong."""
        return self._epochs.warnings

    @property
    def statistics(self) -> Statistics:
        """Return what the session took: seconds per phase, and every stratum's numbers."""
        return self._recorder.statistics()

    def __getitem__(self, name: str) -> RelationView:
        snapshot = self.snapshot
        if name not in self:
            raise TidelogError([self._unknown(name)])
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

    def query(self, text: str) -> Answer:
        """Return the bindings of the query's variables, in the order they first occur.

        A query is one atom or a whole body, with strings in single or double quotes:

            db.query("path(1, x)")
            db.query("edge(x, y), !edge(y, x), x < 10")
        """
        with Arguments() as arguments:
            arguments.text("text", text)
        with self._epochs.lock:
            return answer_query(text, self.snapshot)

    # --- epochs ----------------------------------------------------------------------------------

    @property
    def history(self) -> tuple[Delta, ...]:
        """Return the deltas of the last epochs, oldest first.

        A session over a store knows the epochs since its last snapshot too. After a thousand epochs,
        or a million changed facts, the oldest are forgotten.
        """
        with self._epochs.lock:
            return self._epochs.history.deltas

    def apply(  # noqa: PLR0913 - each is a choice of its own, all have a default
        self,
        changes: Changes | WrittenTransaction | EditScript | Repair | None = None,
        /,
        *,
        insert: SomeFacts | None = None,
        delete: SomeFacts | None = None,
        add_rules: SomeText | None = None,
        remove_rules: SomeRules | None = None,
        functions: Functions | None = None,
        strategy: str | Strategy | None = None,
        switch: float | None = None,
    ) -> Delta:
        """Return what changes when facts and rules are inserted and deleted: one epoch, or nothing at all.

        `insert` and `delete` map relations to facts in any form that `tidelog.open` takes, or are
        texts. A fact in both is inserted. `changes` is a change script, or says by relation what to
        do: a `tidelog.Change`, or the delta of another session or of an epoch taken back. A repair
        takes its changes back, rules and facts. The edit script of a tree changes the relations of the
        tree that the program has.

            db.apply(insert={"edge": [(1, 2)]}, delete={"edge": frame})
            db.apply(insert=["edge(1, 2)", "edge(2, 3)"])
            db.apply("+edge(1, 2). -edge(2, 3).")
            db.apply(add_rules="path(x, z) :- path(x, y), edge(y, z).", insert=["edge(3, 4)"])

        `add_rules` and `remove_rules` are as for the methods of these names, with `functions` for what
        is added; a rule in both is added. Facts may be of relations that the new rules declare.

        Only input relations can be changed. Every mistake is reported and then nothing has changed.
        `strategy` and `switch` are for this epoch alone.
        """
        settings = self._choose(strategy, switch)

        def work() -> Delta:
            pending = self._epochs.gather()
            pending.rules_of(changes)
            if add_rules is not None or remove_rules is not None or functions is not None:
                pending.rules(remove=remove_rules, add=add_rules, functions=functions)
            _take_changes(pending, changes, self.program)
            if delete is not None:
                pending.facts(delete, is_insert=False)
            if insert is not None:
                pending.facts(insert, is_insert=True)
            return self._apply(pending, settings)

        return self._commit(work)

    def transaction(
        self, *, strategy: str | Strategy | None = None, switch: float | None = None
    ) -> Transaction:
        """Return a collection of changes that is applied at the end of its `with` block.

        with db.transaction() as t:
            t.insert("edge", [(1, 2)])
            t.delete("edge(2, 3)")
            t.add_rules("path(x, z) :- path(x, y), edge(y, z).")
        print(t.delta)
        """
        settings = self._choose(strategy, switch)

        def commit(pending: PendingEpoch) -> Delta:
            return self._commit(lambda: self._apply(pending, settings))

        with self._epochs.lock:
            self._check_open()
            return Transaction(self._epochs.gather(), commit)

    def add_rules(
        self,
        text: SomeText,
        *,
        functions: Functions | None = None,
        strategy: str | Strategy | None = None,
        switch: float | None = None,
    ) -> Delta:
        """Return what changes when the program gets more rules, or declarations and rules.

        `text` is as for `tidelog.open`, or several of them; the whole program is checked again. New
        input relations start empty. `apply` changes facts in the same epoch.
        """
        with Arguments() as arguments:
            arguments.expect("text", text, "a text or a path, or several", is_right=text is not None)
        return self.apply(add_rules=text, functions=functions, strategy=strategy, switch=switch)

    def remove_rules(
        self, rules: SomeRules, *, strategy: str | Strategy | None = None, switch: float | None = None
    ) -> Delta:
        """Return what changes when the program loses rules.

        A rule is named by its id, by a member of `db.rules`, or by its text; several may be given.
        Declarations stay. `apply` changes facts in the same epoch.
        """
        with Arguments() as arguments:
            wanted = "a rule, its id or its text, or several"
            arguments.expect("rules", rules, wanted, is_right=rules is not None)
        return self.apply(remove_rules=rules, strategy=strategy, switch=switch)

    def subscribe(self, relation: str, callback: Callback) -> Subscription:
        """Return a subscription: after each epoch that changes the relation, the callback is given its delta.

        Callbacks are called one at a time, in the order of epochs, after the commit; what one
        raises is logged. Call the subscription to end it.
        """
        if relation not in self:
            raise TidelogError([self._unknown(relation)])
        with Arguments() as arguments:
            arguments.function("callback", callback)
        self._check_open()
        return self._subscriptions.subscribe(relation, callback)

    def deltas(self, bound: int = 1024) -> DeltaStream:
        """Return an iterator over the deltas of the epochs from now on, for another thread perhaps.

        It waits for the next epoch and ends when the session is closed. A reader that is more than
        `bound` epochs behind gets an error.
        """
        with Arguments() as arguments:
            arguments.whole("bound", bound, least=1)
        self._check_open()
        return self._subscriptions.stream(bound)

    # --- the rest --------------------------------------------------------------------------------

    def write(self, directory: Path | str) -> None:
        """Write every `.output` relation as its directive says, all of them or none."""
        snapshot = self.snapshot
        with Arguments() as arguments:
            arguments.path("directory", directory)
        with self._recorder.phase("write"), snapshot.lock:
            write_outputs(snapshot, Path(directory))

    def checkpoint(self) -> None:
        """Write the whole state to the store, so that opening it again replays no epoch."""
        with self._epochs.lock:
            self._check_open()
            if self._epochs.request.store is None:
                raise TidelogError([_no_store()])
            self._epochs.save()

    def close(self) -> None:
        """Release all facts; only the program and the statistics can be asked afterwards."""
        with self._epochs.lock:
            if self._is_closed:
                return
            self._is_closed = True
            self._epochs.close()
        self._subscriptions.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        if self._is_closed:
            return "<closed session>"
        sizes = ", ".join(f"{name}: {len(self[name]):,}" for name in self.relations)
        return f"<session {sizes}>"

    def _choose(self, strategy: str | Strategy | None, switch: float | None) -> MaintenanceSettings:
        return choose_strategy(self._maintenance, strategy, switch, self._epochs.request.engine)

    @activity("applying changes")
    def _apply(self, pending: PendingEpoch, settings: MaintenanceSettings) -> Delta:
        if pending.has_rules and settings is not self._maintenance:
            check_rule_strategy(settings.strategy, self._epochs.request.engine)
        if self._guards.strict:
            pending.check_program(self._epochs.prepared)
            net = pending.net(self._epochs.handle.engine)
            after = pending.prepared(net) if pending.has_rules else None
            self._guards.rehearse(self._epochs, net.changes, after)
        return self._epochs.apply(pending, settings)

    def _commit(self, work: Callable[[], Delta]) -> Delta:
        with self._epochs.lock:
            self._check_open()
            delta = work()
            delta.violations = self._guards.check(self._epochs, delta)
            self._subscriptions.add(delta)
        # Without the lock: a callback may wait for another thread that uses the session.
        self._subscriptions.tell()
        return delta

    def _check_open(self) -> None:
        _ = self.snapshot

    def _unknown(self, name: object) -> Diagnostic:
        return Diagnostic(
            code="undeclared-relation",
            message=f"the program has no relation `{written(name)}`",
            hint=did_you_mean(written(name), self.relations, f"it has {', '.join(self.relations) or 'none'}"),
        )


def _no_store() -> Diagnostic:
    return Diagnostic(
        code="no-effect",
        message="there is no store to write a checkpoint to",
        hint="open the session with one: tidelog.open(..., store='folder')",
    )


def _take_changes(
    pending: PendingEpoch,
    changes: Changes | WrittenTransaction | EditScript | Repair | None,
    program: Program,
) -> None:
    """Take the first argument of `apply`, whatever it is."""
    if isinstance(changes, Repair):
        changes.gather(pending)
    elif isinstance(changes, WrittenTransaction):
        pending.transaction(changes)
    elif isinstance(changes, EditScript):
        pending.changes(script_changes(changes, program.relations))
    elif changes is not None:
        pending.changes(changes)
