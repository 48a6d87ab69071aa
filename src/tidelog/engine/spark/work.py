"""What partners do in a job that evaluates one stratum from scratch and keeps no annotations.

A stratum that makes values has no checkpoints: if executors die, it starts again.
"""

import dataclasses
import json
import time
import uuid
from collections.abc import Mapping, Sequence

import numpy as np

from tidelog.dataclass import dataclass
from tidelog.engine.local.expressions import Expressions
from tidelog.engine.local.state import LocalState
from tidelog.engine.protocol import Settings, SilentObserver
from tidelog.engine.spark.agreement import SharedCodec
from tidelog.engine.spark.codes import Known, WorkerCodec
from tidelog.engine.spark.files import Annotated, Folder, file_name
from tidelog.engine.spark.laws import repeats_key
from tidelog.engine.spark.message import Message
from tidelog.engine.spark.ownership import is_kept, owned_rows
from tidelog.engine.spark.partner import PartnerContext, PartnerRun
from tidelog.engine.spark.placement import reason_for_one_place
from tidelog.engine.spark.routes import Routes
from tidelog.engine.spark.sent_functions import unpack_functions
from tidelog.engine.spark.shared_reading import read_shared
from tidelog.engine.spark.skew import dividing_columns, frequent_values, with_heavy
from tidelog.engine.spark.value_files import NewValues, ValueFiles, read_values
from tidelog.engine.spark.wire import Wire, total
from tidelog.program.nodes import Program
from tidelog.values.codec import Codec


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """Facts of a stratum in progress, complete up to an iteration; `files` are (relation, file).

    `last` are the files with what was found since the previous checkpoint.
    """

    iteration: int
    files: tuple[tuple[str, str], ...]
    last: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Evaluation:
    """A stratum to evaluate, with the files of its input facts and of the relations it reads.

    `name` is new for every evaluation, and names the files it writes. A negative
    `checkpoint_seconds` means no checkpoints.
    """

    program: Program
    stratum: int
    routes: Routes
    known: Known
    settings: Settings
    folder: str
    name: str
    files: Mapping[str, tuple[str, ...]]
    is_wide: bool
    checkpoint_seconds: float = 30.0
    saved: Checkpoint | None = None
    # If set, the stratum works on the values behind codes: where they are, and the user's functions.
    values: ValueFiles | None = None
    functions: bytes = b""
    # Relations that only partners see.
    made: tuple[str, ...] = ()


def evaluate(payload: Evaluation, wire: Wire) -> Message:
    """Evaluate the stratum and return, as JSON, what it took and the files with what it derived."""
    return Message(text=json.dumps(StratumEvaluation(payload, wire).run()))


class StratumEvaluation:
    """One partner's evaluation of one stratum, from files to files."""

    def __init__(self, payload: Evaluation, wire: Wire) -> None:
        self._payload = payload
        self._wire = wire
        self._folder = Folder(payload.folder)
        self._stratum = payload.program.strata[payload.stratum]
        self._state = LocalState(payload.program, dtype=np.int64 if payload.is_wide else np.int32)
        self._routes = payload.routes
        self._new_values: NewValues | None = None
        self._saved_rows: dict[str, int] = {}
        self._saved_at = time.monotonic()

    def run(self) -> dict[str, object]:
        """Return statistics and the file of each relation."""
        payload = self._payload
        has_law = reason_for_one_place(self._stratum, payload.program) is not None
        if not has_law and not payload.routes.is_decomposed:
            # Facts that are decided together stay with one owner, however many they are.
            self._routes = with_heavy(payload.routes, self._heavy_values())
        for name, files in payload.files.items():
            self._load(name, files)
        iteration = 0
        if payload.saved is not None:
            iteration = payload.saved.iteration
            self._load_checkpoint(payload.saved)
        self._saved_rows = {name: self._state.relations[name].count for name in self._stratum.relations}
        context = self._context()
        run = PartnerRun(self._stratum, self._routes, context)
        statistics = run.run(payload.stratum, SilentObserver(), iteration)
        if has_law and repeats_key(self._stratum, self._state, self._routes, self._wire):
            return {"repeats_key": True}
        # Spark may run an ordinary task twice at once, and each writes files of its own.
        name = f"{payload.name}-{uuid.uuid4().hex[:12]}" if payload.routes.is_decomposed else payload.name
        outputs = [each for each in self._stratum.relations if each not in payload.made]
        written, sizes = self._write(name, {}, outputs)
        reply: dict[str, object] = {
            "statistics": dataclasses.asdict(statistics),
            "files": written,
            "sizes": sizes,
            "heavy": len(self._routes.heavy),
        }
        if self._new_values is not None:
            reply["warnings"] = self._new_values.warnings()
            if self._wire.me == 0:
                # All partners have the same values by now.
                reply["values"] = self._new_values.write(self._folder, name)
        return reply

    def _heavy_values(self) -> tuple[int, ...]:
        payload = self._payload
        columns = dividing_columns(payload.program, [(self._stratum, payload.routes)])
        arities = {name: relation.arity for name, relation in payload.program.relations.items()}
        return frequent_values(columns, self._folder, payload.files, arities, self._wire)

    def _context(self) -> PartnerContext:
        """Return what rules run with: values behind codes if the stratum needs them."""
        payload = self._payload
        if payload.values is None:
            codec: Codec = WorkerCodec(payload.program.types, payload.known)
            context = PartnerContext(
                self._state, Expressions(payload.program, codec, {}), payload.settings, self._wire
            )
            # What was written of a law's facts may be gone by now.
            may_save = not payload.routes.is_decomposed and payload.program.law_of(self._stratum) is None
            if payload.checkpoint_seconds >= 0 and may_save:
                context.after_iteration = self._checkpoint
            return context
        shared = SharedCodec(payload.program.types) if self._wire.partners > 1 else None
        codec = shared or Codec(payload.program.types)
        read_values(codec, self._folder, payload.values)
        self._new_values = NewValues(codec, payload.values)
        expressions = Expressions(payload.program, codec, unpack_functions(payload.functions))
        return PartnerContext(self._state, expressions, payload.settings, self._wire, values=shared)

    def _load(self, name: str, files: Sequence[str]) -> None:
        """Load what this partner keeps of a relation; all partners do so together."""
        routes, arity = self._routes, self._payload.program.relations[name].arity
        route = routes.relations.get(name) or routes.outside.get(name)
        if routes.is_decomposed:
            # Parts have no connection to each other.
            found = (self._folder.read_rows(file, arity).rows for file in files)
            parts = (rows if route is None else is_kept(rows, route, self._wire) for rows in found)
        else:
            parts = (each.rows for each in read_shared(self._folder, files, arity, route, self._wire))
        relation = self._state.relations[name]
        for rows in parts:
            relation.insert(
                np.ascontiguousarray(rows.astype(self._state.dtype, copy=False)), first_new=relation.NEVER
            )
        self._state.show_all(name)

    def _load_checkpoint(self, saved: Checkpoint) -> None:
        """Load facts; only those of the last part may still have to be combined."""
        for name in self._stratum.relations:
            self._load(name, [file for n, file in saved.files if n == name and (n, file) not in saved.last])
        before = {name: self._state.relations[name].count for name in self._stratum.relations}
        for name in self._stratum.relations:
            self._load(name, [file for n, file in saved.last if n == name])
        for name, count in before.items():
            visible = self._state.visible[name]
            visible.delta, visible.end = count, self._state.relations[name].count

    def _checkpoint(self, iteration: int) -> None:
        """Write what was found since the last checkpoint, if partner 0 says that it is time."""
        is_due = time.monotonic() - self._saved_at >= self._payload.checkpoint_seconds
        if self._wire.partners > 1:
            (due,) = total(self._wire, int(is_due and self._wire.me == 0))
            is_due = due > 0
        if not is_due:
            return
        name = f"{self._payload.name}.at-{iteration}"
        files, sizes = self._write(name, self._saved_rows, self._stratum.relations)
        record = {"iteration": iteration, "partners": self._wire.partners, "files": files}
        self._folder.write_json(f"checkpoints/{self._payload.name}/{iteration}/{self._wire.me}.json", record)
        self._saved_rows = {n: self._state.relations[n].count for n in sizes}
        self._saved_at = time.monotonic()

    def _write(
        self, file: str, first: Mapping[str, int], names: Sequence[str]
    ) -> tuple[dict[str, str], dict[str, int]]:
        """Write the rows of relations that this partner owns from a row number on; return files and sizes."""
        files, sizes = {}, {}
        for name in names:
            relation, route = self._state.relations[name], self._routes.relations[name]
            rows = relation.live_rows(first.get(name, 0))
            own = rows if route.has_no_copies else rows[owned_rows(rows, route, self._wire)]
            path = file_name(name, self._wire.me, file)
            files[name] = self._folder.write_rows(path, Annotated(own))
            sizes[name] = len(own)
        return files, sizes


def find_checkpoint(folder: Folder, name: str) -> Checkpoint | None:
    """Return the last checkpoint of an evaluation that all partners completed."""
    found: dict[int, list[dict[str, object]]] = {}
    for file in folder.names(f"checkpoints/{name}"):
        try:
            record = folder.read_json(file)
        except ValueError:
            # Some stores show a file before all of it is there, and its partner has ended since.
            continue
        found.setdefault(record["iteration"], []).append(record)
    complete = sorted(k for k, records in found.items() if len(records) == records[0]["partners"])
    if not complete:
        return None
    files = {
        k: tuple(
            (relation, str(file))
            for record in found[k]
            for relation, file in record["files"].items()  # type: ignore[attr-defined]
        )
        for k in complete
    }
    return Checkpoint(complete[-1], tuple(pair for k in complete for pair in files[k]), files[complete[-1]])
