"""The iterations of a stratum, of which there may be millions, in a bounded number of records."""

from typing import Final

from tidelog.engine.profile.record import IterationProfile

# More records than this are merged in pairs.
MOST_RECORDS: Final = 1_024
# So are records with more tallies of rules than this together.
MOST_TALLIES: Final = 16_384


class IterationRecords:
    """Takes one record for every iteration, or for many, and keeps neighbouring ones together.

    As long as there is room each record is kept as it is. Then neighbours are merged in pairs, and from there
    on a record stands for twice as many iterations as before.
    """

    def __init__(self) -> None:
        self.records: list[IterationProfile] = []
        self._span = 1
        self._tallies = 0

    def add(self, record: IterationProfile) -> None:
        """Take the iterations that follow; the caller does not use the record any more."""
        last = self.records[-1] if self.records else None
        if last is not None and last.iterations + record.iterations <= self._span:
            before = len(last.rules)
            last.add(record)
            self._tallies += len(last.rules) - before
        else:
            self.records.append(record)
            self._tallies += len(record.rules)
        while len(self.records) > MOST_RECORDS or (self._tallies > MOST_TALLIES and len(self.records) > 1):
            self._merge()

    def _merge(self) -> None:
        """Merge neighbours in pairs."""
        self._span *= 2
        merged: list[IterationProfile] = []
        for record in self.records:
            if merged and merged[-1].iterations + record.iterations <= self._span:
                merged[-1].add(record)
            else:
                merged.append(record)
        self.records = merged
        self._tallies = sum(len(record.rules) for record in merged)
