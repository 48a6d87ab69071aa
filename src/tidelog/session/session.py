"""The object a user holds: a program, its facts, and everything derived from them."""

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Literal, NoReturn, Self, TypeVar, cast, overload

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
from tidelog.program.nodes import Program
from tidelog.program.suggest import undeclared_relation
from tidelog.program.text import SomeRules, WrittenRule
from tidelog.progress import activity
from tidelog.session import mistakes
from tidelog.session.changes import SomeFacts
from tidelog.session.epochs import Epochs
from tidelog.session.pending import AnyChanges, Functions, PendingEpoch, SomeText
from tidelog.session.subscriptions import Callback, DeltaStream, Subscription, Subscriptions
from tidelog.session.transaction import Transaction
from tidelog.views import Answer, Delta, RelationView, Snapshot, answer_query
from tidelog.views.virtual import VirtualView, virtual_relation
from tidelog.views.write import write_outputs

if TYPE_CHECKING:
    # Loaded by the first question: a session that is never asked starts without proofs.
    from tidelog.explain.blame.answers import Blame, Repair
    from tidelog.explain.proofs.asked import AskedFact
    from tidelog.explain.proofs.atom import GroundAtom
    from tidelog.explain.proofs.guided import GuidedRefutation
    from tidelog.explain.proofs.metric import Metric
    from tidelog.explain.proofs.proof import Proof
    from tidelog.explain.proofs.refutation import Refutation
    from tidelog.explain.proofs.semiring import Semiring
    from tidelog.explain.proofs.service import ProofService
    from tidelog.profile.profile import Profile

T = TypeVar("T")


class Session:
    """An evaluated program: `db[name]` is a relation, `db.query(...)` an answer, `db.apply(...)` a delta.

    Made by `tidelog.open`; usable as a context manager, after which it holds nothing. Several
    threads may use a session: epochs happen one after the other, and a reader never sees half of one.
    """

    def __init__(self, epochs: Epochs, recorder: SessionRecorder) -> None:
        self._epochs = epochs
        self._recorder = recorder
        self._maintenance = epochs.request.options.maintenance
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
        return self._epochs.text.rules

    @property
    def warnings(self) -> tuple[Diagnostic, ...]:
        """Return the warnings: what looks suspicious but is not an error."""
        return self._epochs.warnings

    @property
    def statistics(self) -> SessionStatistics:
        """Return what the session took: seconds per phase, and every stratum's numbers."""
        return self._recorder.statistics()

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

        A name after `$` stands for the value given under that name, whatever characters it has:

            db.query("path($start, x)", start=name)
        """
        with Arguments() as arguments:
            arguments.text("text", text)
            if others:
                arguments.diagnostics.append(mistakes.VALUES_BY_NAME)
        with self._epochs.lock:
            return answer_query(text, self.snapshot, values)

    def explain(self) -> str:
        """Return the plan as text: for each stratum its rules as algebra, operators and indexes.

        Orders are those that the local engine would choose for relations as large as they are now.
        """
        from tidelog.algebra.plan_report import report_plan  # noqa: PLC0415 - few ask for the plan
        from tidelog.plan.statistics import KnownSizes  # noqa: PLC0415 - as above

        with self._epochs.lock:
            engine = self.snapshot.engine
            program = self._epochs.handle.passes(self.program)
            sizes = {name: float(engine.size(name)) for name in program.relations}
        return report_plan(program, KnownSizes(sizes))

    def profile(self) -> "Profile":
        """Return what the evaluation and the last epochs took, stratum by stratum.

        With `tidelog.open(..., profile=True)` it has every rule, iteration and operator of the evaluation.
        """
        from tidelog.profile.assemble import make_profile  # noqa: PLC0415 - few ask for it

        with self._epochs.lock:
            options = self._epochs.request.options
            return make_profile(self._recorder, self.snapshot, options, self.history)

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
        `strategy` and `max_update_share` are for this epoch alone.
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

        `text` is as for `tidelog.open`, or several of them; the whole program is checked again. New
        input relations start empty. `apply` changes facts in the same epoch.
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

        A rule is named by its id, by a member of `db.rules`, or by its text; several may be given.
        Declarations stay. `apply` changes facts in the same epoch.
        """
        with Arguments() as arguments:
            wanted = "a rule, its id or its text, or several"
            arguments.expect("rules", rules, wanted, is_right=rules is not None)
        return self.apply(remove_rules=rules, strategy=strategy, max_update_share=max_update_share)

    def subscribe(self, relation: str, callback: Callback) -> Subscription:
        """Return a subscription: after each epoch that changes the relation, `callback` gets its delta.

        Callbacks are called one at a time, in the order of epochs, after the commit; what one
        raises is logged. Call the subscription to end it.
        """
        if relation not in self:
            raise TidelogError([undeclared_relation(relation, self.relations, is_asked=True)])
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

    # --- explanations ------------------------------------------------------------------------------

    @cached_property
    def proofs(self) -> "ProofService":
        """Return the rules as written and the facts of the present epoch, for tools that explain."""
        from tidelog.explain.proofs.service import ProofService  # noqa: PLC0415 - see above

        return ProofService(self._epochs, self._epochs.request.options.provenance)

    def why(
        self, fact: "AskedFact", *, depth: int | None = None, metric: "Metric | str | None" = None
    ) -> "Proof":
        """Return why a fact holds: a proof, found step by step as it is looked at.

        `depth` is how deep its forms go. `metric` asks for the smallest proof, by `"height"`, `"nodes"`
        or a `Metric`.

            print(db.why("alias('userSession', 'ins')"))
            db.why(("path", (1, 3)), metric="height")
        """
        from tidelog.explain.proofs.arguments import check_why  # noqa: PLC0415 - see above

        check_why(depth, metric)
        with self._epochs.lock:
            self._check_open()
            return self.proofs.why(fact, metric).with_depth(depth)

    def why_all(
        self, fact: "AskedFact", *, limit: int | None = None, depth: int | None = None
    ) -> "list[Proof]":
        """Return proofs of a fact that begin with different derivations, at most `limit`."""
        from tidelog.explain.proofs.arguments import check_numbers  # noqa: PLC0415 - see above

        check_numbers(depth, limit)
        with self._epochs.lock:
            self._check_open()
            return [proof.with_depth(depth) for proof in self.proofs.all_proofs(fact, limit)]

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
        with self._epochs.lock:
            self._check_open()
            return self.proofs.annotation(fact, cast("Semiring[T]", chosen), leaf, cycles)

    @overload
    def why_not(self, fact: "AskedFact", *, depth: int = 1, limit: int = 3) -> "Refutation": ...

    @overload
    def why_not(self, fact: "AskedFact", *, guided: Literal[True]) -> "GuidedRefutation": ...

    def why_not(
        self, fact: "AskedFact", *, depth: int = 1, limit: int = 3, guided: bool = False
    ) -> "Refutation | GuidedRefutation":
        """Return why a fact does not hold: for each rule, how near it comes to deriving the fact.

        Each near miss has values for the rule's variables and says of every literal whether it
        holds; there are at most `limit` for each rule. Down to `depth` the missing facts are asked
        about in turn. With `guided` you choose the rule and the values.

            print(db.why_not("vpt('userSession', 'L4')"))
            db.why_not("vpt('userSession', 'L4')", guided=True).choose(2).bind(Var2="ins").literals
        """
        from tidelog.explain.proofs.arguments import check_why_not  # noqa: PLC0415 - see above

        check_why_not(depth=depth, limit=limit, guided=guided)
        with self._epochs.lock:
            self._check_open()
            return self.proofs.guide(fact) if guided else self.proofs.why_not(fact, depth, limit)

    def blame(
        self,
        unwanted: SomeFaults | None = None,
        missing: SomeFaults | None = None,
        *,
        epoch: SomeEpochs | None = None,
        method: Method = "reasons",
    ) -> "Blame":
        """Return changes that cause all the faults; none of them can be left out.

        `unwanted` are facts that appeared, `missing` ones that vanished: texts, with variables if all
        facts that match are meant, or facts by relation. `epoch` is the one whose changes are suspects,
        or a pair of epochs; the last one by default. Nothing is changed.

            db.blame(unwanted=["alias(x, 'sec')"], epoch=(3, 7))
        """
        from tidelog.explain.blame.inquiry import blame  # noqa: PLC0415 - brings the local engine

        with self._epochs.lock:
            self._check_open()
            return blame(self._epochs, FaultQuestion(unwanted, missing, epoch, method))

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

        Faults are named as for `blame`. A change costs 1 unless `costs` has another number for its fact
        or relation; those that `untouchable` or `reject` name stay. A repair in `reject` is not given
        again. After `seconds` the best one so far is given, with the least cost that is possible.
        `db.apply` takes a repair as it is.
        """
        from tidelog.explain.blame.inquiry import repair  # noqa: PLC0415 - brings the local engine and the solver

        wishes = Wishes(alternatives, costs, untouchable, reject, seconds)
        wishes.check(method)
        with self._epochs.lock:
            self._check_open()
            return repair(self._epochs, FaultQuestion(unwanted, missing, epoch, method), wishes)

    def guard(self, text: str | Path, *, strict: bool = False) -> tuple[Guard, ...]:
        """Return guards that every epoch from now on is held against, until `unguard`.

        A text names facts that must never hold, with variables if all that match are meant; `always`
        before it says that those which hold must not vanish. A path names a file with one guard to a
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
            self._check_open()
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

    def checkpoint(self) -> None:
        """Write the whole state to the store, so that opening it again replays no epoch."""
        with self._epochs.lock:
            self._check_open()
            if self._epochs.request.options.store is None:
                raise TidelogError([mistakes.NO_STORE])
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

    def __reduce__(self) -> NoReturn:
        """Refuse to be copied or pickled: facts are in arrays that other threads may be using."""
        raise TidelogError([mistakes.NOT_PICKLABLE])

    def __repr__(self) -> str:
        if self._is_closed:
            return "<closed session>"
        sizes = ", ".join(f"{name}: {len(self[name]):,}" for name in self.relations)
        return f"<session {sizes}>"

    def _repr_html_(self) -> str | None:
        if self._is_closed:
            return None
        return relations_html(self.epoch, self.schema, [len(self[name]) for name in self.relations])

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
            delta = work()
            delta.violations = self._guards.check(self._epochs, delta)
            self._subscriptions.add(delta)
        # Without the lock: a callback may wait for another thread that uses the session.
        self._subscriptions.tell()
        return delta

    def _check_open(self) -> None:
        _ = self.snapshot
