"""The codes that a column may hold: what decides how many bits it takes.

Rules that only pass values on give a column no code that it did not have before, so the ranges of a
stratum's columns follow from the facts before it runs. A value that is computed may be any code.
"""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from tidelog.dataclass import dataclass
from tidelog.engine.protocol import Codes
from tidelog.plan.flatten import FlatRule
from tidelog.program import nodes
from tidelog.values.codec import Codec


@dataclass(frozen=True, slots=True)
class CodeRange:
    """Codes from `least` to `greatest`; none if the first is above the second."""

    least: int
    greatest: int

    def with_range(self, other: "CodeRange") -> "CodeRange":
        """Return the least range that has all codes of both."""
        return CodeRange(min(self.least, other.least), max(self.greatest, other.greatest))

    def within(self, other: "CodeRange") -> "CodeRange":
        """Return the codes that both have."""
        return CodeRange(max(self.least, other.least), min(self.greatest, other.greatest))

    @property
    def size(self) -> int:
        """Return how many codes it has."""
        return max(0, self.greatest - self.least + 1)

    @property
    def bits(self) -> int:
        """Return how many bits tell its codes apart."""
        return max(0, self.size - 1).bit_length()


NO_CODE = CodeRange(2**63 - 1, -(2**63))
ANY_CODE = CodeRange(-(2**63), 2**63 - 1)
Ranges = tuple[CodeRange, ...]


def ranges_of_facts(columns: Sequence[Codes]) -> Ranges:
    """Return the ranges of columns of facts."""
    return tuple(
        CodeRange(int(np.min(column)), int(np.max(column))) if len(column) else NO_CODE for column in columns
    )


def ranges_of_rules(
    rules: Iterable[FlatRule], known: Mapping[str, Ranges], codec: Codec
) -> dict[str, Ranges]:
    """Return the ranges of all relations once the rules have derived what they can.

    `known` has those of the facts before.
    """
    ranges = dict(known)
    waiting = True
    rules = tuple(rules)
    while waiting:
        waiting = False
        for rule in rules:
            found = _ranges_of_head(rule, ranges, codec)
            wider = tuple(a.with_range(b) for a, b in zip(ranges[rule.relation], found, strict=True))
            if wider != ranges[rule.relation]:
                ranges[rule.relation] = wider
                waiting = True
    return ranges


def _ranges_of_head(rule: FlatRule, ranges: Mapping[str, Ranges], codec: Codec) -> Ranges:
    """Return the ranges of what a rule derives from facts in these ranges."""
    bound: dict[str, CodeRange] = {}
    for atom in rule.atoms:
        for term, codes in zip(atom.terms, ranges[atom.relation], strict=True):
            if isinstance(term, nodes.Variable):
                bound[term.name] = bound.get(term.name, ANY_CODE).within(codes)
    if any(codes.size == 0 for codes in bound.values()):
        return tuple(NO_CODE for _ in rule.head.terms)
    found = []
    for term in rule.head.terms:
        if isinstance(term, nodes.Constant):
            code = codec.encode(term.value, term.type)
            found.append(CodeRange(code, code))
        else:
            assert isinstance(term, nodes.Variable), "heads of flat rules have variables and constants"
            found.append(bound.get(term.name, ANY_CODE))
    return tuple(found)
