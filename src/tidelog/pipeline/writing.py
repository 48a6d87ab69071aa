"""From the engine's state to the files of a pipeline's outputs."""

import shutil
from pathlib import Path

from tidelog.pipeline.bind import CheckedJob
from tidelog.pipeline.derive import Derived, JobEngine
from tidelog.pipeline.facts import feed_names, published_columns, sync_files
from tidelog.pipeline.folder import JobFolder, JobManifest, OutputState
from tidelog.pipeline.job import Output
from tidelog.pipeline.past import PastFiles, files_at


class Writer:
    """Writes what epochs change in outputs, and all facts of outputs where that is due."""

    def __init__(self, bound: CheckedJob, folder: JobFolder, deriver: JobEngine) -> None:
        self._bound = bound
        self._folder = folder
        self._deriver = deriver

    def write(self, output: Output, derived: Derived, last: JobManifest | None) -> OutputState:
        """Return the state of an output after its files for an epoch were written."""
        name, epoch = output.relation, derived.epoch
        columns = published_columns(self._bound.relation(name), self._bound.program)
        before = None if last is None else last.outputs.get(name)
        inserted, deleted = derived.inserted.get(name), derived.deleted.get(name)
        if before is None:
            # An output that the job did not have before begins with all its facts.
            inserted, deleted = self._deriver.facts(name), None
        inserted_count = 0 if inserted is None else inserted.count()
        deleted_count = 0 if deleted is None else deleted.count()
        has_changed = bool(inserted_count or deleted_count)
        if has_changed:
            place = self._folder.fresh(self._folder.feed(name, epoch))
            self._deriver.write_feed(place, feed_names(columns)[0], deleted, inserted)
            sync_files(place)
        base = epoch if before is None else before.base
        if before is None or (has_changed and self._is_due(output, before, epoch)):
            base = epoch
            place = self._folder.fresh(self._folder.base(name, epoch))
            self._deriver.facts(name).write(place)
            sync_files(place)
        rows = (0 if before is None else before.rows) + inserted_count - deleted_count
        return OutputState(columns, base, rows, inserted_count, deleted_count)

    def before(self, relation: str, last: JobManifest | None) -> PastFiles:
        """Return where the facts of an output at the last committed epoch are."""
        if last is None or relation not in last.outputs:
            return PastFiles(published_columns(self._bound.relation(relation), self._bound.program))
        return files_at(self._folder, relation, last.epoch)

    def drop_old(self, manifest: JobManifest) -> None:
        """Delete files of older epochs; those of the one before stay for readers that are at them."""
        for name, state in manifest.outputs.items():
            _keep_two(self._folder.base(name, 0).parent, state.base)
        for name, source in manifest.sources.items():
            if source.load is not None:
                _keep_two(self._folder.load(name, 0).parent, source.load)
        self._drop_orders(manifest)

    def _drop_orders(self, manifest: JobManifest) -> None:
        """Delete orders that the manifest does not name: they were merged, or their epoch never happened."""
        named = {
            self._folder.orders(name, batch.epoch)
            for name, source in manifest.sources.items()
            for batch in source.orders
        }
        for place in (self._folder.path / "orders").glob("*/epoch-*"):
            if place not in named:
                shutil.rmtree(place)

    def _is_due(self, output: Output, before: OutputState, epoch: int) -> bool:
        between = range(before.base + 1, epoch)
        changed = sum(self._folder.feed(output.relation, each).exists() for each in between)
        return changed + 1 >= output.every


def _keep_two(folder: Path, current: int) -> None:
    if not folder.is_dir():
        return
    epochs = sorted(int(path.name.removeprefix("epoch-")) for path in folder.glob("epoch-*"))
    older = [epoch for epoch in epochs if epoch < current]
    for epoch in older[:-1]:
        shutil.rmtree(folder / f"epoch-{epoch}")
