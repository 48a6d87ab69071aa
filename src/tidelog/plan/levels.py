"""Joins by fewer columns than an index has, through that index.

If facts of q(x, r, z) are joined by x and r in one rule and by x alone in another, one index serves both: a
level above it leads from an x to the groups of all x and r. So

    join full q by x = y: r, z

becomes two joins, and between them whatever needs only r is done once for each r, not for each z:

    join keys (x, r) of q by x = y: r
    ...
    join full q by group: z
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from tidelog.plan.layouts import variables_bound, variables_read, with_layouts
from tidelog.plan.operators import (
    Check,
    Choose,
    Compute,
    Filter,
    IndexJoin,
    Operator,
    Rearrange,
    Reduce,
    RulePlan,
    ScanView,
    StratumPlan,
    View,
    all_operators,
)
from tidelog.plan.statistics import Statistics

# A relation and the columns by which its facts are looked up.
_Key = tuple[str, tuple[int, ...]]
# The columns of the index that serves each key.
_Served = Mapping[_Key, tuple[int, ...]]

# An index of fewer facts is not worth saving.
_LEAST_FACTS = 1 << 14
# So many facts must be in a group on average: each is found through its level.
_FACTS_PER_GROUP = 2


def with_levels(plan: StratumPlan, statistics: Statistics) -> StratumPlan:
    """Return a stratum's plan without indexes whose joins other indexes can serve."""
    served = _served(list(plan.operators()), statistics)

    def split(rule: RulePlan) -> RulePlan:
        operators, keyed = (_split(chain, served, counting=False) for chain in (rule.operators, rule.keyed))
        return replace(rule, operators=operators, keyed=keyed)

    once, repeated = (tuple(map(split, rules)) for rules in (plan.once, plan.repeated))
    return replace(plan, once=once, repeated=repeated) if served else plan


class SharedIndexes:
    """Which keys of relations have an index, and which go through a level of one.

    Chains that are planned one after the other share indexes: what was decided about a key stays, so that the
    same key never gets both. Derivations are counted, so a join never becomes a check.
    """

    def __init__(self, statistics: Statistics) -> None:
        self._statistics = statistics
        self._served: dict[_Key, tuple[int, ...]] = {}
        self._own: dict[_Key, None] = {}

    def concern(self, relation: str, arity: int) -> bool:
        """Say whether a relation has a key within a longer one, and enough facts for indexes to be shared."""
        return arity > 2 and (self._statistics.size(relation) or 0) >= _LEAST_FACTS

    def decide(self, operators: Iterable[Operator]) -> None:
        """Decide about the keys of these operators that are not known yet."""
        known = {**self._own, **dict.fromkeys(self._served)}
        new = [x for x in operators if any(key not in known for key in _keys_of(x))]
        if new:
            found = _served(new, self._statistics, self._own)
            self._served.update((key, over) for key, over in found.items() if key not in known)
            self._own.update((key, None) for x in new for key in _keys_of(x) if key not in self._served)

    def through_levels(self, operators: Sequence[Operator]) -> tuple[Operator, ...]:
        """Return a chain whose joins go through levels where it was decided so."""
        return _split(operators, self._served, counting=True)


def _served(
    operators: Sequence[Operator], statistics: Statistics, kept: Collection[_Key] = ()
) -> dict[_Key, tuple[int, ...]]:
    """Return the keys that need no index of their own; those that are `kept` have one.

    A level leads to the keys of all facts, old and new: an index stays by which facts of the delta are found.
    """
    keys = {key: None for x in operators if not isinstance(x, Check) for key in _keys_of(x)}
    keys.update(dict.fromkeys(kept))
    inside = (x for each in operators if isinstance(each, Reduce) for x in all_operators(each.body))
    needed = {*kept, *(key for x in inside for key in _keys_of(x))}
    needed.update(key for x in operators for key in _keys_of(x) if not _allows_level(x))
    served: dict[_Key, tuple[int, ...]] = {}
    for relation, key in sorted(keys, key=lambda each: -len(each[1])):
        size = statistics.size(relation) or 0.0
        if (relation, key) in needed or size < _LEAST_FACTS:
            continue
        groups = {
            over: _groups(relation, over, statistics)
            for name, over in keys
            if name == relation and set(key) < set(over) and (name, over) not in served
        }
        fewest = min(groups, key=groups.__getitem__, default=None)
        if fewest is not None and _FACTS_PER_GROUP * groups[fewest] <= size:
            served[relation, key] = fewest
    return served


def _keys_of(operator: Operator) -> Iterator[_Key]:
    """Yield the key of the index that an operator reads."""
    match operator:
        case IndexJoin(ordered=None) | Check() | ScanView() if operator.key:
            yield operator.relation, operator.key
        case _:
            pass


def _allows_level(operator: Operator) -> bool:
    return isinstance(operator, IndexJoin) and operator.view is not View.DELTA


def _groups(relation: str, key: tuple[int, ...], statistics: Statistics) -> float:
    """Return how many groups an index has, infinitely many if that is not known."""
    values = statistics.values(relation, key)
    return float("inf") if values is None else values


def _split(operators: Sequence[Operator], served: _Served, *, counting: bool) -> tuple[Operator, ...]:
    """Return a chain whose joins by these keys go through a level."""
    if not any(_level_of(x, served) for x in all_operators(operators)):
        return tuple(operators)
    *beginning, last = (x for x in operators if not isinstance(x, Rearrange))
    if not isinstance(last, Choose):
        return with_layouts(_split_joins((*beginning, last), served), last.outputs, counting=counting)
    start = _split_joins(beginning, served)
    rests = [_split_joins(rest, served) for rest in last.alternatives]
    chains = [with_layouts((*start, *rest), last.outputs, counting=counting) for rest in rests]
    # The same for all, with a new operator that brings columns into order or without.
    length = len(chains[0]) - len(rests[0])
    assert all(chain[:length] == chains[0][:length] for chain in chains), "alternatives read the same"
    return (*chains[0][:length], Choose(tuple(chain[length:] for chain in chains), last.outputs))


def _level_of(operator: Operator, served: _Served) -> tuple[int, ...]:
    """Return the columns of the index above which an operator finds its facts, none if it has its own."""
    if not isinstance(operator, IndexJoin) or operator.ordered is not None:
        return ()
    return served.get((operator.relation, operator.key), ())


def _split_joins(operators: Iterable[Operator], served: _Served) -> tuple[Operator, ...]:
    """Return operators in which facts are joined as late as possible, after their keys."""
    chain: list[Operator] = []
    late: list[IndexJoin] = []
    for operator in operators:
        kept = []
        for join in late:
            is_passed = isinstance(operator, IndexJoin | Check | Filter | Compute)
            if is_passed and variables_read(operator).isdisjoint(variables_bound(join)):
                kept.append(join)
            else:
                chain.append(join)
        late = kept
        over = _level_of(operator, served)
        if not over:
            chain.append(operator)
            continue
        assert isinstance(operator, IndexJoin)
        keys, facts = _through_level(operator, over, f"%group{len(chain)}")
        chain.append(keys)
        late.append(facts)
    return (*chain, *late)


def _through_level(join: IndexJoin, over: tuple[int, ...], group: str) -> tuple[IndexJoin, IndexJoin]:
    """Return a join with the keys over these columns, and one with the facts of each."""
    names = {**dict(join.binds), **dict(zip(join.key, join.operands, strict=True))}
    operands = tuple(names.get(column, f"{group}.{column}") for column in over)
    own = set(over).difference(join.key)
    binds = tuple((column, str(x)) for column, x in zip(over, operands, strict=True) if column in own)
    rest = tuple(pair for pair in join.binds if pair[0] not in own)
    late = {name for _, name in rest}
    filters = [x for x in join.filters if late.isdisjoint((x.left, x.right))]
    keys = replace(join, view=View.FULL, binds=binds, filters=tuple(filters), over=over, group=group)
    others = tuple(x for x in join.filters if x not in filters)
    facts = replace(join, key=over, operands=operands, binds=rest, filters=others, group=group)
    return keys, facts
