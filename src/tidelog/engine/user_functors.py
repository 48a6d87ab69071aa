"""Functors written in Python; what they raise becomes a diagnostic."""

from collections.abc import Callable

from tidelog.engine.protocol import UserFunctions
from tidelog.errors import Diagnostic, TidelogError
from tidelog.source import Span
from tidelog.values import NoValueError, Value


def find_functor(name: str, functions: UserFunctions, span: Span | None) -> Callable[..., Value]:
    """Return the function of a functor, or raise a diagnostic if there is none."""
    function = functions.get(name)
    if function is None:
        message = f"no Python function is given for the functor `{name}`"
        hint = f"give one with `functions={{{name!r}: ...}}`"
        raise TidelogError([Diagnostic(code="missing-function", message=message, span=span, hint=hint)])
    return function


def call_functor(
    name: str, function: Callable[..., Value], operands: tuple[Value, ...], span: Span | None
) -> Value:
    """Return the function's result; `NoValueError` is passed on."""
    try:
        return function(*operands)
    except (NoValueError, TidelogError):
        raise
    except Exception as error:
        message = f"{failed_call(name, operands)}{type(error).__name__}: {error}"
        hint = "a functor must give a value for all arguments; raise NoValueError where there is none"
        failed = Diagnostic(code="functor-failed", message=message, span=span, hint=hint)
        raise TidelogError([failed]) from error


def no_join(name: str, operands: tuple[Value, ...]) -> TidelogError:
    """Return the error for two values without a least upper bound."""
    message = f"{failed_call(name, operands)}it has no value"
    hint = "any two values of a lattice must have a least upper bound"
    return TidelogError([Diagnostic(code="functor-failed", message=message, hint=hint)])


def failed_call(name: str, operands: tuple[Value, ...]) -> str:
    """Return the beginning of a message about a call that failed."""
    return f"the functor `{name}({', '.join(map(repr, operands))})` failed: "
