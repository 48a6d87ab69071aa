"""Which partner keeps which facts of a state that is followed from epoch to epoch.

A relation is kept by the columns by which its own stratum needs it, and by those by which later strata do:

    path(x, z) :- path(x, y), path(y, z).
    found(x, t) :- path(x, y), text(y, t).

`path` is kept by both its columns for its own rule, and the second rule finds what it needs where `y` is
kept. A relation is at every partner if a later rule has no variable for it, or if parts that never
communicate read it. What aggregates read is divided like that too: derivations are sent to the owners of
their groups.

Frequent values stay the same as long as the state is kept (see `skew`); with them no stratum is decomposed.
"""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace

from tidelog.dataclass import dataclass
from tidelog.engine.spark.cut import cut_rules
from tidelog.engine.spark.law_columns import law_columns
from tidelog.engine.spark.outside import divide_outside
from tidelog.engine.spark.routes import RelationRoute, Routes, find_routes
from tidelog.engine.spark.skew import with_heavy
from tidelog.maintain.partners.inputs_apart import Apart
from tidelog.program.nodes import Program, RuleId, Stratum
from tidelog.program.walk_nodes import earlier_relations

# The variables of each rule that divide all large relations it reads.
Dividing = Mapping[RuleId, frozenset[str]]


@dataclass(frozen=True, slots=True)
class CutProgram:
    """A program whose rules were cut to divide large relations of earlier strata."""

    program: Program
    dividing: Dividing


def cut_for(program: Program, large: Collection[str], aggregates: AbstractSet[str]) -> CutProgram:
    """Return the program whose rules read each large relation by the variable that divides them.

    `aggregates` are relations that aggregates fill; their strata stay as they are.
    """
    dividing: dict[RuleId, frozenset[str]] = {}
    for number, stratum in enumerate(program.strata):
        if earlier_relations(stratum).isdisjoint(large) or not aggregates.isdisjoint(stratum.relations):
            continue
        cut = cut_rules(program, number, large)
        program = cut.program
        dividing.update(cut.dividing)
    return CutProgram(program, dividing)


class _Needs:
    """The columns by which later strata need a relation, and the relations that all partners need.

    `shared` are the columns whose frequent values they need at every partner.
    """

    def __init__(self) -> None:
        self.columns: dict[str, set[int]] = defaultdict(set)
        self.everywhere: set[str] = set()
        self.shared: dict[str, tuple[int, ...]] = {}

    def add(self, stratum: Stratum, routes: Routes) -> None:
        """Add what a stratum needs of earlier ones."""
        for name in earlier_relations(stratum):
            if name in routes.outside:
                self.columns[name].update(routes.outside[name].columns)
            else:
                self.everywhere.add(name)
        for name, columns in routes.shared.items():
            self.shared[name] = tuple(sorted({*columns, *self.shared.get(name, ())}))

    def route(self, name: str, route: RelationRoute, *, has_rules: bool) -> RelationRoute:
        """Return the route of a relation by which later strata find it, given that of its own stratum.

        What has a law is like what has rules: the stratum says who owns a fact.
        """
        if route.is_everywhere or name in self.everywhere:
            return replace(route, is_everywhere=True)
        wanted = self.columns[name]
        # A relation without rules is owned where it is read.
        owner = min(wanted) if wanted and not has_rules else route.owner
        own = set(route.columns) if has_rules else set()
        return replace(route, owner=owner, columns=tuple(sorted({owner, *own, *wanted})))


class _Owners:
    """The routes of input facts that are kept apart, once those of their relations are known."""

    def __init__(self, apart: Apart) -> None:
        self._apart = apart
        self.of_apart: dict[str, RelationRoute] = {}

    def note(self, relations: Mapping[str, RelationRoute]) -> None:
        """Note the routes of a stratum's relations."""
        for name, route in relations.items():
            if name in self._apart:
                self.of_apart[self._apart[name]] = RelationRoute(route.owner, (route.owner,))


def may_spread(program: Program) -> bool:
    """Say whether rows of frequent values may be spread: not where owners decide by a law."""
    return not any(law_columns(stratum, program).columns for stratum in program.strata)


def routes_of(
    program: Program,
    dividing: Dividing,
    is_connected: Sequence[bool] = (),
    apart: Apart | None = None,
    heavy: tuple[int, ...] = (),
) -> tuple[Routes, ...]:
    """Return the routes of every stratum, for a state that is kept between epochs.

    Partners of a stratum that `is_connected` exchange facts even if they need not. Input facts that are
    kept `apart` are with the partners that own such facts of their relation. Rows with `heavy` values are
    spread, if they may be.
    """
    heavy = heavy if may_spread(program) else ()
    found: list[Routes] = []
    needs = _Needs()
    owners = _Owners(apart or {})
    for number, stratum in reversed(tuple(enumerate(program.strata))):
        is_cut = any(rule.id in dividing for rule in stratum.rules)
        owning = law_columns(stratum, program).columns
        routes = find_routes(stratum, program, dividing if is_cut else None, owning)
        relations = {
            name: owners.of_apart.get(name)
            or needs.route(name, routes.relations[name], has_rules=bool(stratum.rules or name in owning))
            for name in stratum.relations
        }
        owners.note(relations)
        is_decomposed = (
            routes.is_decomposed
            and not heavy
            and all(route.has_no_copies for route in relations.values())
            and not any(is_connected[number : number + 1])
        )
        routes = replace(routes, relations=relations, is_decomposed=is_decomposed)
        routes = divide_outside(stratum, program, routes, dividing if is_cut else None)
        needs.add(stratum, routes)
        found.append(with_heavy(replace(routes, shared=dict(needs.shared)), heavy) if heavy else routes)
    return tuple(reversed(found))
