"""A stratum laid out for the kernel of small epochs."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter, is_

import numpy as np
import numpy.typing as npt

from tidelog.maintain.derivations import Derivations
from tidelog.maintain.labels import RelationLabels
from tidelog.maintain.small import layout
from tidelog.maintain.small.chains import Instructions, NotSmall
from tidelog.plan.maintenance import MaintainedRule, RuleLiteral
from tidelog.plan.operators import Join, Operator
from tidelog.storage import Index, StoredRelation
from tidelog.storage.address import address_of
from tidelog.storage.kernel import Int64s
from tidelog.storage.ordered import OrderedIndex
from tidelog.storage.relation import IndexName

AnyArray = npt.NDArray[np.generic]

# Where the kernel looks for the address of each array, and what takes all of them at once.
_ARRAY_PLACES = (layout.SLOTS, layout.ROWS, layout.ALIVE, layout.LEVELS, layout.PREVIOUS, layout.COUNTS)
_ARRAYS_OF = attrgetter("rows", "alive", "levels", "previous", "counts")
_LABEL_PLACES = (layout.MARKS, layout.FLAGS, layout.TENTATIVE, layout.TENTATIVE_COUNTS, layout.BEFORE)
_LABEL_ARRAYS_OF = attrgetter("marks", "flags", "tentative", "tentative_counts", "before")
_INDEX_PLACES = (
    layout.INDEX_KEY_COLUMNS,
    layout.INDEX_REST_COLUMNS,
    layout.INDEX_SLOTS,
    layout.INDEX_KEYS,
    layout.INDEX_GROUPS,
    layout.INDEX_ARENA,
    layout.INDEX_ARENA_STATE,
)
_INDEX_ARRAYS_OF = attrgetter(
    "key_columns", "rest_columns", "slots", "keys", "groups", "arena", "arena_state"
)


@dataclass
class SmallStratum:
    """The tables of one stratum; addresses follow the arrays as these are replaced.

    The stratum's own relations come first in `names`; `growing` are (index, relation) of theirs.
    """

    names: list[str]
    own_count: int
    growing: Int64s
    keys: dict[tuple[str, IndexName], int]
    rules: Int64s
    literals: Int64s
    chains: Int64s
    variants: Int64s
    uses: Int64s
    backs: Int64s
    code: Int64s
    constants: Int64s
    forward: dict[tuple[int, int], int]
    relations: Int64s
    indexes: Int64s
    like: npt.NDArray[np.signedinteger[npt.NBitBase]]
    _seen: dict[tuple[int, int], tuple[AnyArray, ...]] = field(default_factory=dict)

    @property
    def widest_output(self) -> int:
        """Return how many values the derivation of a chain can have."""
        return int((self.rules[:, layout.RULE_ARITY] + self.rules[:, layout.RULE_LITERAL_COUNT]).max()) + 1

    def refresh(self, relations: Mapping[str, StoredRelation], labels: Mapping[str, RelationLabels]) -> None:
        """Bring addresses, sizes and counts up to date; indexes cover all rows then."""
        for number, name in enumerate(self.names):
            relation = relations[name]
            row = self.relations[number]
            slots = relation.slots
            if self._point((0, number), _ARRAY_PLACES, (slots, *_ARRAYS_OF(relation)), row):
                row[layout.CAPACITY] = relation.rows.shape[0]
                row[layout.SLOT_COUNT] = slots.shape[0]
            row[layout.COUNT] = relation.count
            row[layout.DELETED] = relation.deleted
            if name in labels:
                self._point((1, number), _LABEL_PLACES, _LABEL_ARRAYS_OF(labels[name]), row)
        for (name, key), number in self.keys.items():
            index = index_named(relations[name], key)
            row = self.indexes[number]
            if isinstance(index, OrderedIndex):
                index.cover_groups()
                self._point((2, number), (layout.INDEX_SORTED_LENGTHS,), (index.sorted_lengths,), row)
                row[layout.INDEX_POSITION] = index.position
            if self._point((3, number), _INDEX_PLACES, _INDEX_ARRAYS_OF(index), row):
                row[layout.INDEX_SLOT_COUNT] = index.slots.shape[0]
                row[layout.INDEX_KEY_CAPACITY] = index.keys.shape[0]
                row[layout.INDEX_GROUP_CAPACITY] = index.groups.shape[0]
                row[layout.INDEX_ARENA_CAPACITY] = index.arena.shape[0]
            row[layout.INDEX_IS_DENSE] = index.is_dense
            row[layout.INDEX_GROUP_COUNT] = index.group_count
            row[layout.INDEX_ROWS_INDEXED] = index.rows_indexed

    def _point(
        self, known: tuple[int, int], places: tuple[int, ...], arrays: tuple[AnyArray, ...], row: Int64s
    ) -> bool:
        """Write the addresses of arrays; say whether one is another than last time."""
        seen = self._seen.get(known)
        if seen is not None and all(map(is_, seen, arrays)):
            return False
        self._seen[known] = arrays
        for place, array in zip(places, arrays, strict=True):
            row[place] = address_of(array) if array.size else 0
        return True

    def check_lower(self, changed: Iterable[str]) -> None:
        """Say at which literals of earlier strata a derivation may fail."""
        by_relation = np.array([name in changed for name in self.names], np.bool_)
        is_changed = by_relation[self.literals[:, layout.LITERAL_RELATION]]
        self.literals[:, layout.LITERAL_MUST_CHECK] = is_changed | (
            self.literals[:, layout.LITERAL_IS_NEGATED] != 0
        )

    def take_back(self, relations: Mapping[str, StoredRelation]) -> None:
        """Tell relations and indexes how many rows the kernel has appended."""
        for number, name in enumerate(self.names[: self.own_count]):
            relation = relations[name]
            relation.count = int(self.relations[number, layout.COUNT])
            relation.deleted = int(self.relations[number, layout.DELETED])
        for (name, key), number in self.keys.items():
            index = relations[name].indexes[key]
            first = index.rows_indexed
            index.group_count = int(self.indexes[number, layout.INDEX_GROUP_COUNT])
            index.rows_indexed = int(self.indexes[number, layout.INDEX_ROWS_INDEXED])
            if isinstance(index, OrderedIndex):
                index.order_rows(relations[name].rows, first, index.rows_indexed)


def lay_out(
    rules: Sequence[MaintainedRule],
    own: Sequence[str],
    relations: Mapping[str, StoredRelation],
    derivations: Derivations,
) -> SmallStratum | None:
    """Return the tables of a stratum, None if a rule needs what the kernel does not have."""
    names = list(dict.fromkeys([*own, *(x.relation for rule in rules for x in rule.literals)]))
    if len(names) > layout.RELATION_LIMIT:
        return None
    planned = _Layout(rules, list(own), names, relations, derivations)
    try:
        return planned.stratum()
    except NotSmall:
        return None


def index_named(relation: StoredRelation, name: IndexName) -> Index:
    """Return the index with this name, covering all rows."""
    if name and isinstance(name[0], tuple):
        return relation.ordered_index(*name)
    return relation.index(name)


def index_key(name: IndexName) -> tuple[int, ...]:
    """Return the columns of the key of an index."""
    return name[0] if name and isinstance(name[0], tuple) else name


def _name(join: Join) -> IndexName:
    return join.key if join.ordered is None else (join.key, join.ordered)


class _Layout:
    def __init__(
        self,
        rules: Sequence[MaintainedRule],
        own: list[str],
        names: list[str],
        relations: Mapping[str, StoredRelation],
        derivations: Derivations,
    ) -> None:
        self._rules = rules
        self._own = own
        self._names = names
        self._relations = relations
        self._derivations = derivations
        self._keys: dict[tuple[str, IndexName], int] = {}
        self._instructions = Instructions(
            self._names.index, self._number_index, self._rest, derivations.encode
        )
        self._chains: list[tuple[int, int, int, int, int]] = []
        self._variants: list[int] = []

    def _number_index(self, relation: str, name: IndexName) -> int:
        return self._keys.setdefault((relation, name), len(self._keys))

    def _rest(self, relation: str, key: tuple[int, ...]) -> Sequence[int]:
        return [column for column in range(self._relations[relation].arity) if column not in key]

    def stratum(self) -> SmallStratum:
        forward: dict[tuple[int, int], int] = {}
        backward: dict[int, int] = {}
        # Variants come after all first choices: they may use only indexes that are there anyway.
        todo: list[tuple[int, int, RuleLiteral | None]] = []
        for number, rule in enumerate(self._rules):
            todo.extend((number, place, literal) for place, literal in enumerate(rule.literals))
            todo.append((number, -1, None))
        first = [self._first_variant(number, literal) for number, _, literal in todo]
        for (number, place, literal), (start, chosen) in zip(todo, first, strict=True):
            chain = len(self._chains)
            if literal is None:
                backward[number] = chain
            else:
                forward[number, place] = chain
            starts = [start, *self._other_variants(number, literal, chosen)]
            relation = self._rules[number].relation if literal is None else literal.relation
            self._chains.append(
                (number, place, self._names.index(relation), len(self._variants), len(starts))
            )
            self._variants.extend(starts)
        return self._tables(forward, backward)

    def _plan(self, rule: int, literal: RuleLiteral | None) -> Sequence[tuple[Operator, ...]]:
        return self._derivations.variants(self._rules[rule], literal)

    def _first_variant(self, rule: int, literal: RuleLiteral | None) -> tuple[int, tuple[Operator, ...]]:
        """Return where the best chain begins that kernels can follow: joins, where all at once is better."""
        for operators in self._plan(rule, literal):
            try:
                return self._instructions.add(operators), operators
            except NotSmall:
                continue
        raise NotSmall

    def _other_variants(
        self, rule: int, literal: RuleLiteral | None, chosen: tuple[Operator, ...]
    ) -> list[int]:
        starts = []
        for operators in self._plan(rule, literal):
            if operators == chosen:
                continue
            needed = {(x.relation, _name(x)) for x in operators if isinstance(x, Join)}
            if needed <= self._keys.keys():
                try:
                    starts.append(self._instructions.add(operators))
                except NotSmall:
                    continue
        return starts

    def _tables(self, forward: dict[tuple[int, int], int], backward: dict[int, int]) -> SmallStratum:
        relations = np.zeros((len(self._names), layout.RELATION_WIDTH), np.int64)
        indexes = np.zeros((len(self._keys), layout.INDEX_WIDTH), np.int64)
        uses: list[int] = []
        backs: list[int] = []
        for number, name in enumerate(self._names):
            row = relations[number]
            row[layout.ARITY] = self._relations[name].arity
            row[layout.FIRST_USE], row[layout.FIRST_BACK] = len(uses), len(backs)
            if name in self._own:
                uses.extend(
                    chain for (rule, place), chain in forward.items()
                    if self._rules[rule].literals[place].relation == name
                )  # fmt: skip
                backs.extend(chain for rule, chain in backward.items() if self._rules[rule].relation == name)
            row[layout.USE_COUNT] = len(uses) - row[layout.FIRST_USE]
            row[layout.BACK_COUNT] = len(backs) - row[layout.FIRST_BACK]
        for (name, index), number in self._keys.items():
            key = index_key(index)
            indexes[number, layout.INDEX_KEY_WIDTH] = len(key)
            indexes[number, layout.INDEX_REST_WIDTH] = len(self._rest(name, key))
        growing = [
            (number, self._names.index(name)) for (name, _), number in self._keys.items() if name in self._own
        ]
        rules, literals = self._rule_tables()
        return SmallStratum(
            self._names, len(self._own), np.array(growing, np.int64).reshape(-1, 2), self._keys, rules,
            literals,
            np.array(self._chains, np.int64).reshape(-1, 5),
            np.array(self._variants, np.int64), np.array(uses, np.int64), np.array(backs, np.int64),
            np.array(self._instructions.code, np.int64), np.array(self._instructions.constants, np.int64),
            forward, relations, indexes, np.empty(0, self._relations[self._own[0]].dtype),
        )  # fmt: skip

    def _rule_tables(self) -> tuple[Int64s, Int64s]:
        rules = np.zeros((len(self._rules), 5), np.int64)
        literals: list[list[int]] = []
        for number, rule in enumerate(self._rules):
            is_recursive = any(literal.relation in self._own for literal in rule.literals)
            rules[number] = (
                self._names.index(rule.relation), len(rule.rule.head.terms), len(literals),
                len(rule.literals), is_recursive,
            )  # fmt: skip
            literals.extend(
                [self._names.index(x.relation), x.is_negated, x.relation in self._own, x.is_negated]
                for x in rule.literals
            )
        return rules, np.array(literals, np.int64).reshape(-1, 4)
