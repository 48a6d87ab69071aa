"""By which columns the facts that a law decides about are divided: whoever owns a fact must decide about it.

    .decl distance(x: symbol, n: Length<>)
    .decl tree(x: number, y: number) choice-domain y

Facts that agree on `x` are joined into one, and of those that agree on `y` one is chosen. The partner that
owns a value of such a column gets all candidates with it, so it decides as one place would, in the same
iteration. What needs to see more than that stays in one place.
"""

from collections.abc import Iterator, Mapping

from tidelog.dataclass import dataclass
from tidelog.engine.spark.placement import reason_for_numbering
from tidelog.program.nodes import Program, Relation, Stratum, Subsumption, Variable
from tidelog.program.walk_nodes import relations_read


@dataclass(frozen=True, slots=True)
class LawColumns:
    """The columns that may decide who owns a fact, of each relation with a law or keys.

    If a stratum cannot be divided, `refusal` says why.
    """

    columns: Mapping[str, frozenset[int]]
    refusal: str | None = None


def law_columns(stratum: Stratum, program: Program) -> LawColumns:
    """Return the columns by which the laws of a stratum can be divided among partners."""
    refusal = next(_refusals(stratum, program), None)
    if refusal is not None:
        return LawColumns({}, refusal)
    found: dict[str, frozenset[int]] = {}
    for name in stratum.relations:
        relation = program.relations[name]
        own = [each for each in stratum.subsumptions if each.less.relation == name]
        domains = [frozenset(domain) for domain in relation.choices]
        if relation.keys:
            domains.append(frozenset(relation.keys))
        if not (own or domains or relation.lattice_columns):
            continue
        plain = frozenset(range(relation.arity)).difference(relation.lattice_columns)
        found[name] = plain.intersection(*domains, *map(_equated, own))
        if not found[name]:
            return LawColumns({}, f"no column of `{name}` divides the facts that are decided together")
    return LawColumns(found)


def _refusals(stratum: Stratum, program: Program) -> Iterator[str]:
    """Yield why facts of a stratum cannot be divided, whatever their columns."""
    counting = reason_for_numbering(stratum)
    if counting is not None:
        yield counting
    for name in stratum.relations:
        relation = program.relations[name]
        if relation.is_equivalence or relation.size_limit is not None:
            yield f"`{name}` {relation.law}"
        if any(not program.kind_of(type_name).is_numeric for type_name in _joined_types(relation)):
            yield f"joins make new values of `{name}`"
    if program.narrows(stratum):
        yield "values are narrowed after the fixpoint"
    for each in stratum.subsumptions:
        if relations_read(each.body):
            yield f"a subsumption of `{each.less.relation}` reads relations"


def _joined_types(relation: Relation) -> list[str]:
    return [relation.columns[place].type for place in relation.lattice_columns]


def _equated(subsumption: Subsumption) -> frozenset[int]:
    """Return the columns on which facts agree if one of them subsumes the other."""
    pairs = zip(subsumption.less.terms, subsumption.greater.terms, strict=True)
    return frozenset(
        place
        for place, (left, right) in enumerate(pairs)
        if isinstance(left, Variable) and isinstance(right, Variable) and left.name == right.name
    )
