"""Changes of facts with orders, and an oracle that folds them epoch by epoch."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tidelog.pipeline import Changes, Job, JobSource, Output, SourceFormat
from tidelog.pipeline.bind import CheckedJob, bind_job
from tidelog.pipeline.few_rows import Rows
from tidelog.pipeline.folder import JobFolder, SourceState
from tidelog.pipeline.order_files import OrderFiles
from tidelog.pipeline.orders import LastOrders, last_orders

PROGRAM = ".decl in(s: symbol, x: float)\n.decl out(s: symbol, x: float)\nout(s, x) :- in(s, x).\n"


class Change(NamedTuple):
    """A row of a source: a fact, 1 to insert it or -1 to delete it, and its order."""

    fact: tuple[object, ...]
    sign: int
    order: Any


class Folded:
    """What there is after some epochs: the facts, and the last order of each fact."""

    def __init__(self) -> None:
        self.facts: set[tuple[object, ...]] = set()
        self.last: dict[tuple[object, ...], tuple[Any, int]] = {}

    def take(self, changes: Sequence[Change]) -> int:
        """Fold an epoch, and return how many rows are late."""
        late = sum(
            change.fact in self.last
            and (change.order < self.last[change.fact][0] or change[1:] == self.last[change.fact][::-1])
            for change in changes
        )
        for fact in {change.fact for change in changes}:
            order = max(change.order for change in changes if change.fact == fact)
            if fact in self.last and order <= self.last[fact][0]:
                continue
            signs = {change.sign for change in changes if change.fact == fact and change.order == order}
            self.last[fact] = (order, signs.pop() if len(signs) == 1 else 0)
            if self.last[fact][1] == 1:
                self.facts.add(fact)
            elif self.last[fact][1] == -1:
                self.facts.discard(fact)
        return late


class Epochs:
    """The epochs of one source as a pipeline keeps them: facts, orders on the disk, late rows."""

    def __init__(self, folder: Path, source: JobSource | None = None, program: str = PROGRAM) -> None:
        (folder / "p.dl").write_text(program)
        self.source = source or JobSource(
            "in", SourceFormat.PARQUET, path="in", changes=Changes.OP, order="at"
        )
        job = Job("p.dl", "state", (self.source,), (Output("out"),), folder=folder)
        self.bound: CheckedJob = bind_job(job)
        self.folder = JobFolder(folder / "state")
        self.folder.make()
        self.files = OrderFiles()
        self.state = SourceState()
        self.epoch = 0
        self.facts: set[tuple[object, ...]] = set()

    @property
    def orders(self) -> LastOrders:
        """Return the last orders that are known now."""
        found = last_orders(self.folder, self.bound, self.source, self.state, self.files)
        assert found is not None
        return found

    def apply(
        self, inserted: Iterable[Mapping[str, object]], deleted: Iterable[Mapping[str, object]]
    ) -> None:
        """Insert and delete facts."""
        plus, minus = ({tuple(row.values()) for row in side} for side in (inserted, deleted))
        assert not plus & minus
        self.facts = (self.facts - minus) | plus

    def keep(self, rows: Rows, spark: Any = None) -> None:
        """Keep what rows say of orders, as an epoch does."""
        orders = rows.orders
        assert orders is not None
        if rows.most_news:
            orders = orders.keep(rows.news(), rows.most_news, self.epoch, spark)
        self.state = orders.noted(self.state)
        self.epoch += 1
