"""One relation of a session, and the answer to a query."""

from collections.abc import Sequence

from tidelog.engine.protocol import Codes, Engine
from tidelog.program.nodes import Column, Relation
from tidelog.values import Codec
from tidelog.views.facts import FactSet


class RelationView(FactSet):
    """The facts of one relation.

    `len` and `in` ask the engine; the first iteration or conversion fetches the facts and sorts
    them, and later ones reuse that.
    """

    def __init__(self, relation: Relation, engine: Engine, codec: Codec) -> None:
        super().__init__(relation.name, relation.columns, codec)
        self._engine = engine

    def __len__(self) -> int:
        return self._engine.size(self.name)

    def _codes(self) -> list[Codes]:
        return self._engine.facts(self.name)

    def _holds(self, fact: Sequence[int]) -> bool:
        if not fact:
            return len(self) > 0
        return len(self._engine.match(self.name, fact)[0]) > 0


class Answer(FactSet):
    """The bindings of a query's variables, each once, in the order the variables first occur.

    A query without variables has one empty binding when it holds and none otherwise, so an
    answer is true exactly when the query holds.
    """

    def __init__(
        self, query: str, columns: Sequence[Column], codec: Codec, codes: Sequence[Codes], size: int
    ) -> None:
        super().__init__(query, columns, codec)
        self._found = list(codes)
        self._size = size

    def __len__(self) -> int:
        return self._size

    def _codes(self) -> list[Codes]:
        return self._found
