"""What workers know about values: the codes of the program's constants, sent by the driver."""

from collections.abc import Iterable, Mapping

from tidelog.program.nodes import Constant, Stratum
from tidelog.program.walk_nodes import walk
from tidelog.values import Codec, Value
from tidelog.values.types import TypeTable

Known = Mapping[tuple[str, Value], int]


def codes_of_constants(strata: Iterable[Stratum], codec: Codec) -> dict[tuple[str, Value], int]:
    """Return the code of every constant in rules and subsumptions that is not its own code."""
    return {
        (node.type, node.value): codec.encode(node.value, node.type)
        for stratum in strata
        for node in walk((*stratum.rules, *stratum.subsumptions))
        if isinstance(node, Constant) and not codec.types[node.type].kind.is_numeric
    }


class WorkerCodec(Codec):
    """A codec that knows numbers and these constants, and makes no new codes.

    Rules that need more than that run in the driver.
    """

    def __init__(self, types: TypeTable, known: Known) -> None:
        super().__init__(types)
        self._known = known

    def encode(self, value: Value, type_name: str) -> int:
        """Return the driver's code of a constant."""
        if self.types[type_name].kind.is_numeric:
            return super().encode(value, type_name)
        return self._known[type_name, value]
