"""What partners do for a session: they evaluate, load, and follow changes, one request after the other.

A job of its own brings the requests with it. A resident partner receives them on the driver's connection
and keeps its state in memory between them. What a request did can be undone until the driver confirms that
all partners did it: when one is lost, the others return to what was confirmed and go on with another one.
"""

import json
import pickle
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, field, replace
from functools import partial
from typing import Any, Final

import numpy as np

from tidelog.dataclass import dataclass
from tidelog.engine.epoch import StratumReport
from tidelog.engine.protocol import Settings
from tidelog.engine.spark.codes import Known
from tidelog.engine.spark.failures import failure_text
from tidelog.engine.spark.files import Annotated, Folder, file_name
from tidelog.engine.spark.message import Message
from tidelog.engine.spark.placement import reason_for_values
from tidelog.engine.spark.resident import CONFIRM, LOST, MEET
from tidelog.engine.spark.routes import Routes
from tidelog.engine.spark.sent_functions import unpack_functions
from tidelog.engine.spark.shared_reading import read_shared
from tidelog.engine.spark.skew import Columns, dividing_columns, frequent_values, spread_remark
from tidelog.engine.spark.sockets import SocketWire, receive
from tidelog.engine.spark.wire import PartnerLostError, Wire
from tidelog.maintain.aggregates import GroupedAggregate
from tidelog.maintain.partners.alone import AloneEngine
from tidelog.maintain.partners.alone_requests import AloneRequest, empty_reply
from tidelog.maintain.partners.departed import Departed, with_departed
from tidelog.maintain.partners.differences import DifferenceWriter
from tidelog.maintain.partners.engine import PartnerEngine
from tidelog.maintain.partners.inputs_apart import Apart
from tidelog.maintain.partners.keys import RepeatedKeyError, described
from tidelog.maintain.partners.partner_values import PartnerValues
from tidelog.maintain.partners.requests import changes_of, settings_of
from tidelog.maintain.partners.session_routes import Dividing, may_spread, routes_of
from tidelog.maintain.partners.state_files import facts_of
from tidelog.maintain.row_delta import RowDelta
from tidelog.program.nodes import Program
from tidelog.program.walk_nodes import earlier_relations
from tidelog.storage.annotations import ABSENT
from tidelog.storage.kernel import Int64s

NOTHING_MORE: Final[Mapping[str, object]] = {}


@dataclass(frozen=True, slots=True)
class GroupSpec:
    """Strata that partners keep; `own` are their relations, the others come from earlier strata."""

    program: Program
    own: tuple[str, ...]
    known: Known
    aggregates: Mapping[str, GroupedAggregate] = field(default_factory=dict)
    # Whether rules work on the values behind codes, and the user's functions that they call.
    has_values: bool = False
    functions: bytes = b""
    dividing: Dividing = field(default_factory=dict)
    # Where the input facts of relations with a law are.
    apart: Apart = field(default_factory=dict)
    # Whether one partner has all facts, because they are decided together.
    is_alone: bool = False
    # Deleted rules whose derivations are taken back, by the number of their stratum.
    departed: Departed = field(default_factory=dict)

    @property
    def settled(self) -> "GroupSpec":
        """Return the same strata without the rules that were deleted."""
        return replace(self, departed={}) if self.departed else self

    def routes(self, heavy: tuple[int, ...] = ()) -> tuple[Routes, ...]:
        """Return the routes of every stratum, by which rows with heavy values are spread."""
        program = with_departed(self.program, self.departed)
        makes_values = [
            self.has_values and reason_for_values(each, program) is not None for each in program.strata
        ]
        return routes_of(program, self.dividing, makes_values, self.apart, heavy)

    @property
    def may_spread(self) -> bool:
        """Say whether rows of frequent values may be spread."""
        return may_spread(with_departed(self.program, self.departed))

    def dividing_columns(self) -> Columns:
        """Return the columns in which a frequent value matters, none if nothing may be spread."""
        if not self.may_spread:
            return {}
        program = with_departed(self.program, self.departed)
        return dividing_columns(program, zip(program.strata, self.routes(), strict=True))


def placement_remark(
    spec: GroupSpec, written: Collection[str], large: Collection[str], heavy: tuple[int, ...]
) -> str:
    """Return what to add to the reason of a placement.

    That is which relations all partners have, and how many values are spread.
    """
    relations = [each.relations for each in spec.routes(heavy)]
    read = frozenset().union(*map(earlier_relations, spec.program.strata))
    everywhere = sorted(
        name
        for each in relations
        for name, route in each.items()
        if route.is_everywhere and name in read and name in written
    )
    found = f"; all of them have {', '.join(f'`{name}`' for name in everywhere)}" if everywhere else ""
    divided = sorted({*large} - {*everywhere})
    if divided:
        found += f"; rules are divided by what {', '.join(f'`{name}`' for name in divided)} has"
    return found + spread_remark(len(heavy))


@dataclass(frozen=True, slots=True)
class ServicePayload:
    """What a job of partners is for, groups by their numbers; without `requests` they are resident."""

    groups: Mapping[int, GroupSpec]
    settings: Settings
    folder: str
    requests: tuple[Message, ...] | None


def serve(payload: ServicePayload, wire: Wire) -> Message:
    """Handle requests; return the reply to the last one."""
    service = _Service(payload, wire)
    if payload.requests is not None:
        reply = Message()
        for message in payload.requests:
            reply = service.handle(message)
        return reply
    assert isinstance(wire, SocketWire)
    assert wire.control is not None, "residents meet at the driver"
    while True:
        try:
            message = receive(wire.control)
        except PartnerLostError:
            return Message(text="the driver is gone")
        if not message.text:
            return Message(text="stopped")
        try:
            answer = _reply(service, wire, message)
        except Exception as error:
            # The state may be half updated: the job ends, and the next one starts from what was committed.
            if not isinstance(error, PartnerLostError):
                wire.reply(Message(text=failure_text(error)))
            raise
        if answer is not None:
            wire.reply(answer)


def _reply(service: "_Service", wire: SocketWire, message: Message) -> Message | None:
    """Do what the driver asks for and return the reply, or None if it waits for none."""
    if message.text == CONFIRM.text:
        service.confirm()
        return None
    is_meeting = message.text == MEET.text
    try:
        if is_meeting:
            service.undo()
            wire.meet_again()
            return Message(text="met")
        return service.handle(message)
    except PartnerLostError as lost:
        if lost.reason and not is_meeting:
            raise  # another partner failed, and said so
        # The others must not wait for this one, which does not go on.
        wire.hang_up()
        return Message(text=LOST)


class _Service:
    def __init__(self, payload: ServicePayload, wire: Wire) -> None:
        self._payload = payload
        self._wire = wire
        self._folder = Folder(payload.folder)
        self._engines: dict[int, PartnerEngine] = {}
        self._alone: dict[int, AloneEngine] = {}
        self._groups = dict(payload.groups)
        # The last program has the types of those before it.
        typed = [group.program.types for group in payload.groups.values() if group.has_values]
        self._values = PartnerValues(typed[-1] if typed else {}, self._folder)
        # The group of the last request, and whether that made its engine anew, until it is confirmed.
        self._unconfirmed: tuple[int, bool] | None = None

    def confirm(self) -> None:
        """Keep what the last request did."""
        if self._unconfirmed is not None:
            group, _ = self._unconfirmed
            kept = self._engines.get(group) or self._alone.get(group)
            if kept is not None:
                kept.commit()
        self._unconfirmed = None

    def undo(self) -> None:
        """Undo what the last request did, unless it was confirmed."""
        if self._unconfirmed is not None:
            group, is_new = self._unconfirmed
            if group in self._engines:
                # A new one may have the relations of another.
                self._engines[group].undo()
            elif group in self._alone and not is_new:
                self._alone[group].undo()
            if is_new:
                self._engines.pop(group, None)
                self._alone.pop(group, None)
            if self._groups[group].has_values:
                self._values.forget()
                for engine in self._engines.values():
                    engine.renew_expressions()
        self._unconfirmed = None

    def handle(self, message: Message) -> Message:
        """Do what the driver asks for and return the reply; keys that are repeated are one, too."""
        request = json.loads(message.text)
        if request["do"] in {"learn", "forget"}:
            self._note_groups(request)
            return Message(text="{}")
        if "values" in request:
            self._values.take(request["values"])
        is_alone = self._groups[request["group"]].is_alone
        try:
            match request["do"]:
                case "evaluate" | "load" if is_alone:
                    return self._evaluate_alone(request)
                case "apply" if is_alone:
                    return self._apply_alone(request, message)
                case "change" if is_alone:
                    return self._change_alone(request, message)
                case "evaluate":
                    return self._evaluate(request)
                case "load":
                    return self._load(request)
                case "change":
                    return self._change(request, message)
                case _:
                    return self._apply(request, message)
        except RepeatedKeyError as repeated:
            # All partners are here, with the state from before: they can go on.
            self.undo()
            return Message(text=json.dumps({"repeated": described(repeated)}))

    def _note_groups(self, request: Mapping[str, Any]) -> None:
        """Learn the strata of a changed program, or forget those that no group has any more."""
        if request["do"] == "learn":
            assert isinstance(self._wire, SocketWire), "only residents outlive a change of rules"
            # From our own driver, which signed it.
            self._groups[request["group"]] = pickle.loads(self._wire.from_driver(request["rules"]))  # noqa: S301 - see above
            return
        for group in request["groups"]:
            self._engines.pop(group, None)
            self._alone.pop(group, None)

    def _new_engine(self, request: Mapping[str, Any]) -> PartnerEngine:
        spec = self._groups[request["group"]]
        engine = PartnerEngine(
            spec.program,
            spec.known,
            self._payload.settings,
            self._wire,
            is_wide=request["is_wide"],
            aggregates=spec.aggregates,
            values=self._values.codec if spec.has_values else None,
            functions=unpack_functions(spec.functions),
            dividing=spec.dividing,
            apart=spec.apart,
            heavy=tuple(request["heavy"]),
            departed=spec.departed,
        )
        self._engines[request["group"]] = engine
        self._unconfirmed = (request["group"], True)
        return engine

    def _evaluate(self, request: Mapping[str, Any]) -> Message:
        """Evaluate a group from files of facts; reply with the files of all it derives.

        Strata whose relations are `kept` have their state in files already.
        """
        heavy = self._heavy_values(request)
        engine = self._new_engine({**request, "heavy": heavy})
        for name, files in request["facts"].items():
            arity = engine.program.relations[name].arity
            engine.insert(name, facts_of(self._read(engine, name, files), arity).live_rows())
        for name, files in request["kept"].items():
            self._load_relation(engine, name, self._read(engine, name, files))
        statistics = engine.evaluate(request["kept"].keys())
        files, sizes = {}, {}
        for name in self._groups[request["group"]].own:
            if name in request["kept"]:
                continue
            numbers = engine.facts(name)
            files[name] = self._write(engine, name, numbers, request["name"])
            sizes[name] = int(numbers.size)
        reply = {
            "files": files,
            "sizes": sizes,
            "work": engine.work,
            "heavy": heavy,
            "statistics": [asdict(each) for each in statistics],
        }
        return Message(text=json.dumps({**reply, **self._made(request)}))

    def _heavy_values(self, request: Mapping[str, Any]) -> tuple[int, ...]:
        """Return the values whose rows are spread until the group is evaluated again."""
        spec = self._groups[request["group"]]
        arities = {name: relation.arity for name, relation in spec.program.relations.items()}
        files = {**request.get("derived", {}), **request["facts"], **request["kept"]}
        return frequent_values(spec.dividing_columns(), self._folder, files, arities, self._wire)

    def _made(self, request: Mapping[str, Any]) -> dict[str, object]:
        """Return the values that a request made, and the warnings about values that were met."""
        if not self._groups[request["group"]].has_values:
            return {}
        found: dict[str, object] = {"warnings": self._values.take_warnings()}
        if self._wire.me == 0:
            # All partners have the same values by now.
            found["values"] = self._values.made(request["name"])
        return found

    def _load(self, request: Mapping[str, Any]) -> Message:
        """Take over a committed state, or what other partners lost of it: they alone load it.

        All have the same prices then, which they decide by.
        """
        loading = request.get("partners", range(self._wire.partners))
        if self._wire.me in loading:
            engine = self._new_engine(request)
            own = self._groups[request["group"]].own
            is_shared = len(loading) == self._wire.partners
            for name, files in request["state"].items():
                contents = (
                    self._read(engine, name, files) if is_shared else self._read_alone(engine, name, files)
                )
                self._load_relation(engine, name, contents, is_read=name not in own)
        self._engines[request["group"]].take_work(request["work"])
        return Message(text="{}")

    def _load_relation(
        self, engine: PartnerEngine, name: str, contents: Iterator[Annotated], *, is_read: bool = False
    ) -> None:
        """Load the state of a relation; to a group that only reads it, its facts are input facts."""
        for content in contents:
            levels, counts = content.levels, content.counts
            if levels is None or counts is None:
                # Input facts as workers wrote them.
                levels, counts = np.zeros(len(content.rows), np.int32), np.ones(len(content.rows), np.int32)
            elif is_read:
                levels = np.where(levels == ABSENT, ABSENT, 0).astype(np.int32)
                counts = np.ones(len(levels), np.int32)
            engine.load(name, content.rows, levels, counts)

    def _apply(self, request: Mapping[str, Any], message: Message) -> Message:
        """Advance a group to the next epoch; reply with the differences owned here, and their files."""
        engine = self._engines[request["group"]]
        # Undoing twice does no harm: the engine undoes by itself what fails.
        self._unconfirmed = (request["group"], False)
        changes = changes_of(request, message, engine.program, partial(self._read, engine))
        found, reports = engine.apply(changes, settings_of(request))
        return self._changed(request, engine, found, reports)

    def _change(self, request: Mapping[str, Any], message: Message) -> Message:
        """Go on with a group of a changed program, from what others had before; reply as to `_apply`.

        Relations that are kept as before stay in memory, if they are there; the others are read from files.
        """
        here = {number: self._engines[number] for number in request["here"]}
        heavy = tuple(request["heavy"]) if here else self._heavy_values(request)
        engine = self._new_engine({**request, "heavy": heavy})
        own = self._groups[request["group"]].own
        for name, files in request["kept"].items():
            before = here.get(request["homes"].get(name, -1))
            if before is None or not engine.take_relation(name, before):
                contents = self._read(engine, name, files)
                self._load_relation(engine, name, contents, is_read=name not in own)
        for level, relations in ((1, request["derived"]), (0, request["facts"])):
            for name, files in relations.items():
                arity = engine.program.relations[name].arity
                rows = facts_of(self._read(engine, name, files), arity).live_rows()
                engine.load(name, rows, np.full(len(rows), level, np.int32), np.ones(len(rows), np.int32))
        engine.take_work(request["work"])
        for number, (group, stratum, is_same) in request["strata"].items():
            if group in here:
                engine.take_stratum(int(number), here[group], stratum, is_same=is_same)
        rewritten = {int(number): inserted for number, inserted in request["rewritten"].items()}
        changes = changes_of(request, message, engine.program, partial(self._read, engine))
        found, reports = engine.apply(changes, settings_of(request), rewritten)
        return self._changed(request, engine, found, reports, {"heavy": heavy})

    def _changed(
        self,
        request: Mapping[str, Any],
        engine: PartnerEngine,
        found: Mapping[str, RowDelta],
        reports: Sequence[StratumReport],
        more: Mapping[str, object] = NOTHING_MORE,
    ) -> Message:
        """Return the differences of an epoch that are owned here, and their files."""
        own = self._groups[request["group"]].own
        differences = self._differences(request)
        for name, change in found.items():
            if name in own:
                sides = (engine.owned(name, numbers) for numbers in (change.inserted, change.deleted))
                differences.put(name, *(engine.state.relations[name].rows[numbers] for numbers in sides))
        touched = engine.touched()
        files = {}
        for name in own:
            if name in request["compact"]:
                files[name] = self._write(engine, name, engine.facts(name), request["name"])
            elif name in touched:
                files[name] = self._write(engine, name, engine.owned(name, touched[name]), request["name"])
        reply = {
            "files": files,
            "work": engine.work,
            "reports": [
                [r.relations, r.action.value, r.strategy.value, r.reason, r.work, r.seconds] for r in reports
            ],
            **more,
        }
        return self._with_differences(request, reply, differences)

    def _differences(self, request: Mapping[str, Any]) -> DifferenceWriter:
        # Who loads a state says nothing of differences, for there are none.
        return DifferenceWriter(self._folder, self._wire.me, request["name"], request.get("most_rows", 0))

    def _with_differences(
        self, request: Mapping[str, Any], reply: Mapping[str, object], differences: DifferenceWriter
    ) -> Message:
        text = json.dumps({**reply, "differences": differences.files, **self._made(request)})
        return Message(text=text, tables=tuple(differences.tables))

    # --- facts that are decided together ----------------------------------------------------------

    def _evaluate_alone(self, request: Mapping[str, Any]) -> Message:
        """Let the first partner evaluate a group, whether it is new or its state was lost."""
        group, is_load = request["group"], request["do"] == "load"
        # Where only others are new, the first partner has its state.
        is_due = not is_load or 0 in request["partners"]
        self._unconfirmed = (group, True) if is_due else None
        reply, differences = empty_reply(), self._differences(request)
        if self._wire.me == 0 and is_due:
            spec, codec = self._groups[group], self._values.codec
            functions = unpack_functions(spec.functions)
            engine = AloneEngine(spec.program, spec.own, codec, self._payload.settings, functions)
            AloneRequest(request, engine, self._folder, differences, reply).evaluate()
            self._alone[group] = engine
        self._learn_values()
        return self._with_differences(request, reply, differences)

    def _apply_alone(self, request: Mapping[str, Any], message: Message) -> Message:
        """Let the first partner advance a group to the next epoch."""
        self._unconfirmed = (request["group"], False)
        reply, differences = empty_reply(), self._differences(request)
        if self._wire.me == 0:
            engine = self._alone[request["group"]]
            AloneRequest(request, engine, self._folder, differences, reply).apply(message)
        self._learn_values()
        return self._with_differences(request, reply, differences)

    def _change_alone(self, request: Mapping[str, Any], message: Message) -> Message:
        """Let the first partner go on to a group with the engine of another one, which it does not keep."""
        self._unconfirmed = (request["group"], True)
        reply, differences = empty_reply(), self._differences(request)
        if self._wire.me == 0:
            spec, engine = self._groups[request["group"]], self._alone.pop(request["taken"])
            change = AloneRequest(request, engine, self._folder, differences, reply)
            change.change(spec.program, spec.own, message)
            self._alone[request["group"]] = engine
        self._learn_values()
        return self._with_differences(request, reply, differences)

    def _learn_values(self) -> None:
        """Let all partners have the values that the first one made."""
        if self._wire.partners > 1:
            self._values.codec.agree(self._wire)
        else:
            self._values.codec.begin()

    # --- files -------------------------------------------------------------------------------------

    def _read(self, engine: PartnerEngine, name: str, files: Sequence[str]) -> Iterator[Annotated]:
        """Yield what this partner keeps of a relation; all partners read their shares."""
        arity = engine.program.relations[name].arity
        return read_shared(self._folder, files, arity, engine.route[name], self._wire)

    def _read_alone(self, engine: PartnerEngine, name: str, files: Sequence[str]) -> Iterator[Annotated]:
        """Yield all of a relation, in the order of the files; the engine keeps its share."""
        arity = engine.program.relations[name].arity
        for file in files:
            for group in range(self._folder.count_groups(file)):
                yield self._folder.read_rows(file, arity, group=group)

    def _write(self, engine: PartnerEngine, name: str, numbers: Int64s, file: str) -> str:
        relation = engine.state.relations[name]
        content = Annotated(relation.rows[numbers], relation.levels[numbers], relation.counts[numbers])
        return self._folder.write_rows(file_name(name, self._wire.me, file), content)
