"""A stateful functor with the tables of a codec: it takes codes and returns one."""

from collections.abc import Callable

from tidelog.engine.libraries.algebraic import Algebraic
from tidelog.engine.libraries.tables import LibraryTables
from tidelog.engine.user_functors import FunctorError
from tidelog.program.nodes import UserFunctor
from tidelog.values import Codec, Kind, Value
from tidelog.values.records import NIL


class BoundFunctor:
    """Calls a stateful function; values of algebraic types are passed as Soufflé has them."""

    def __init__(self, function: Callable[..., int], declared: UserFunctor, codec: Codec) -> None:
        self._function = function
        self._types = declared.parameters
        self._result = codec.resolve(declared.result)
        self._codec = codec
        self._tables = LibraryTables(codec.symbols, codec.records)
        self._algebraic = Algebraic(codec)

    def __call__(self, *operands: Value) -> Value:
        """Return the function's result for Python values."""
        codes = [self._codec.encode(value, name) for value, name in zip(operands, self._types, strict=True)]
        return self._codec.decode(self.call_codes(codes), self._result.name)

    def call_codes(self, codes: list[int]) -> int:
        """Return the code of the function's result for codes."""
        passed = [self._algebraic.to_library(*each) for each in zip(codes, self._types, strict=True)]
        found = self._tables.call(self._function, passed)
        if not self._is_code(found):
            hint = "return what `encode` or `pack` gave for a value of that type"
            raise FunctorError(f"it returned {found}, which is not a code of `{self._result.name}`", hint)
        return self._algebraic.from_library(found, self._result.name)

    def _is_code(self, code: int) -> bool:
        """Say whether the outermost part of a value is as its type says."""
        match self._result.kind:
            case Kind.SYMBOL:
                return 0 <= code < len(self._codec.symbols)
            case Kind.RECORD:
                records = self._codec.records
                is_known = 0 < code < len(records)
                return code == NIL or (is_known and len(records.row(code)) == len(self._result.fields))
            case _:
                return True
