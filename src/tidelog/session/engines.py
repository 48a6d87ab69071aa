"""The engines a user may choose."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, get_args

from tidelog.engine.epoch import MaintainedEngine
from tidelog.engine.protocol import Engine, Observer, Settings, UserFunctions
from tidelog.errors import Diagnostic, TidelogError
from tidelog.program.nodes import Program
from tidelog.values import Codec

EngineName = Literal["local", "reference", "spark"]


@dataclass(frozen=True, slots=True)
class EngineKind:
    """How to make engines of one sort.

    `passes` gives the program as the engine runs it. `maintain` makes an engine that follows
    changes, `evaluate` one that runs once; both are given programs after the passes.
    """

    name: EngineName
    passes: Callable[[Program], Program]
    maintain: Callable[[Program, Codec, Settings, UserFunctions], MaintainedEngine]
    evaluate: Callable[[Program, Codec, Settings, UserFunctions], Engine]


@dataclass(frozen=True, slots=True)
class EngineHandle:
    """An engine at work: the values it knows, and how to make another one."""

    kind: EngineKind
    codec: Codec
    engine: MaintainedEngine
    settings: Settings
    observer: Observer


def find_engine(name: str, spark: object = None) -> EngineKind:
    """Return the named sort of engine.

    Engines are imported when they are chosen: the local one brings its compiler, which takes
    longer to load than a small program takes to run on the reference engine. `spark` are the
    `SparkOptions` of the engine that needs them.
    """
    match name:
        case "local":
            return _local()
        case "reference":
            return _reference()
        case "spark":
            return _spark(spark)
    raise TidelogError(
        [
            Diagnostic(
                code="unknown-engine",
                message=f"there is no engine `{name}`",
                hint=f"choose one of {', '.join(get_args(EngineName))}",
            )
        ]
    )


def _local() -> EngineKind:
    from tidelog.engine.local import LocalEngine  # noqa: PLC0415 - see above
    from tidelog.plan.passes import run_passes  # noqa: PLC0415 - see above

    def maintain(
        program: Program, codec: Codec, settings: Settings, functions: UserFunctions
    ) -> MaintainedEngine:
        from tidelog.maintain import LocalMaintainedEngine  # noqa: PLC0415 - not needed by one run

        return LocalMaintainedEngine(program, codec, settings, functions)

    return EngineKind("local", run_passes, maintain, LocalEngine)


def _reference() -> EngineKind:
    from tidelog.engine.reference import ReferenceEngine  # noqa: PLC0415 - see above
    from tidelog.engine.reference.restart import RestartingEngine  # noqa: PLC0415 - see above

    def maintain(
        program: Program, codec: Codec, settings: Settings, functions: UserFunctions
    ) -> MaintainedEngine:
        return RestartingEngine(
            program,
            lambda other, numbering: ReferenceEngine(other, codec, settings, functions, numbering),
        )

    return EngineKind("reference", lambda program: program, maintain, ReferenceEngine)


def _spark(options: object) -> EngineKind:
    """Return the sort of engine that runs on the given Spark session."""
    from tidelog.engine.spark.engine import SparkEngine  # noqa: PLC0415 - only with Spark
    from tidelog.engine.spark.opening import choose_options  # noqa: PLC0415 - as above
    from tidelog.engine.spark.options import SparkOptions  # noqa: PLC0415 - as above
    from tidelog.plan.passes import run_passes  # noqa: PLC0415 - as above

    if options is None:
        choose_options(None, None)
    assert isinstance(options, SparkOptions)

    def evaluate(program: Program, codec: Codec, settings: Settings, functions: UserFunctions) -> Engine:
        return SparkEngine(program, codec, settings, functions, options)

    def maintain(
        program: Program, codec: Codec, settings: Settings, functions: UserFunctions
    ) -> MaintainedEngine:
        from tidelog.maintain.spark import SparkMaintainedEngine  # noqa: PLC0415 - not needed by one run

        return SparkMaintainedEngine(program, codec, settings, functions, options)

    return EngineKind("spark", run_passes, maintain, evaluate)
