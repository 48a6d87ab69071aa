"""What one worker does alone: a stratum whose facts are decided together, on the local engine.

Choices, lattices, equivalences, subsumption, keys, size limits and `autoinc()` look at all facts of a
stratum at once. The worker reads them from files, with the values behind their codes, and writes files.
"""

import dataclasses
import json
import uuid

import numpy as np

from tidelog.engine.code_rows import as_columns, as_rows
from tidelog.engine.local import LocalEngine
from tidelog.engine.local.state import fits_narrow
from tidelog.engine.protocol import SilentObserver
from tidelog.engine.spark.files import Annotated, Folder, file_name
from tidelog.engine.spark.message import Message
from tidelog.engine.spark.sent_functions import unpack_functions
from tidelog.engine.spark.value_files import NewValues, read_values
from tidelog.engine.spark.wire import Wire
from tidelog.engine.spark.work import Evaluation
from tidelog.program.subprogram import subprogram
from tidelog.values.codec import Codec


def evaluate_alone(payload: Evaluation, wire: Wire) -> Message:
    """Evaluate the stratum and return, as JSON, what it took and the files with what it derived."""
    assert wire.partners == 1, "one worker has all facts"
    assert payload.values is not None, "facts are decided by their values"
    folder, stratum = Folder(payload.folder), payload.program.strata[payload.stratum]
    codec = Codec(payload.program.types)
    read_values(codec, folder, payload.values)
    new_values = NewValues(codec, payload.values)
    part = subprogram(payload.program, [stratum])
    engine = LocalEngine(part, codec, payload.settings, unpack_functions(payload.functions))
    for name, files in payload.files.items():
        for file in files:
            rows = folder.read_rows(file, part.relations[name].arity).rows
            if len(rows):
                engine.insert(name, as_columns(rows.astype(np.int64)))
    statistics = engine.evaluate(SilentObserver()).strata[-1]
    # Spark may run an ordinary task twice at once, and each writes files of its own.
    own = f"{payload.name}-{uuid.uuid4().hex[:12]}"
    written, sizes, is_wide = {}, {}, False
    for name in stratum.relations:
        rows = as_rows(engine.facts(name), engine.size(name))
        is_narrow = fits_narrow(rows)
        is_wide |= not is_narrow
        content = Annotated(rows.astype(np.int32) if is_narrow else rows)
        written[name] = folder.write_rows(file_name(name, 0, own), content)
        sizes[name] = len(rows)
    reply = {
        "statistics": dataclasses.asdict(statistics), "files": written, "sizes": sizes, "is_wide": is_wide,
        "values": new_values.write(folder, own), "warnings": new_values.warnings(),
    }  # fmt: skip
    return Message(text=json.dumps(reply))
