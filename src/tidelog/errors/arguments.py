"""Arguments of calls that are not what they should be, as diagnostics and not as tracebacks."""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from numbers import Integral, Real
from os import PathLike
from pathlib import Path
from typing import Self

from tidelog.errors.diagnostic import Diagnostic, TidelogError


class Arguments:
    """Checks the arguments of one call; leaving the `with` block raises all mistakes together.

    None is right where `is_optional` says so.

        with Arguments() as arguments:
            arguments.whole("bound", bound, least=1)
            arguments.function("callback", callback)
    """

    def __init__(self) -> None:
        self.diagnostics: list[Diagnostic] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None and self.diagnostics:
            raise TidelogError(self.diagnostics)

    def expect(self, name: str, value: object, wanted: str, *, is_right: bool) -> None:
        """Note a mistake if an argument is not what is wanted."""
        if not is_right:
            self.diagnostics.append(bad_argument(name, value, wanted))

    def refuse(self, *, if_any: Mapping[str, bool], because: str, hint: str | None = None) -> None:
        """Note the arguments that were given though they have no effect."""
        for name, is_input in if_any.items():
            if is_input:
                self.diagnostics.append(no_effect(name, because, hint))

    @contextmanager
    def noting(self) -> Iterator[None]:
        """Note the mistakes that are raised within, and go on."""
        try:
            yield
        except TidelogError as error:
            self.diagnostics += error.diagnostics

    def text(self, name: str, value: object) -> None:
        """Expect a text."""
        self.expect(name, value, "a text", is_right=isinstance(value, str))

    def flag(self, name: str, value: object) -> None:
        """Expect True or False."""
        self.expect(name, value, "True or False", is_right=isinstance(value, bool))

    def function(self, name: str, value: object, *, is_optional: bool = False) -> None:
        """Expect something that can be called."""
        self.expect(name, value, "a function", is_right=callable(value) or (is_optional and value is None))

    def whole(self, name: str, value: object, *, least: int, is_optional: bool = False) -> None:
        """Expect a whole number from `least` on."""
        is_right = is_whole(value) and value >= least  # type: ignore[operator]  # a whole number compares
        wanted = f"a whole number of at least {least}"
        self.expect(name, value, wanted, is_right=is_right or (is_optional and value is None))

    def number(self, name: str, value: object, *, is_optional: bool = False) -> None:
        """Expect a number from zero on; infinity is one."""
        is_right = is_number(value) and value >= 0  # type: ignore[operator] # a number compares
        self.expect(
            name, value, "a number of at least 0", is_right=is_right or (is_optional and value is None)
        )

    def path(self, name: str, value: object, *, is_optional: bool = False) -> None:
        """Expect a path that the system can take."""
        is_right = is_path(value) or (is_optional and value is None)
        self.expect(name, value, "a path", is_right=is_right)

    def mapping(
        self,
        name: str,
        value: object,
        wanted: str = "a mapping",
        *,
        of: Callable[[object], bool] = lambda _: True,
        is_optional: bool = False,
    ) -> None:
        """Expect a mapping from texts to values that `of` accepts."""
        if isinstance(value, Mapping):
            self.diagnostics += [
                Diagnostic(
                    code="bad-argument",
                    message=f"`{name}` must be {wanted}, not {described(each)} for {described(key)}",
                )
                for key, each in value.items()
                if not (isinstance(key, str) and of(each))
            ]
            return
        self.expect(name, value, wanted, is_right=is_optional and value is None)


def is_whole(value: object) -> bool:
    """Say whether a value is a whole number; True and False are not meant as numbers."""
    return isinstance(value, Integral) and not isinstance(value, bool)


def is_number(value: object) -> bool:
    """Say whether a value is a number; True and False are not meant as numbers."""
    return isinstance(value, Real) and not isinstance(value, bool)


def to_float(value: object) -> float | None:
    """Return a number as a float, infinity if it is too large for one; None if it is not a number."""
    if not isinstance(value, Real) or isinstance(value, bool):
        return None
    try:
        return float(value)
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")  # type: ignore[operator]  # a number compares


def is_path(value: object) -> bool:
    """Say whether a value is a path that the system can take."""
    if not isinstance(value, str | PathLike):
        return False
    try:
        return b"\0" not in os.fsencode(value) and isinstance(os.fspath(value), str)
    except (TypeError, ValueError):
        return False


def paths(name: str, value: object) -> tuple[Path, ...]:
    """Return the folders that an argument names: one, or several."""
    several = value if isinstance(value, Iterable) and not isinstance(value, str | bytes) else [value]
    found = list(several)
    with Arguments() as arguments:
        for each in found:
            arguments.path(name, each)
    return tuple(Path(each) for each in found)


def bad_argument(name: str, value: object, wanted: str) -> Diagnostic:
    """Return what is wrong with an argument."""
    return Diagnostic(code="bad-argument", message=f"`{name}` must be {wanted}, not {described(value)}")


def no_effect(name: str, because: str, hint: str | None = None) -> Diagnostic:
    """Return that an argument would be ignored."""
    message = f"`{name}` would have no effect: {because}"
    return Diagnostic(code="no-effect", message=message, hint=hint or f"leave out `{name}`")


def written(value: object) -> str:
    """Return a text as it is, and other values as Python writes them if it does: huge numbers it does not."""
    try:
        return value if isinstance(value, str) else repr(value)
    except ValueError:
        return described(value)


def described(value: object) -> str:
    """Return a value as messages speak of it: numbers and short texts themselves, others by their type."""
    if isinstance(value, int) and abs(value) >= 10**40:
        return "a number of more than 40 digits"
    if value is None or isinstance(value, bool | int | float):
        return repr(value)
    if isinstance(value, str):
        return repr(value if len(value) <= 40 else f"{value[:37]}...")
    if isinstance(value, type):
        return f"the class {value.__name__}"
    return f"a value of type {type(value).__name__}"
