"""Functors that users write, in Python or C; what goes wrong in them becomes a diagnostic."""

from collections.abc import Callable

from tidelog.engine.protocol import UserFunctions
from tidelog.errors import Diagnostic, TidelogError
from tidelog.source import Span
from tidelog.values import Codec, NoValueError, Value


class FunctorError(Exception):
    """A call that a library did not answer as its declaration says, with what to do about it."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.hint = hint


def find_functor(
    name: str, functions: UserFunctions, codec: Codec, span: Span | None
) -> Callable[..., Value]:
    """Return the function of a functor, or raise a diagnostic if there is none.

    One that works on codes is bound to the codec.
    """
    function = functions.get(name)
    if function is None:
        message = f"no Python function is given for the functor `{name}`"
        hint = f"give one with `functions={{{name!r}: ...}}`"
        raise TidelogError([Diagnostic(code="missing-function", message=message, span=span, hint=hint)])
    bind: Callable[[Codec], Callable[..., Value]] | None = getattr(function, "bound_to", None)
    return function if bind is None else bind(codec)


def call_functor(
    name: str, function: Callable[..., Value], operands: tuple[Value, ...], span: Span | None
) -> Value:
    """Return the function's result; `NoValueError` is passed on."""
    try:
        return function(*operands)
    except (NoValueError, TidelogError):
        raise
    except FunctorError as error:
        raise failed_functor(name, operands, error, span) from None
    except Exception as error:
        hint = "a functor must return a value for all arguments; raise NoValueError if there is none"
        failure = FunctorError(f"{type(error).__name__}: {error}", hint)
        raise failed_functor(name, operands, failure, span) from error


def no_join(name: str, operands: tuple[Value, ...]) -> TidelogError:
    """Return the error for two values without a least upper bound."""
    hint = "any two values of a lattice must have a least upper bound"
    return failed_functor(name, operands, FunctorError("it has no value", hint), None)


def failed_functor(
    name: str, operands: tuple[Value, ...], error: FunctorError, span: Span | None
) -> TidelogError:
    """Return the error for a call that failed."""
    message = f"{failed_call(name, operands)}{error}"
    return TidelogError([Diagnostic(code="functor-failed", message=message, span=span, hint=error.hint)])


def failed_call(name: str, operands: tuple[Value, ...]) -> str:
    """Return the beginning of a message about a call that failed."""
    return f"the functor `{name}({', '.join(map(repr, operands))})` failed: "
