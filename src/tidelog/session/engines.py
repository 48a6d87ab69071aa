"""The engines a user may choose."""

from collections.abc import Callable
from typing import Literal, get_args

from tidelog.engine.protocol import Engine, Settings, UserFunctions
from tidelog.errors import Diagnostic, TidelogError
from tidelog.program.nodes import Program
from tidelog.values import Codec

EngineName = Literal["local", "reference"]
EngineClass = Callable[[Program, Codec, Settings, UserFunctions], Engine]


def find_engine(name: str) -> EngineClass:
    """Return the class of the named engine.

    Engines are imported when they are chosen: the local one brings its compiler, which takes
    longer to load than a small program takes to run on the reference engine.
    """
    match name:
        case "local":
            from tidelog.engine.local import LocalEngine  # noqa: PLC0415 - see above
            from tidelog.plan.passes import run_passes  # noqa: PLC0415 - see above

            return lambda program, *rest: LocalEngine(run_passes(program), *rest)
        case "reference":
            from tidelog.engine.reference import ReferenceEngine  # noqa: PLC0415 - see above

            return ReferenceEngine
    raise TidelogError(
        [
            Diagnostic(
                code="unknown-engine",
                message=f"there is no engine `{name}`",
                hint=f"choose one of {', '.join(get_args(EngineName))}",
            )
        ]
    )
