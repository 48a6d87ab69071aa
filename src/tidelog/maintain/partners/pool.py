"""The driver's hold on partners: a job for each request, or residents that stay between requests."""

import json
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
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
        self.groups: list[GroupSpec] = []
        self.values = SessionValues(self.codec, Folder(self.folder))
        self.partners = self.options.partners or self._default_partners()
        self._resident: ResidentJob | None = None
        # The partners that have a group in memory.
        self._loaded: dict[int, frozenset[int]] = {}
        # The groups whose prices are the same at all partners, and that all have in memory.
        self._agreed: set[int] = set()

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
        return self._call(group, lambda: message, None)

    def apply(
        self, group: int, make: Callable[[], Message], load: Callable[[], Mapping[str, object]]
    ) -> list[Message]:
        """Let partners advance a group to the next epoch; `load` returns what they load if not loaded yet.

        What they are asked is made when they have loaded.
        """
        return self._call(group, make, load)

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

    def _call(
        self, group: int, make: Callable[[], Message], load: Callable[[], Mapping[str, object]] | None
    ) -> list[Message]:
        def loading(partners: Iterable[int]) -> tuple[Message, ...]:
            if load is None:
                return ()
            request = {"do": "load", "group": group, "partners": sorted(partners), **load()}
            return (Message(text=json.dumps(request)),)

        if not self.options.resident:
            return self._run_once((*loading(range(self.partners)), make()))
        for attempt in range(1, self.options.attempts + 1):
            try:
                return self._call_residents(group, make, loading)
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
                self._agreed = set()
                return
        _LOGGER.warning("resident partners were lost (%s); all start again", lost)
        self.release()
        wait_for_slots(self.options.spark, self.partners)

    def _run_once(self, requests: tuple[Message, ...]) -> list[Message]:
        payload = ServicePayload(tuple(self.groups), self.settings, self.folder, requests)
        job = BarrierJob(
            _MODULE, "serve", payload, self.partners, self.options.attempts, self.options.safety,
            self.options.rendezvous,
        )  # fmt: skip
        return run_job(self.options.spark, job)

    def _call_residents(
        self,
        group: int,
        make: Callable[[], Message],
        loading: Callable[[Iterable[int]], tuple[Message, ...]],
    ) -> list[Message]:
        if self._resident is None:
            payload = ServicePayload(tuple(self.groups), self.settings, self.folder, None)
            job = BarrierJob(_MODULE, "serve", payload, self.partners, 1, self.options.safety)
            self._resident = ResidentJob(self.options.spark, job)
        if group not in self._agreed:
            missing = frozenset(range(self.partners)) - self._loaded.get(group, frozenset())
            for request in loading(missing):
                replies = self._ask(self._resident, group, request)
                if self.groups[group].is_alone:
                    self.take_values(group, [json.loads(reply.text) for reply in replies])
        return self._ask(self._resident, group, make())

    def _ask(self, resident: ResidentJob, group: int, request: Message) -> list[Message]:
        replies = resident.call(request)
        resident.confirm()
        self._loaded[group] = frozenset(range(self.partners))
        self._agreed.add(group)
        return replies

    def release(self) -> None:
        """Release residents; the next request starts others."""
        resident, self._resident = self._resident, None
        self._loaded, self._agreed = {}, set()
        self.values.sent = NOTHING
        if resident is not None:
            resident.stop()

    def with_groups(self, groups: list[GroupSpec]) -> None:
        """Serve these groups from now on."""
        self.release()
        self.groups = groups


def _lost(attempts: int, reason: str) -> Diagnostic:
    return Diagnostic(
        code="spark-lost-partners",
        message=f"the partners of a job were lost {attempts} times; the last time: {reason}",
        hint="see the executors' logs; the state is that of the last committed epoch",
    )
