"""Values that occur in a large share of facts: their rows are spread over all partners.

    path(x, z) :- path(x, y), edge(y, z).

If `y` is the same in half of all facts, one partner would find half of all derivations. So the rows of one
atom, the first one, go to a partner by all their columns if `y` is such a heavy value; the matching rows of
the other atoms are at every partner. Each derivation is still found, where the row of the first atom is; see
`spread_rules` where it must not be found twice.

Partners agree on the heavy values before they load facts, from a sample: a group of rows each.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace

import numpy as np

from tidelog.engine.spark.files import Folder
from tidelog.engine.spark.message import Message, Rows
from tidelog.engine.spark.routes import RelationRoute, Routes
from tidelog.engine.spark.shared_reading import units_of
from tidelog.engine.spark.wire import Wire
from tidelog.plan.flatten import flatten_rule
from tidelog.program.nodes import Program, Stratum, Variable
from tidelog.program.suggest import counted
from tidelog.storage.annotations import ABSENT
from tidelog.storage.kernel import CodeArray

# Relations with fewer rows in the sample are not worth it.
_LEAST_ROWS = 1 << 16
_MOST_VALUES = 64
# Columns by relation.
Columns = Mapping[str, AbstractSet[int]]


def with_heavy(routes: Routes, heavy: tuple[int, ...]) -> Routes:
    """Return routes by which rows with these values are spread, and shared where rules join them."""

    def changed(relations: Mapping[str, RelationRoute]) -> dict[str, RelationRoute]:
        return {
            name: replace(route, heavy=heavy, shared=routes.shared.get(name, ()))
            for name, route in relations.items()
        }

    return replace(routes, relations=changed(routes.relations), outside=changed(routes.outside), heavy=heavy)


def dividing_columns(program: Program, divided: Iterable[tuple[Stratum, Routes]]) -> Columns:
    """Return the columns by which facts are divided, and those from which rules take these values.

    What is divided by another column does not mind that a value is frequent in this one.
    """
    found: dict[str, set[int]] = {}

    def add(name: str, columns: Iterable[int]) -> None:
        found.setdefault(name, set()).update(column for column in columns if column >= 0)

    rules = []
    for stratum, routes in divided:
        # Relations without rules are kept where others read them.
        for name, route in (*routes.relations.items(), *routes.outside.items()) if stratum.rules else ():
            add(name, (route.owner, *route.columns))
        for rule in (flatten_rule(each, program) for each in stratum.rules):
            rules.append(rule)
            for place, column in routes.rules[rule.id].columns.items():
                add(rule.atoms[place].relation, (column,))
    is_growing = True
    while is_growing:
        before = sum(map(len, found.values()))
        for rule in rules:
            # The rule of a count has no column for the value.
            heads = [term for column, term in enumerate(rule.head.terms) if column in found[rule.relation]]
            names = {term.name for term in heads if isinstance(term, Variable)}
            for atom in rule.atoms:
                terms = list(enumerate(atom.terms))
                add(atom.relation, (n for n, x in terms if isinstance(x, Variable) and x.name in names))
        is_growing = sum(map(len, found.values())) > before
    return found


def frequent_values(
    columns: Columns,
    folder: Folder,
    files: Mapping[str, Sequence[str]],
    arities: Mapping[str, int],
    wire: Wire,
) -> tuple[int, ...]:
    """Return the values that are frequent in these columns of files; all partners call it together."""
    if wire.partners == 1:
        return ()
    tables, sizes = [], []
    names = sorted(name for name in files if columns.get(name))
    for name in names:
        units = units_of(folder, files[name], wire.partners)
        rows = np.empty((0, arities[name]), np.int64)
        if wire.me < len(units):
            file, group = units[wire.me]
            content = folder.read_rows(file, arities[name], group=group)
            rows = content.rows if content.levels is None else content.rows[content.levels != ABSENT]
        sizes.append(len(rows))
        tables += [
            Rows(f"{column} {name}", pairs) for column, pairs in _often(rows, columns[name], wire.partners)
        ]
    message = Message(tuple(sizes), tuple(tables))
    received = wire.exchange([message] * wire.partners)
    total = {name: sum(each.numbers[place] for each in received) for place, name in enumerate(names)}
    found: Counter[tuple[str, int]] = Counter()
    for table in (table for each in received for table in each.tables):
        for value, count in table.rows.tolist():
            found[table.name, value] += count
    return _most_frequent(found, total, wire.partners)


def frequent_among(columns: Columns, relations: Mapping[str, CodeArray], partners: int) -> tuple[int, ...]:
    """Return the values that are frequent in these columns of relations, for so many partners."""
    if partners == 1:
        return ()
    sizes = {name: len(rows) for name, rows in relations.items()}
    found = {
        (f"{column} {name}", value): count
        for name, rows in relations.items()
        for column, pairs in _often(rows, columns.get(name, frozenset()), partners)
        for value, count in pairs.tolist()
    }
    return _most_frequent(found, sizes, partners)


def spread_remark(values: int) -> str:
    """Return what to add to the reason of a placement where rows of so many values are spread."""
    return f"; rows of {counted(values, 'frequent value')} are spread" if values else ""


def _often(rows: CodeArray, columns: AbstractSet[int], partners: int) -> Iterator[tuple[int, CodeArray]]:
    """Yield columns, each with the values that may be frequent there and how often each is."""
    for column in sorted(columns) if len(rows) else ():
        values, counts = np.unique(rows[:, column], return_counts=True)
        often = counts * 4 * partners > len(rows)
        yield column, np.column_stack([values[often], counts[often]]).astype(np.int64)


def _most_frequent(
    counts: Mapping[tuple[str, int], int], sizes: Mapping[str, int], partners: int
) -> tuple[int, ...]:
    """Return the values that make up more than half of a partner's even share of a column."""
    found: Counter[int] = Counter()
    for (place, value), count in counts.items():
        size = sizes[place.partition(" ")[2]]
        if size >= _LEAST_ROWS and count * 2 * partners > size:
            found[value] = max(found[value], count)
    return tuple(sorted(value for value, _ in found.most_common(_MOST_VALUES)))
