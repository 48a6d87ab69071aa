"""The engines a user may choose."""

from collections.abc import Callable, Collection
from dataclasses import replace
from typing import TYPE_CHECKING, assert_never, cast

from tidelog.dataclass import dataclass
from tidelog.engine.epoch import MaintainedEngine
from tidelog.engine.numbering import Numbering
from tidelog.engine.protocol import Engine, Observer, Settings, UserFunctions
from tidelog.engine.recorder import SessionRecorder
from tidelog.options import EngineName, Evaluate
from tidelog.program.inputs import find_changeable
from tidelog.program.nodes import Program
from tidelog.values import Codec

if TYPE_CHECKING:
    from tidelog.engine.local import LocalEngine
    from tidelog.engine.reference.restart import RestartingEngine
    from tidelog.explain.port import EnginePort
    from tidelog.maintain import LocalMaintainedEngine
    from tidelog.maintain.spark import SparkMaintainedEngine


@dataclass(frozen=True, slots=True)
class EngineKind:
    """How to make engines of one sort.

    `passes` gives the program as the engine runs it. `maintain` makes an engine that follows
    changes, `evaluate` one that runs once; both are given programs after the passes. `port` gives what an
    engine made by `maintain` offers to explanations. With `counts_heights` its iterations can be heights.
    """

    name: EngineName
    passes: Callable[[Program], Program]
    maintain: Callable[[Program, Codec, Settings, UserFunctions], MaintainedEngine]
    evaluate: Callable[[Program, Codec, Settings, UserFunctions], Engine]
    port: Callable[[MaintainedEngine], "EnginePort"]
    counts_heights: bool = False
    asking: Callable[[Program], Program] | None = None

    def question_passes(self, program: Program) -> Program:
        """Return the program of a question as an engine runs it: all of it, whatever sessions leave out."""
        return (self.asking or self.passes)(program)

    def on_demand(self, evaluate: Evaluate) -> "EngineKind":
        """Return the sort of engine that leaves to questions what they can derive."""
        if evaluate == "all":
            return self

        def passes(program: Program) -> Program:
            from tidelog.plan.demand import eager_part, split_by_demand  # noqa: PLC0415 - few ask for it

            return self.passes(eager_part(program, split_by_demand(program, evaluate).demanded))

        return replace(self, passes=passes, asking=self.passes)

    def with_heights(self, inputs: Collection[str]) -> "EngineKind":
        """Return the sort of engine whose iterations are heights; others find heights when asked for."""
        if not self.counts_heights:
            return self

        def passes(program: Program) -> Program:
            from tidelog.plan.heights import count_heights  # noqa: PLC0415 - only who asks pays

            return count_heights(self.passes(program), find_changeable(program, inputs))

        return replace(self, passes=passes)

    def profile(self, engine: Engine, recorder: SessionRecorder) -> None:
        """Let an engine that can write its evaluation to the profile, if there is one."""
        if recorder.profile is not None and self.name == "local":
            cast("LocalEngine", engine).profile = recorder.profile


@dataclass(frozen=True, slots=True)
class EngineHandle:
    """An engine at work: the values it knows, and how to make another one."""

    kind: EngineKind
    codec: Codec
    engine: MaintainedEngine
    settings: Settings
    observer: Observer

    @property
    def port(self) -> "EnginePort":
        """Return what the engine offers to explanations."""
        return self.kind.port(self.engine)

    @property
    def counts_heights(self) -> bool:
        """Say whether the iterations of the engine can be heights of proofs."""
        return self.kind.counts_heights

    def passes(self, program: Program) -> Program:
        """Return a program as the engine runs it."""
        return self.kind.passes(program)


def find_engine(name: EngineName, spark: object = None) -> EngineKind:
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
        case "cuda":
            return _cuda()
    assert_never(name)


def _local() -> EngineKind:
    from tidelog.engine.local import LocalEngine  # noqa: PLC0415 - see above
    from tidelog.plan.passes import run_passes  # noqa: PLC0415 - see above

    def maintain(
        program: Program, codec: Codec, settings: Settings, functions: UserFunctions
    ) -> MaintainedEngine:
        from tidelog.maintain import LocalMaintainedEngine  # noqa: PLC0415 - not needed by one run

        return LocalMaintainedEngine(program, codec, settings, functions)

    def port(engine: MaintainedEngine) -> "EnginePort":
        from tidelog.explain.engine_ports import LocalPort  # noqa: PLC0415 - only who asks why

        return LocalPort(cast("LocalMaintainedEngine", engine))

    return EngineKind("local", run_passes, maintain, LocalEngine, port, counts_heights=True)


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

    def port(engine: MaintainedEngine) -> "EnginePort":
        from tidelog.explain.engine_ports import reference_port  # noqa: PLC0415 - only who asks why

        return reference_port(cast("RestartingEngine", engine))

    return EngineKind("reference", lambda program: program, maintain, ReferenceEngine, port)


def _cuda() -> EngineKind:
    """Return the sort of engine that runs on a GPU; in sessions it evaluates each epoch from scratch."""
    from tidelog.engine.cuda import CudaEngine, cupy_device  # noqa: PLC0415 - only with a GPU
    from tidelog.engine.reference.restart import RestartingEngine  # noqa: PLC0415 - as above
    from tidelog.plan.passes import run_passes  # noqa: PLC0415 - as above

    device = cupy_device.open_device()

    def evaluate(program: Program, codec: Codec, settings: Settings, functions: UserFunctions) -> Engine:
        return CudaEngine(program, codec, settings, functions, device)

    def maintain(
        program: Program, codec: Codec, settings: Settings, functions: UserFunctions
    ) -> MaintainedEngine:
        def make(other: Program, numbering: Numbering) -> Engine:
            return CudaEngine(other, codec, settings, functions, device, numbering)

        return RestartingEngine(program, make)

    def port(engine: MaintainedEngine) -> "EnginePort":
        from tidelog.explain.engine_ports import reference_port  # noqa: PLC0415 - only who asks why

        return reference_port(cast("RestartingEngine", engine))

    return EngineKind("cuda", run_passes, maintain, evaluate, port)


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

    def port(engine: MaintainedEngine) -> "EnginePort":
        from tidelog.explain.engine_ports import spark_port  # noqa: PLC0415 - only who asks why

        return spark_port(cast("SparkMaintainedEngine", engine))

    return EngineKind("spark", run_passes, maintain, evaluate, port)
