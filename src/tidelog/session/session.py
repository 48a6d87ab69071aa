"""The object a user holds: a program, its facts, and everything derived from them."""

from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, NoReturn, Self, TypeVar

from tidelog.engine.epoch import MaintenanceSettings, Strategy
from tidelog.engine.recorder import SessionRecorder, SessionStatistics
from tidelog.engine.strategy import check_rule_strategy, choose_strategy
from tidelog.errors import Diagnostic, TidelogError
from tidelog.errors.arguments import Arguments, is_path
from tidelog.explain.blame.wishes import (
    FaultQuestion,
    Method,
    Rejected,
    SomeChanges,
    SomeEpochs,
    SomeFaults,
    Wishes,
)
from tidelog.explain.guards.guards import Guard, Guards, read_guards
from tidelog.io.html import relations_html
from tidelog.program.suggest import undeclared_relation
from tidelog.program.text import SomeRules
from tidelog.progress import activity
from tidelog.session import mistakes
from tidelog.session.changes import SomeFacts
from tidelog.session.demand import Demand
from tidelog.session.epoch_view import EpochView, delta_between
from tidelog.session.epochs import Epochs
from tidelog.session.past_epochs import PastEpochs
from tidelog.session.pending import AnyChanges, Functions, PendingEpoch, SomeText
from tidelog.session.reader import EpochReader
from tidelog.session.spark_frames import spark_failures
from tidelog.session.subscriptions import Callback, DeltaStream, Subscription, Subscriptions
from tidelog.session.transaction import Transaction
from tidelog.views import Delta
from tidelog.views.delta_between import DeltaBetween
from tidelog.views.lookup import find_codes
from tidelog.views.matching import matching_facts
from tidelog.views.write import write_outputs

if TYPE_CHECKING:
    # Loaded by the first question: a session that is never asked starts without proofs.
    from tidelog.explain.blame.answers import Blame, Repair
    from tidelog.explain.proofs.asked import AskedFact
    from tidelog.explain.proofs.service import ProofService
    from tidelog.profile.profile import Profile
    from tidelog.session.ranges import Ranges

T = TypeVar("T")


class Session(EpochReader):
    """An evaluated program: `db[name]` is a relation, `db.query(...)` an answer, `db.apply(...)` a delta.

    `tidelog.open` returns one. It is a context manager; leaving the block releases all facts. Several
    threads may use a session: epochs happen one after the other, and a reader never sees half of one.
    """

    def __init__(self, epochs: Epochs, recorder: SessionRecorder) -> None:
        super().__init__(epochs, epochs.request.options.provenance)
        self._epochs = epochs
        self._recorder = recorder
        self._maintenance = epochs.request.options.maintenance
        self._subscriptions = Subscriptions()
        self._guards = Guards()
        self._is_closed = False

    # --- what is known -------------------------------------------------------------------------

    @property
    def inputs(self) -> tuple[str, ...]:
        """Return the names of the relations whose facts may be inserted and deleted."""
        return tuple(name for name in self.relations if name in self._epochs.changeable)

    @property
    def warnings(self) -> tuple[Diagnostic, ...]:
        """Return the warnings: what looks suspicious but is not an error."""
        return self._epochs.warnings

    @property
    def statistics(self) -> SessionStatistics:
        """Return how long each phase took, in seconds, and the numbers of every stratum."""
        return self._recorder.statistics()

    def explain(self) -> str:
        """Return the plan as text: for each stratum its rules as algebra, operators and indexes.

        Orders are those that the local engine would choose for the current sizes of the relations.
        """
        from tidelog.algebra.plan_report import report_plan  # noqa: PLC0415 - few ask for the plan
        from tidelog.plan.statistics import KnownSizes  # noqa: PLC0415 - as above

        with self._epochs.lock:
            self._check_open()
            # What questions derive is not evaluated for a plan.
            engine = self._epochs.handle.engine
            program = self._epochs.handle.passes(self.program)
            sizes = {name: float(engine.size(name)) for name in program.relations}
        return report_plan(program, KnownSizes(sizes))

    def profile(self) -> "Profile":
        """Return where the evaluation and the last epochs spent their time, stratum by stratum.

        With `tidelog.open(..., profile=True)` it has every rule, iteration and operator of the evaluation.
        """
        from tidelog.profile.assemble import make_profile  # noqa: PLC0415 - few ask for it

        with self._epochs.lock:
            options = self._epochs.request.options
            return make_profile(self._recorder, self.snapshot, options, self.history)

    # --- epochs ----------------------------------------------------------------------------------

    @property
    def demands(self) -> tuple[Demand, ...]:
        """Return what a session that evaluates on demand derived and keeps, by kind of question."""
        with self._epochs.lock:
            self._check_open()
            return () if self._epochs.demands is None else self._epochs.demands.all

    @property
    def history(self) -> tuple[Delta, ...]:
        """Return the deltas of the last epochs, oldest first.

        A session over a store also knows the epochs since its last checkpoint. After a thousand epochs,
        or a million changed facts, the oldest are dropped.
        """
        with self._epochs.lock:
            return self._epochs.history.deltas

    def at(self, epoch: int) -> EpochView:
        """Return an epoch as it was: its relations, queries, proofs, and its rules.

        You can read any epoch that the history leads back to, and it stays readable in later epochs as
        long as it is kept. `tidelog.open(..., keep_epochs=N)` sets how many are kept.

            db.at(3)["path"]
            db.at(3).why("path(1, 3)")
        """
        with Arguments() as arguments:
            arguments.whole("epoch", epoch, least=0)
        with self._epochs.lock:
            self._check_eager("at")
            return EpochView(PastEpochs(self._epochs, int(epoch)), self._provenance)

    def diff(self, before: int, after: int) -> DeltaBetween:
        """Return the delta that leads from one epoch to another, earlier or later.

        db.diff(3, 9)["path"].inserted
        """
        with Arguments() as arguments:
            arguments.whole("before", before, least=0)
            arguments.whole("after", after, least=0)
        with self._epochs.lock:
            self._check_open()
            return delta_between(self._epochs, int(before), int(after))

    def apply(  # noqa: PLR0913 - each is a choice of its own, all have a default
        self,
        changes: AnyChanges | None = None,
        /,
        *,
        insert: SomeFacts | None = None,
        delete: SomeFacts | None = None,
        add_rules: SomeText | None = None,
        remove_rules: SomeRules | None = None,
        functions: Functions | None = None,
        strategy: str | Strategy | None = None,
        max_update_share: float | None = None,
    ) -> Delta:
        """Return what changes when facts and rules are inserted and deleted: one epoch, or nothing at all.

        `insert` and `delete` map relations to facts in any form that `tidelog.open` takes, or are
        texts. A fact in both is inserted. `changes` is a change script, or says by relation what to
        do: a `tidelog.Change`, or the delta of another session or of an epoch taken back. It may also be
        a repair, which takes back rules and facts, or the edit script of a tree, which changes those
        relations of the tree that the program has.

            db.apply(insert={"edge": [(1, 2)]}, delete={"edge": frame})
            db.apply(insert=["edge(1, 2)", "edge(2, 3)"])
            db.apply("+edge(1, 2). -edge(2, 3).")
            db.apply(add_rules="path(x, z) :- path(x, y), edge(y, z).", insert=["edge(3, 4)"])

        `add_rules` and `remove_rules` work as the methods of these names, with `functions` for the rules
        that are added; a rule in both is added. Facts may be of relations that the new rules declare.

        Only input relations can be changed. If there are mistakes, all are reported and nothing changes.
        `strategy` and `max_update_share` apply to this epoch alone.
        """
        settings = self._choose(strategy, max_update_share)

        def work() -> Delta:
            pending = self._epochs.gather()
            pending.rules_of(changes)
            if add_rules is not None or remove_rules is not None or functions is not None:
                pending.rules(remove=remove_rules, add=add_rules, functions=functions)
            if changes is not None:
                pending.changes(changes)
            if delete is not None:
                pending.facts(delete, is_insert=False)
            if insert is not None:
                pending.facts(insert, is_insert=True)
            return self._apply(pending, settings)

        return self._commit(work)

    def transaction(
        self, *, strategy: str | Strategy | None = None, max_update_share: float | None = None
    ) -> Transaction:
        """Return a collection of changes that is applied at the end of its `with` block.

        with db.transaction() as t:
            t.insert("edge", [(1, 2)])
            t.delete("edge(2, 3)")
            t.add_rules("path(x, z) :- path(x, y), edge(y, z).")
        print(t.delta)
        """
        settings = self._choose(strategy, max_update_share)

        def commit(pending: PendingEpoch) -> Delta:
            return self._commit(lambda: self._apply(pending, settings))

        with self._epochs.lock:
            self._check_open()
            return Transaction(self._epochs.gather(), commit, self._epochs.preview)

    def add_rules(
        self,
        text: SomeText,
        *,
        functions: Functions | None = None,
        strategy: str | Strategy | None = None,
        max_update_share: float | None = None,
    ) -> Delta:
        """Return what changes when the program gets more rules, or declarations and rules.

        `text` is a program as for `tidelog.open`, or several; the whole program is checked again. New
        input relations start empty. Use `apply` to change facts in the same epoch.
        """
        with Arguments() as arguments:
            arguments.expect("text", text, "a text or a path, or several", is_right=text is not None)
        return self.apply(
            add_rules=text, functions=functions, strategy=strategy, max_update_share=max_update_share
        )

    def remove_rules(
        self,
        rules: SomeRules,
        *,
        strategy: str | Strategy | None = None,
        max_update_share: float | None = None,
    ) -> Delta:
        """Return what changes when the program loses rules.

        Name a rule by its id, by a member of `db.rules`, or by its text; you can pass several.
        Declarations stay. Use `apply` to change facts in the same epoch.
        """
        with Arguments() as arguments:
            wanted = "a rule, its id or its text, or several"
            arguments.expect("rules", rules, wanted, is_right=rules is not None)
        return self.apply(remove_rules=rules, strategy=strategy, max_update_share=max_update_share)

    def subscribe(self, relation: str, callback: Callback) -> Subscription:
        """Return a subscription: after each epoch that changes the relation, `callback` gets its delta.

        Callbacks run one at a time, in the order of epochs; exceptions are logged. Call the subscription to
        end it.
        """
        if relation not in self:
            raise TidelogError([undeclared_relation(relation, self.relations, is_asked=True)])
        with Arguments() as arguments:
            arguments.function("callback", callback)
        if self._is_on_demand(relation):
            self._check_eager("subscribe")
        self._check_open()
        return self._subscriptions.subscribe(relation, callback)

    def ranges(self, relation: str, over: str, of: str | None = None) -> "Ranges":
        """Return counts, sums and extremes of the column `of` over ranges of the column `over`."""
        from tidelog.session.ranges import open_ranges  # noqa: PLC0415 - only for those who ask

        return open_ranges(self.snapshot, self._subscriptions, relation, over, of)

    def deltas(self, bound: int = 1024) -> DeltaStream:
        """Return an iterator that waits for the deltas of the epochs from now on, until the session ends.

        A reader, perhaps in another thread, that falls more than `bound` epochs behind gets an error.
        """
        with Arguments() as arguments:
            arguments.whole("bound", bound, least=1)
        self._check_open()
        return self._subscriptions.stream(bound)

    # --- blame ---------------------------------------------------------------------------------------

    def proofs_of(self, facts: str, *, rules: str = "", limit: int | None = None) -> "Session":
        """Return a new session whose relations are the proofs of all facts that match an atom.

        `finding(fact)` has the facts, at most `limit` of them, `step(id, fact, rule)` the steps of their
        proofs, and `premise(id, position, fact)` what each step rests on. Facts are texts, and the rule of an
        input fact is `input`. `rules` are declarations and rules that read these relations.

            db.proofs_of("alias(x, y)").query("step(_, fact, 'input')")
        """
        from tidelog.explain.proofs import proof_relations  # noqa: PLC0415 - few ask for them
        from tidelog.session.open import open_session  # noqa: PLC0415 - it opens sessions such as this one

        with Arguments() as arguments:
            arguments.text("facts", facts)
            arguments.text("rules", rules)
            arguments.whole("limit", limit, least=1, is_optional=True)
        with self._epochs.lock:
            self._check_open()
            found = matching_facts(facts, self.snapshot)
            rows = proof_relations.proof_relations(self.why(each) for each in found[:limit])
        return open_session(proof_relations.DECLARATIONS + rules, facts=rows, jobs=1)

    def blame(
        self,
        unwanted: SomeFaults | None = None,
        missing: SomeFaults | None = None,
        *,
        epoch: SomeEpochs | None = None,
        method: Method = "reasons",
        proofs: bool = True,
    ) -> "Blame":
        """Return changes that cause all the faults; none of them can be left out.

        `unwanted` are facts that appeared, `missing` facts that vanished: texts, with variables for all
        facts that match, or facts by relation. `epoch` is the one whose changes are suspects,
        or a pair of epochs; the last one by default. Without `proofs` the answer comes sooner, and does
        not tell how the changes cause the faults. Nothing is changed.

            db.blame(unwanted=["alias(x, 'sec')"], epoch=(3, 7))
        """
        from tidelog.explain.blame.inquiry import blame  # noqa: PLC0415 - brings the local engine

        with self._epochs.lock:
            self._check_eager("blame")
            return blame(self._epochs, FaultQuestion(unwanted, missing, epoch, method, proofs=proofs))

    def repair(  # noqa: PLR0913 - each is a choice of its own, all have a default
        self,
        unwanted: SomeFaults | None = None,
        missing: SomeFaults | None = None,
        *,
        epoch: SomeEpochs | None = None,
        method: Method = "reasons",
        alternatives: int = 1,
        costs: Mapping[str, float] | None = None,
        untouchable: SomeChanges = (),
        reject: Rejected = (),
        seconds: float = 60.0,
    ) -> "Repair":
        """Return the cheapest changes to take back so that none of the faults remains.

        Name faults as for `blame`. A change costs 1 unless `costs` has another number for its fact
        or relation; changes that `untouchable` or `reject` name stay. A repair in `reject` is not returned
        again. After `seconds` the best repair so far is returned, with a proven lower bound of the cost.
        `db.apply` takes a repair as it is.
        """
        from tidelog.explain.blame.inquiry import repair  # noqa: PLC0415 - brings the local engine and the solver

        wishes = Wishes(alternatives, costs, untouchable, reject, seconds)
        wishes.check(method)
        with self._epochs.lock:
            self._check_eager("repair")
            return repair(self._epochs, FaultQuestion(unwanted, missing, epoch, method), wishes)

    def guard(self, text: str | Path, *, strict: bool = False) -> tuple[Guard, ...]:
        """Return guards that every later epoch is checked against, until `unguard`.

        A text names facts that must never hold, with variables for all that match; `always`
        before it means that those which hold must not vanish. A path names a file with one guard per
        line. An epoch that breaks a guard has `violations` in its delta, with blame and repair;
        a strict guard refuses the epoch.

            db.guard("alias('user', 'sec')")
            db.guard("always reachable('main')", strict=True)
        """
        with Arguments() as arguments:
            wanted = "a text, or the path of a file"
            is_right = isinstance(text, str) or (isinstance(text, Path) and is_path(text))
            arguments.expect("text", text, wanted, is_right=is_right)
            arguments.flag("strict", strict)
        guards = read_guards(text, is_strict=strict)
        with self._epochs.lock:
            self._check_eager("guard")
            self._guards.add(guards, self._epochs)
        return guards

    @property
    def guards(self) -> tuple[Guard, ...]:
        """Return the guards of the session."""
        return self._guards.all

    def unguard(self, *guards: Guard) -> None:
        """Drop some guards, or all of them."""
        with self._epochs.lock:
            known = self._guards.all
            with Arguments() as arguments:
                for guard in guards:
                    arguments.expect("guards", guard, "guards of the session", is_right=guard in known)
            self._guards.remove(guards)

    # --- the rest --------------------------------------------------------------------------------

    def write(self, directory: Path | str) -> None:
        """Write every `.output` relation as its directive says, all of them or none."""
        snapshot = self.snapshot
        with Arguments() as arguments:
            arguments.path("directory", directory)
        with self._recorder.phase("write"), snapshot.lock:
            write_outputs(snapshot, Path(directory))

    def checkpoint(self, *, indexes: bool = False) -> None:
        """Write the whole state to the store, so that opening it again replays no epoch.

        With `indexes` the state is also written as it is in memory, with all tables and indexes that small
        epochs need. Opening the store again then maps that file and builds nothing, and a first epoch takes
        as long as any other; the file takes about as much room on the disk as the session takes in memory.
        """
        with self._epochs.lock:
            self._check_open()
            if not self._epochs.has_store:
                raise TidelogError([mistakes.NO_STORE])
            self._epochs.save(with_indexes=indexes)

    def leave_store(self) -> None:
        """Close the store and go on in memory: epochs from here on are not written."""
        with self._epochs.lock:
            self._check_open()
            self._epochs.leave_store()

    def close(self) -> None:
        """Release all facts; only the program and the statistics are available afterwards."""
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

    def __reduce__(self) -> NoReturn:
        """Refuse to be copied or pickled: facts are in arrays that other threads may be using."""
        raise TidelogError([mistakes.NOT_PICKLABLE])

    def __repr__(self) -> str:
        if self._is_closed:
            return "<closed session>"
        sizes = ", ".join(f"{name}: {self._size(name)}" for name in self.relations)
        return f"<session {sizes}>"

    def _repr_html_(self) -> str | None:
        if self._is_closed:
            return None
        sizes = ["on demand" if self._is_on_demand(name) else len(self[name]) for name in self.relations]
        return relations_html(self.epoch, self.schema, sizes)

    def _size(self, name: str) -> str:
        """Return the number of facts in words; to look at a session is no question."""
        return "on demand" if self._is_on_demand(name) else f"{len(self[name]):,}"

    def _is_on_demand(self, name: str) -> bool:
        demands = self._epochs.demands
        return demands is not None and name in demands.split.demanded

    def _check_eager(self, verb: str) -> None:
        self._check_open()
        if self._epochs.demands is not None:
            raise TidelogError([mistakes.on_demand(verb)])

    def _proofs_of(self, fact: "AskedFact", *, is_whole: bool = False) -> "ProofService":
        demands = self._epochs.demands
        if demands is None:
            return self.proofs
        from tidelog.session.demand_proofs import demand_proofs  # noqa: PLC0415 - few sessions need it

        atom = self.proofs.read(fact)
        if not self._is_on_demand(atom.relation):
            return self.proofs
        types = [column.type for column in self.program.relations[atom.relation].columns]
        codes = None if is_whole else find_codes(atom.fact, types, self.snapshot.codec)
        return demand_proofs(self._epochs, demands.ask(atom.relation, codes or ()), self._provenance)

    def _choose(self, strategy: str | Strategy | None, max_update_share: float | None) -> MaintenanceSettings:
        return choose_strategy(
            self._maintenance, strategy, max_update_share, self._epochs.request.options.engine
        )

    @activity("applying changes")
    def _apply(self, pending: PendingEpoch, settings: MaintenanceSettings) -> Delta:
        if pending.has_rules and settings is not self._maintenance:
            check_rule_strategy(settings.strategy, self._epochs.request.options.engine)
        if self._guards.strict:
            pending.check_program(self._epochs.prepared)
            net = pending.net(self._epochs.handle.engine)
            after = pending.prepared(net) if pending.has_rules else None
            self._guards.rehearse(self._epochs, net.changes, after)
        return self._epochs.apply(pending, settings)

    def _commit(self, work: Callable[[], Delta]) -> Delta:
        with self._epochs.lock:
            self._check_open()
            with spark_failures(self._epochs.request.options.engine):
                delta = work()
            delta.violations = self._guards.check(self._epochs, delta)
            self._subscriptions.add(delta)
        # Without the lock: a callback may wait for another thread that uses the session.
        self._subscriptions.tell()
        return delta
