"""The driver's hold on partners: a job for each request, or residents that stay between requests."""

import json
import logging
import pickle
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import count
from typing import Any, Final

from tidelog.dataclass import dataclass
from tidelog.engine.protocol import Settings
from tidelog.engine.spark.cluster import allocates_dynamically, reason_against_barrier
from tidelog.engine.spark.files import Folder
from tidelog.engine.spark.job import BarrierJob, LostError, run_job, wait_for_slots
from tidelog.engine.spark.message import Message
from tidelog.engine.spark.options import SparkOptions
from tidelog.engine.spark.resident import ResidentJob
from tidelog.engine.spark.slots import settled_slots
from tidelog.engine.spark.value_files import take_warnings
from tidelog.errors import Diagnostic, TidelogError
from tidelog.maintain.partners.service import GroupSpec, ServicePayload
from tidelog.maintain.partners.session_values import NOTHING, SessionValues
from tidelog.values.codec import Codec

_LOGGER: Final = logging.getLogger("tidelog")
_MODULE: Final = "tidelog.maintain.partners.service"


@dataclass
class PartnerPool:
    """All partners of a session; groups of strata are addressed by number."""

    options: SparkOptions
    settings: Settings
    folder: str
    codec: Codec

    def __post_init__(self) -> None:
        # The groups of strata by number; a number is given once.
        self.groups: dict[int, GroupSpec] = {}
        self._numbers = count()
        self.values = SessionValues(self.codec, Folder(self.folder))
        self.partners = self.options.partners or self._default_partners()
        self._resident: ResidentJob | None = None
        # The partners that have a group in memory.
        self._loaded: dict[int, frozenset[int]] = {}
        # The groups whose prices are the same at all partners, and that all have in memory.
        self._agreed: set[int] = set()
        # The partners that know a group's rules, and the groups that those know which take another's place.
        self._knowing: dict[int, frozenset[int]] = {}
        self._first: frozenset[int] = frozenset()
        # Groups whose partners still divide facts by rules that were deleted.
        self._unsettled: set[int] = set()

    def _default_partners(self) -> int:
        available = settled_slots(self.options.spark)
        # Residents keep their slots, and other jobs need some as well.
        return max(1, available // 2) if self.options.resident else available

    def reason_against(self) -> str | None:
        """Return why there can be no partners, or None if there can."""
        if self.options.resident and allocates_dynamically(self.options.spark):
            # Residents are an ordinary stage, for which Spark requests executors when it is submitted.
            return None
        return reason_against_barrier(self.options, self.partners)

    def evaluate(self, group: int, request: Mapping[str, object]) -> list[Message]:
        """Let partners evaluate a group from scratch; residents keep it from then on."""
        message = Message(text=json.dumps({"do": "evaluate", "group": group, **request}))
        if not self.options.resident:
            return self._run_once((message,))

        def ask() -> list[Message]:
            resident = self._started()
            self._tell(resident, group)
            return self._ask(resident, group, message)

        return self._retried(ask)

    def apply(
        self, group: int, make: Callable[[], Message], load: Callable[[], Mapping[str, object]]
    ) -> list[Message]:
        """Let partners advance a group to the next epoch; `load` returns what they load if not loaded yet.

        What they are asked is made when they have loaded.
        """
        if not self.options.resident:
            request = _loading(group, range(self.partners), load())
            return self._run_once((request, make()))

        def ask() -> list[Message]:
            resident = self._started()
            self._load_missing(resident, group, load)
            return self._ask(resident, group, make())

        return self._retried(ask)

    def change(
        self,
        group: int,
        make: Callable[[Collection[int]], Message],
        loads: Mapping[int, Callable[[], Mapping[str, object]]],
    ) -> list[Message]:
        """Let partners go on with a group of a changed program; `loads` has the groups it goes on from.

        What they are asked is made from the numbers of those that residents have in memory.
        """
        if not self.options.resident:
            replies = self._run_once((make(()),))
            self.groups[group] = self.groups[group].settled
            return replies

        is_alone = self.groups[group].is_alone

        def ask() -> list[Message]:
            resident = self._started()
            here = [old for old in loads if is_alone or self._loaded.get(old)]
            for old in here:
                self._load_missing(resident, old, loads[old])
            self._tell(resident, group)
            if is_alone:
                # An engine that goes on to other strata does not come back.
                self._note_lost(here)
            return self._ask(resident, group, make(here))

        replies = self._retried(ask)
        self._unsettled.add(group)
        return replies

    def has_in_memory(self, groups: Iterable[int]) -> bool:
        """Say whether some resident has one of these groups in memory."""
        return any(self._loaded.get(group) for group in groups)

    def first_has_in_memory(self, group: int) -> bool:
        """Say whether the first resident has a group in memory."""
        return 0 in self._loaded.get(group, ())

    def _note_lost(self, groups: Collection[int]) -> None:
        """Note that no partner has these groups in memory any more."""
        self._agreed -= set(groups)
        for group in groups:
            self._loaded.pop(group, None)

    def described_values(self, group: int) -> dict[str, object]:
        """Return what tells partners the values that they do not have for a change."""
        if not self.groups[group].has_values:
            return {}
        # Partners of a separate job load all values first.
        first = self.values.sent if self.options.resident else self.values.now
        return {"values": self.values.describe(first)}

    def all_values(self, group: int) -> dict[str, object]:
        """Return what tells partners all values, if a group works on them."""
        return {"values": self.values.describe()} if self.groups[group].has_values else {}

    def take_values(self, group: int, replies: Sequence[Mapping[str, Any]]) -> None:
        """Take over the values that partners made for a group, and their warnings."""
        if self.groups[group].has_values and replies:
            self.values.take(replies[0]["values"])
            for reply in replies:
                take_warnings(self.codec, reply["warnings"])

    def _retried(self, ask: Callable[[], list[Message]]) -> list[Message]:
        """Return the replies of residents, asked again while some are lost."""
        for attempt in range(1, self.options.attempts + 1):
            try:
                return ask()
            except LostError as lost:
                if attempt == self.options.attempts:
                    self.release()
                    raise TidelogError([_lost(attempt, str(lost))]) from lost
                self._recover(lost)
            except BaseException:
                # Whatever failed, their state may be half updated.
                self.release()
                raise
        raise AssertionError("an attempt returns or raises")

    def _recover(self, lost: LostError) -> None:
        """Let others take the places of lost partners, or start all of them again if that fails."""
        if self._resident is not None and lost.partners is not None:
            _LOGGER.warning("resident partners were lost (%s); others take their places", lost)
            try:
                replaced = self._resident.replace(lost.partners)
            except LostError as again:
                lost = again
            else:
                self._loaded = {group: partners - replaced for group, partners in self._loaded.items()}
                self._knowing = {
                    group: partners if group in self._first else partners - replaced
                    for group, partners in self._knowing.items()
                }
                self._agreed = set()
                return
        _LOGGER.warning("resident partners were lost (%s); all start again", lost)
        self.release()
        wait_for_slots(self.options.spark, self.partners)

    def _run_once(self, requests: tuple[Message, ...]) -> list[Message]:
        payload = ServicePayload(dict(self.groups), self.settings, self.folder, requests)
        job = BarrierJob(
            _MODULE, "serve", payload, self.partners, self.options.attempts, self.options.safety,
            self.options.rendezvous,
        )  # fmt: skip
        return run_job(self.options.spark, job)

    def _started(self) -> ResidentJob:
        """Return residents, which are started if there are none."""
        if self._resident is None:
            payload = ServicePayload(dict(self.groups), self.settings, self.folder, None)
            job = BarrierJob(_MODULE, "serve", payload, self.partners, 1, self.options.safety)
            self._resident = ResidentJob(self.options.spark, job)
            self._first = frozenset(self.groups)
            self._knowing = dict.fromkeys(self.groups, frozenset(range(self.partners)))
        return self._resident

    def _tell(self, resident: ResidentJob, group: int) -> None:
        """Tell residents the rules of a group that came after they were started."""
        everyone = frozenset(range(self.partners))
        if self._knowing.get(group) != everyone:
            signed = resident.signed(pickle.dumps(self.groups[group]))
            resident.call(Message(text=json.dumps({"do": "learn", "group": group, "rules": signed})))
            self._knowing[group] = everyone

    def _load_missing(
        self, resident: ResidentJob, group: int, load: Callable[[], Mapping[str, object]]
    ) -> None:
        """Let the partners that do not have a group in memory load it."""
        self._tell(resident, group)
        if group in self._agreed:
            return
        missing = frozenset(range(self.partners)) - self._loaded.get(group, frozenset())
        replies = self._ask(resident, group, _loading(group, missing, load()))
        if self.groups[group].is_alone:
            self.take_values(group, [json.loads(reply.text) for reply in replies])

    def _ask(self, resident: ResidentJob, group: int, request: Message) -> list[Message]:
        replies = resident.call(request)
        resident.confirm()
        self._loaded[group] = frozenset(range(self.partners))
        self._agreed.add(group)
        return replies

    def release(self) -> None:
        """Release residents; the next request starts others."""
        resident, self._resident = self._resident, None
        self._loaded, self._agreed, self._knowing = {}, set(), {}
        for group in self._unsettled & self.groups.keys():
            # Whoever loads these groups divides facts by the rules of now.
            self.groups[group] = self.groups[group].settled
        self._unsettled = set()
        self.values.sent = NOTHING
        if resident is not None:
            resident.stop()

    # --- groups ------------------------------------------------------------------------------------

    def add(self, spec: GroupSpec) -> int:
        """Serve another group from now on and return its number."""
        number = next(self._numbers)
        types = [each.program.types for each in self.groups.values() if each.has_values]
        if spec.has_values and spec.program.types not in types:
            # Residents know the types of values from the beginning.
            self.release()
        self.groups[number] = spec
        return number

    def keep(self, numbers: Collection[int]) -> None:
        """Serve no other groups than these any more; residents forget the others."""
        dropped = sorted(self.groups.keys() - set(numbers))
        self.groups = {number: self.groups[number] for number in numbers}
        self._unsettled &= self.groups.keys()
        loaded = [group for group in dropped if self._loaded.pop(group, None)]
        self._agreed -= set(dropped)
        for group in dropped:
            self._knowing.pop(group, None)
        if self._resident is not None and loaded:
            try:
                self._resident.call(Message(text=json.dumps({"do": "forget", "groups": dropped})))
            except LostError as lost:
                self._recover(lost)

    def restore(self, groups: Mapping[int, GroupSpec]) -> None:
        """Serve the groups of before again; residents load what was committed."""
        self.groups = dict(groups)
        self.release()


def _loading(group: int, partners: Iterable[int], load: Mapping[str, object]) -> Message:
    """Return the request that lets these partners load a group."""
    return Message(text=json.dumps({"do": "load", "group": group, "partners": sorted(partners), **load}))


def _lost(attempts: int, reason: str) -> Diagnostic:
    return Diagnostic(
        code="spark-lost-partners",
        message=f"the partners of a job were lost {attempts} times; the last time: {reason}",
        hint="see the executors' logs; the state is that of the last committed epoch",
    )
