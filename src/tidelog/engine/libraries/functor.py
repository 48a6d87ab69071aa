"""A functor whose function is in a shared library, with the types of C."""

import ctypes
from collections.abc import Callable
from threading import RLock
from typing import TYPE_CHECKING, Any, Final, cast

from tidelog.dataclass import dataclass
from tidelog.engine.user_functors import FunctorError
from tidelog.program.nodes import UserFunctor
from tidelog.values import Kind, NoValueError, Value

if TYPE_CHECKING:
    from tidelog.engine.libraries.bound import BoundFunctor
    from tidelog.values import Codec

# What values of a kind are in C, by the width of the library's numbers.
_TYPES: Final[dict[int, dict[Kind, Any]]] = {
    32: {
        Kind.NUMBER: ctypes.c_int32,
        Kind.UNSIGNED: ctypes.c_uint32,
        Kind.FLOAT: ctypes.c_float,
        Kind.SYMBOL: ctypes.c_char_p,
    },
    64: {
        Kind.NUMBER: ctypes.c_int64,
        Kind.UNSIGNED: ctypes.c_uint64,
        Kind.FLOAT: ctypes.c_double,
        Kind.SYMBOL: ctypes.c_char_p,
    },
}
_RANGES: Final = {Kind.NUMBER: (-(2**31), 2**31 - 1), Kind.UNSIGNED: (0, 2**32 - 1)}
# What a negative number of 32 bits looks like to a caller that expects 64.
SUSPECT_MIN, SUSPECT_MAX = 2**31, 2**32 - 1
_OTHER_WIDTH: Final = (
    "say how wide the library's numbers are: --library-bits 32 or --library-bits 64;"
    " from Python library_bits=32 or library_bits=64"
)


@dataclass(frozen=True, slots=True)
class Interface:
    """How a functor is declared, and the kinds that says; `bits` is None if the width of numbers is open."""

    declared: UserFunctor
    kinds: tuple[Kind, ...]
    result: Kind
    bits: int | None = None

    @property
    def width(self) -> int:
        """Return how wide numbers are taken to be."""
        return self.bits or 64


class LibraryFunctor:
    """A function of a library, called with Python values.

    A stateful one is called with codes and the tables that they stand in, so it is bound to a codec first.
    A library cannot be stopped from crashing the process, nor can it be asked for the types of a function.
    """

    def __init__(self, interface: Interface, library: ctypes.CDLL, lock: RLock) -> None:
        self.interface = interface
        # Held while a text is returned: libraries have one buffer for all of them as often as not.
        self.lock = lock
        self._function = library[interface.declared.name]
        if self.is_stateful:
            codes = [ctypes.c_int64] * len(interface.kinds)
            self._function.argtypes = [ctypes.c_void_p, ctypes.c_void_p, *codes]
            self._function.restype = ctypes.c_int64
        else:
            types = _TYPES[interface.width]
            self._function.argtypes = [types[kind] for kind in interface.kinds]
            self._function.restype = types[interface.result]

    @property
    def is_stateful(self) -> bool:
        """Say whether it takes codes and tables."""
        return self.interface.declared.is_stateful

    @property
    def address(self) -> int:
        """Return where the function is."""
        return cast("int", ctypes.cast(self._function, ctypes.c_void_p).value)

    def __call__(self, *operands: Value) -> Value:
        """Return the function's result; raise `NoValueError` for a null pointer."""
        assert not self.is_stateful, "it is bound to a codec first"
        kinds = self.interface.kinds
        passed = [self._passed(value, kind) for value, kind in zip(operands, kinds, strict=True)]
        with self.lock:
            return self._returned(self._function(*passed))

    def bound_to(self, codec: "Codec") -> Callable[..., Value]:
        """Return the function of Python values; a stateful one sees the codec's tables."""
        return self.with_tables(codec) if self.is_stateful else self

    def with_tables(self, codec: "Codec") -> "BoundFunctor":
        """Return a stateful function with the tables of a codec."""
        from tidelog.engine.libraries.bound import BoundFunctor  # noqa: PLC0415 - few are stateful

        return BoundFunctor(self._function, self.interface.declared, codec)

    def _passed(self, value: Value, kind: Kind) -> Value | bytes:
        if kind is Kind.SYMBOL:
            text = cast("str", value).encode()
            if b"\0" in text:
                raise FunctorError("a text with a NUL character ends there in C", "drop the character")
            return text
        if self.interface.width == 32 and kind in _RANGES:
            low, high = _RANGES[kind]
            if not low <= cast("int", value) <= high:
                hint = "compile the library for 64 bits, and drop --library-bits 32"
                raise FunctorError(f"{value} does not fit into 32 bits", hint)
        return value

    def _returned(self, value: Any) -> Value:
        if self.interface.result is Kind.SYMBOL:
            if value is None:
                raise NoValueError
            try:
                return cast("bytes", value).decode()
            except UnicodeDecodeError:
                hint = "texts are UTF-8; convert the text in the library"
                raise FunctorError(f"it returned {value!r}, which is not UTF-8", hint) from None
        if self.is_suspect(value):
            raise FunctorError(
                f"it returned {value}, which may be the 32-bit number {value - 2**32}", _OTHER_WIDTH
            )
        return cast("Value", value)

    def is_suspect(self, value: Any) -> bool:
        """Say whether a number may be a negative one of a library for 32 bits, if nobody said it is not."""
        is_open = self.interface.bits is None and self.interface.result is Kind.NUMBER
        return is_open and SUSPECT_MIN <= value <= SUSPECT_MAX
