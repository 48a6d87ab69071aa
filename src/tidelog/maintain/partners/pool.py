"""The driver's hold on partners: a job for each request, or residents that stay between requests."""

import json
import logging
from collections.abc import Callable, Mapping
from typing import Final

from tidelog.dataclass import dataclass
from tidelog.engine.protocol import Settings
from tidelog.engine.spark.cluster import reason_against_barrier
from tidelog.engine.spark.job import BarrierJob, LostError, run_job, wait_for_slots
from tidelog.engine.spark.message import Message
from tidelog.engine.spark.options import SparkOptions
from tidelog.engine.spark.resident import ResidentJob
from tidelog.engine.spark.slots import settled_slots
from tidelog.errors import Diagnostic, TidelogError
from tidelog.maintain.partners.service import GroupSpec, ServicePayload

_LOGGER: Final = logging.getLogger("tidelog")
_MODULE: Final = "tidelog.maintain.partners.service"


@dataclass
class PartnerPool:
    """All partners of a session; groups of strata are addressed by number."""

    options: SparkOptions
    settings: Settings
    folder: str

    def __post_init__(self) -> None:
        self.groups: list[GroupSpec] = []
        available = settled_slots(self.options.spark)
        # Residents keep their slots, and other jobs need some as well.
        default = max(1, available // 2) if self.options.resident else available
        self.partners = self.options.partners or default
        self._resident: ResidentJob | None = None
        self._loaded: set[int] = set()

    def reason_against(self) -> str | None:
        """Return why there can be no partners, or None if there can."""
        return reason_against_barrier(self.options, self.partners)

    def evaluate(self, group: int, request: Mapping[str, object]) -> list[Message]:
        """Let partners evaluate a group from scratch; residents keep it from then on."""
        message = Message(text=json.dumps({"do": "evaluate", "group": group, **request}))
        return self._call(group, message, None)

    def apply(self, group: int, message: Message, load: Callable[[], Mapping[str, object]]) -> list[Message]:
        """Let partners advance a group to the next epoch; `load` returns what they load if not loaded yet."""
        return self._call(group, message, load)

    def _call(
        self, group: int, message: Message, load: Callable[[], Mapping[str, object]] | None
    ) -> list[Message]:
        def loading() -> tuple[Message, ...]:
            if load is None:
                return ()
            return (Message(text=json.dumps({"do": "load", "group": group, **load()})),)

        if not self.options.resident:
            return self._run_once((*loading(), message))
        for attempt in range(1, self.options.attempts + 1):
            try:
                return self._call_residents(group, message, loading)
            except LostError as lost:
                self.release()
                if attempt == self.options.attempts:
                    raise TidelogError([_lost(attempt, str(lost))]) from lost
                _LOGGER.warning("resident partners were lost (%s); they start again", lost)
                wait_for_slots(self.options.spark, self.partners)
            except BaseException:
                # Whatever failed, their state may be half updated.
                self.release()
                raise
        raise AssertionError("an attempt returns or raises")

    def _run_once(self, requests: tuple[Message, ...]) -> list[Message]:
        payload = ServicePayload(tuple(self.groups), self.settings, self.folder, requests)
        job = BarrierJob(
            _MODULE, "serve", payload, self.partners, self.options.attempts, self.options.safety,
            self.options.rendezvous,
        )  # fmt: skip
        return run_job(self.options.spark, job)

    def _call_residents(
        self, group: int, message: Message, loading: Callable[[], tuple[Message, ...]]
    ) -> list[Message]:
        if self._resident is None:
            payload = ServicePayload(tuple(self.groups), self.settings, self.folder, None)
            job = BarrierJob(_MODULE, "serve", payload, self.partners, 1, self.options.safety)
            self._resident = ResidentJob(self.options.spark, job)
            self._loaded = set()
        if group not in self._loaded:
            for each in loading():
                self._resident.call(each)
        replies = self._resident.call(message)
        self._loaded.add(group)
        return replies

    def release(self) -> None:
        """Release residents; the next request starts others."""
        resident, self._resident = self._resident, None
        self._loaded = set()
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
        hint="look into the executors' logs; the state is that of the last committed epoch",
    )
