"""Strata that one partner keeps, on the local engine, because their facts are decided together."""

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from typing import Any

from tidelog.engine.epoch import MaintenanceSettings
from tidelog.engine.protocol import Observer, StratumStatistics
from tidelog.engine.spark.message import Message
from tidelog.engine.spark.placement import functions_of
from tidelog.maintain.partners.differences import Differences, GroupResult
from tidelog.maintain.partners.groups import (
    GroupFacts,
    PartnerGroup,
    is_supplied_alike,
    new_name,
    statistics_of,
)
from tidelog.maintain.partners.session_inputs import SessionInput
from tidelog.maintain.partners.state_files import write_inputs


class AloneGroup(PartnerGroup):
    """Strata that one partner keeps, because their facts are decided together.

    It evaluates them from what they read, of which the input facts of their own are part, and so does who
    takes its place: `read_files` has all of it.
    """

    is_alone = True

    def evaluate(self, facts: Mapping[str, GroupFacts], observer: Observer) -> list[StratumStatistics]:
        """Evaluate from scratch."""
        del observer
        statistics, _ = self._evaluate(facts, {})
        return statistics

    def evaluate_again(
        self, facts: Mapping[str, GroupFacts], before: Mapping[str, Sequence[str]]
    ) -> tuple[list[StratumStatistics], GroupResult]:
        """Evaluate from scratch; also return what leads there from the facts of `before`, in files."""
        statistics, found = self._evaluate(facts, before)
        return statistics, GroupResult({name: each for name, each in found.items() if any(each.sizes)}, ())

    def _evaluate(
        self, facts: Mapping[str, GroupFacts], before: Mapping[str, Sequence[str]]
    ) -> tuple[list[StratumStatistics], Differences]:
        name = new_name("0")
        files = {relation: self._written(relation, found, name) for relation, found in facts.items()}
        self.read_files = {relation: each for relation, each in files.items() if each}
        self.read_files |= {relation: list(each.files[relation]) for relation, each in self.sources.items()}
        self.work = [0] * len(self.program.strata)
        self._seen = {}
        values = self._pool.all_values(self.number)
        request = {
            "facts": self.read_files, "before": before, "name": name, **self._flows({}), **values,
        }  # fmt: skip
        messages = self._pool.evaluate(self.number, request)
        replies = [json.loads(message.text) for message in messages]
        self._pool.take_values(self.number, replies)
        self.files = {relation: [file] for relation, file in replies[0]["files"].items()}
        self._sizes = dict(replies[0]["sizes"])
        self.is_wide = replies[0]["is_wide"]
        return statistics_of([replies[0]["statistics"]], self.own), self._differences(messages, replies)

    def _written(self, relation: str, facts: GroupFacts, name: str) -> list[str]:
        """Return files with all facts of a relation."""
        if isinstance(facts, SessionInput):
            return facts.files()
        return [write_inputs(self._folder, relation, f"{self.number}-{name}", facts, facts[:0])]

    def can_go_on_from(self, old: "AloneGroup") -> bool:
        """Say whether a partner has the engine of another group in memory, with the functions called here."""
        called, known = (
            frozenset().union(*(functions_of(each, group.program) for each in group.program.strata))
            for group in (self, old)
        )
        return called <= known and self._pool.first_has_in_memory(old.number)

    def go_on_from(
        self, old: "AloneGroup", changes: Differences, now: Callable[[str], GroupFacts],
        before: Mapping[str, Sequence[str]], settings: MaintenanceSettings,
    ) -> GroupResult:  # fmt: skip
        """Let the partner go on with the engine of another group, and follow changes, those of rules too.

        `now` returns the input facts of own relations, and all facts of those that are read; `before` has the
        files of own relations.
        """
        name = new_name("r")
        supplied = self.program.relations
        same = {relation for relation in supplied if is_supplied_alike(relation, old, self)}
        changes = {relation: each for relation, each in changes.items() if relation in same}
        files = {relation: list(each.files[relation]) for relation, each in self.sources.items()}
        for relation in supplied:
            if relation not in files:
                is_same = relation in same
                known = old.read_files.get(relation, ())
                files[relation] = list(known) if is_same else self._written(relation, now(relation), name)
        self.files = {relation: list(old.files.get(relation, ())) for relation in self.own}
        self._sizes = {relation: old.size(relation) for relation in self.own}
        self.is_wide = old.is_wide
        tables = self._tables(changes)
        request = {
            "do": "change", "group": self.number, "taken": old.number, "changed": sorted(changes),
            "supplied": {relation: each for relation, each in files.items() if relation not in same},
            "before": before, "whole": [relation for relation in self.own if relation not in old.own],
            "strategy": settings.strategy.value, "switch": settings.switch, "name": name,
            **self._flows(changes),
        }  # fmt: skip

        def make(_: Collection[int]) -> Message:
            content = {**request, **self._pool.described_values(self.number)}
            return Message(text=json.dumps(content), tables=tuple(tables))

        messages = self._pool.change(self.number, make, {old.number: partial(old.state_to_load, {})})
        self.read_files = {relation: each for relation, each in files.items() if each}
        reply = json.loads(messages[0].text)
        result = self._result(messages, changes, set(reply["files"]), name)
        self._sizes |= reply["sizes"]
        return result

    def taking_place_of(self, old: "AloneGroup") -> "AloneGroup":
        """Return this group with the state of another one with the same strata, which is used no more."""
        # The partner goes on with the rules of before, by their numbers.
        self.number, self.program = old.number, old.program
        self.take_over(old.describe())
        return self

    def _follow(
        self, changes: Differences, found: Differences, replies: Sequence[Mapping[str, Any]],
        compacted: set[str], name: str,
    ) -> None:  # fmt: skip
        """Note what the partner wrote, and update what was read here."""
        super()._follow(changes, found, replies, compacted, name)
        self.work = [0] * len(self.program.strata)
        self.is_wide |= replies[0]["is_wide"]

    def state_to_load(self, changes: Differences) -> dict[str, object]:
        """Return what the partner evaluates again."""
        del changes
        return {"facts": self.read_files, "name": new_name("l"), **self._pool.all_values(self.number)}

    def _widen(self) -> None:
        """Do nothing: the local engine has codes as wide as it needs."""
