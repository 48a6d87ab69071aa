"""Values of algebraic types, as Soufflé's functors know them, and back.

    .type Shape = Circle { r: number } | Box { w: number, h: number } | Dot {}

Here a value is the row (position of its branch, fields ...). Soufflé numbers branches by name: `Box` is 0,
`Circle` 1, `Dot` 2. Its values are the records [1, r] for one field and [0, [w, h]] for any other number of
them; where no branch has a field, as in `.type Sign = Minus {} | Plus {}`, they are the numbers alone.
"""

from collections.abc import Callable, Sequence

from tidelog.engine.user_functors import FunctorError
from tidelog.values import Codec, Kind
from tidelog.values.records import NIL
from tidelog.values.types import ValueType

# A code and the type it is read by.
Item = tuple[int, str]


class Algebraic:
    """Translates codes of types with algebraic types in them; all others stay as they are."""

    def __init__(self, codec: Codec) -> None:
        self._codec = codec
        self._records = codec.records
        self._differs: dict[str, bool] = {}

    def to_library(self, code: int, type_name: str) -> int:
        """Return the code of a value as Soufflé has it."""
        return self._translated((code, type_name), self._parts, self._pack)

    def from_library(self, code: int, type_name: str) -> int:
        """Return the code of a value that Soufflé's code stands for."""
        return self._translated((code, type_name), self._foreign_parts, self._intern)

    def _translated(
        self,
        root: Item,
        parts_of: Callable[[Item], list[Item]],
        build: Callable[[Item, list[int]], int],
    ) -> int:
        # A stack instead of recursion: an item is opened when it is first on top, and built when it is
        # on top again, for then all that is inside it has been built.
        built: dict[Item, int] = {}
        opened: dict[Item, list[Item]] = {}
        waiting = [root]
        while waiting:
            item = waiting[-1]
            if item not in opened:
                opened[item] = parts_of(item) if self._is_different(item[1]) else []
                waiting += opened[item]
                continue
            waiting.pop()
            if item in built:
                continue
            if any(part not in built for part in opened[item]):
                raise FunctorError(f"it returned {root[0]}, which contains itself", _HINT)
            inside = [built[part] for part in opened[item]]
            built[item] = build(item, inside) if self._is_different(item[1]) else item[0]
        return built[root]

    def _is_different(self, type_name: str) -> bool:
        """Say whether a type is algebraic, or has such a type inside."""
        if type_name not in self._differs:
            met: set[str] = set()
            waiting = [type_name]
            while waiting:
                value_type = self._codec.resolve(waiting.pop())
                if value_type.name not in met:
                    met.add(value_type.name)
                    waiting += [field.type for field in value_type.fields]
            self._differs[type_name] = any(self._codec.types[name].kind is Kind.ADT for name in met)
        return self._differs[type_name]

    def _parts(self, item: Item) -> list[Item]:
        code, value_type = item[0], self._codec.resolve(item[1])
        if value_type.kind is Kind.RECORD and code == NIL:
            return []
        return [(part, part_type.name) for part, part_type in self._codec.fields(code, value_type)]

    def _pack(self, item: Item, fields: list[int]) -> int:
        code, value_type = item[0], self._codec.resolve(item[1])
        if value_type.kind is Kind.RECORD:
            return NIL if code == NIL else self._records.code_of(fields)
        number = _order(value_type).index(self._records.row(code)[0])
        if _is_plain(value_type):
            return number
        inside = fields[0] if len(fields) == 1 else self._records.code_of(fields)
        return self._records.code_of([number, inside])

    def _foreign_parts(self, item: Item) -> list[Item]:
        code, value_type = item[0], self._codec.resolve(item[1])
        if value_type.kind is Kind.RECORD:
            fields = value_type.fields
            row = [] if code == NIL else self._row(code, len(fields), value_type)
            return [(part, field.type) for part, field in zip(row, fields, strict=False)]
        position, inside = self._foreign_branch(code, value_type)
        fields = value_type.branches[position].fields
        row = [inside] if len(fields) == 1 else self._row(inside, len(fields), value_type) if fields else []
        return [(part, field.type) for part, field in zip(row, fields, strict=True)]

    def _intern(self, item: Item, fields: list[int]) -> int:
        code, value_type = item[0], self._codec.resolve(item[1])
        if value_type.kind is Kind.RECORD:
            return NIL if code == NIL else self._records.code_of(fields)
        return self._records.code_of([self._foreign_branch(code, value_type)[0], *fields])

    def _foreign_branch(self, code: int, value_type: ValueType) -> tuple[int, int]:
        """Return the position of the branch of Soufflé's code, and what it has inside."""
        number, inside = (code, NIL) if _is_plain(value_type) else self._row(code, 2, value_type)
        if not 0 <= number < len(value_type.branches):
            raise FunctorError(
                f"it returned a branch {number}, which `{value_type.name}` does not have", _HINT
            )
        return _order(value_type)[number], inside

    def _row(self, code: int, width: int, value_type: ValueType) -> list[int]:
        row = self._records.row(code) if 0 < code < len(self._records) else None
        if row is None or len(row) != width:
            raise FunctorError(f"it returned {code}, which is not a value of `{value_type.name}`", _HINT)
        return row


_HINT = "make values of algebraic types with `pack`, as Soufflé has them"


def _order(value_type: ValueType) -> Sequence[int]:
    """Return the positions of the branches in the order of their names."""
    return sorted(range(len(value_type.branches)), key=lambda place: value_type.branches[place].name)


def _is_plain(value_type: ValueType) -> bool:
    """Say whether no branch has a field."""
    return not any(branch.fields for branch in value_type.branches)
