"""Programs over data frames, evaluated once."""

import logging
import shutil
import tempfile
import weakref
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from tidelog.engine.spark.connect import is_connect
from tidelog.engine.spark.java_errors import plain_failures
from tidelog.errors import Diagnostic, TidelogError
from tidelog.program.suggest import undeclared_relation
from tidelog.spark.columns import is_frame

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from tidelog.program.nodes import Program
    from tidelog.views import Snapshot

_LOGGER: Final = logging.getLogger("tidelog")


def evaluate(
    program: str | Path,
    frames: Mapping[str, object],
    *,
    outputs: Sequence[str] | None = None,
    spark: "SparkSession | None" = None,
    spark_options: Mapping[str, object] | None = None,
    **options: Any,
) -> "dict[str, DataFrame]":
    """Return relations of a program over data frames, evaluated once where each stratum runs best.

    By default the outputs are those of the program or, if it has none, all derived relations. Nothing
    is kept to follow changes: joins are Spark's own, and recursion runs on its workers.

        evaluate("reach.dl", {"edge": edges})["reach"].show()

    `options` are those of `tidelog.open` that say how a program is read: `functions`, `defines`,
    `include_path`. Warnings, such as those about large strata that run in the driver, are logged by the
    logger `tidelog`. Without `storage` among the Spark options the facts are in a temporary folder as long as
    the Spark session lives. With Spark Connect the frames come to this process, which evaluates the program.
    """
    from tidelog.views import RelationView  # noqa: PLC0415 - loaded when it is used

    session = spark or _session_of(frames)
    with plain_failures():
        snapshot = _evaluated(program, frames, session, spark_options, options)
        relations = snapshot.program.relations
        wanted = list(outputs or _outputs_of(snapshot.program))
        unknown = [name for name in wanted if name not in relations]
        if unknown:
            raise TidelogError(undeclared_relation(name, relations, is_asked=True) for name in unknown)
        return {name: RelationView(relations[name], lambda: snapshot).to_spark(session) for name in wanted}


def _evaluated(
    program: str | Path,
    frames: Mapping[str, object],
    session: object,
    spark_options: Mapping[str, object] | None,
    options: Mapping[str, Any],
) -> "Snapshot":
    """Return what a program derives; for a session of Spark Connect it is evaluated in this process."""
    from tidelog.engine.recorder import SessionRecorder  # noqa: PLC0415 - loaded when it is used
    from tidelog.errors.render import render  # noqa: PLC0415 - as above
    from tidelog.options import combine_options  # noqa: PLC0415 - as above
    from tidelog.session.once import evaluate_once  # noqa: PLC0415 - as above
    from tidelog.session.open import with_spark  # noqa: PLC0415 - as above
    from tidelog.session.prepare import Request, prepare  # noqa: PLC0415 - as above
    from tidelog.syntax.find_source import find_source  # noqa: PLC0415 - as above

    named: dict[str, Any]
    if is_connect(session):
        if spark_options:
            raise TidelogError([_no_workers()])
        facts = {name: _arrow(data) for name, data in frames.items()}
        named = {"facts": facts, **options}
    else:
        chosen = {**_temporary_storage(session), **(spark_options or {})}
        named = {
            "engine": "spark",
            "spark": session,
            "spark_options": chosen,
            "facts": dict(frames),
            **options,
        }
    request = with_spark(Request(find_source(program), combine_options(None, named)), once=True)
    snapshot, warnings = evaluate_once(prepare(request, SessionRecorder()), SessionRecorder())
    for warning in warnings:
        _LOGGER.warning("%s", render(warning))
    return snapshot


def _arrow(data: object) -> object:
    return data.toArrow() if is_frame(data) else data  # type: ignore[attr-defined]


def _no_workers() -> Diagnostic:
    return Diagnostic(
        code="spark-connect",
        message="`spark_options` are for Spark's workers, which cannot be reached through Spark Connect",
        hint="leave them out: the program is evaluated in this process; or use a session with a master",
    )


def _outputs_of(program: "Program") -> dict[str, None]:
    """Return the relations that a program writes, or else all that it derives."""
    outputs = dict.fromkeys(each.relation for each in program.directives if each.kind == "output")
    return outputs or dict.fromkeys(rule.head.relation for rule in program.rules if rule.body)


def _session_of(frames: Mapping[str, object]) -> object:
    return next((found for each in frames.values() if (found := getattr(each, "sparkSession", None))), None)


def _temporary_storage(spark: object) -> dict[str, str]:
    """Return a folder for facts that frames read later; only with a local master do workers see it."""
    master = str(getattr(getattr(spark, "sparkContext", None), "master", ""))
    if not master.startswith("local"):
        return {}
    folder = tempfile.mkdtemp(prefix="tidelog-frames-")
    weakref.finalize(spark, shutil.rmtree, folder, ignore_errors=True)
    return {"storage": folder}
