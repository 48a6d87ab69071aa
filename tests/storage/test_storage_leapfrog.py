"""Leapfrog kernels against trying all values of all variables."""

import operator
from dataclasses import dataclass
from itertools import pairwise, product

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from support.code_rows import as_rows, as_tuples, distinct
from support.kernel_oracles import oracle_of
from tidelog.storage.annotations import ABSENT
from tidelog.storage.join import EQUAL, LESS, LESS_EQUAL, UNEQUAL
from tidelog.storage.leapfrog import RECORD_HEAD, Recorder, leapfrog
from tidelog.storage.leapfrog_join import JoinShape, make_join, with_tries
from tidelog.storage.leapfrog_trace import COUNTS, branch_levels, join_windows, unite_windows
from tidelog.storage.trie import Trie, sorted_batch

COMPARISONS = {EQUAL: operator.eq, UNEQUAL: operator.ne, LESS: operator.lt, LESS_EQUAL: operator.le}
# Few codes, so that atoms agree, and the ends of what a width holds.
CODES = {np.int32: (0, 1, 2, -(2**31), 2**31 - 1), np.int64: (0, 1, 2, -(2**63), 2**63 - 1)}


@dataclass
class Atom:
    """An atom: what stands in its levels, and its rows in some pieces, of which some are in view."""

    # ("outer", column), ("constant", number) or ("variable", number), the latter in order.
    operands: list
    rows: list
    cuts: list
    first: int
    last: int
    alive: list | None

    def facts(self):
        """Return the rows in view with their numbers."""
        return {
            row: number
            for number, row in enumerate(self.rows)
            if self.first <= number < self.last and (self.alive is None or self.alive[number])
        }


@st.composite
def atoms(draw, dtype, variables, constants):
    """Draw an atom over some of the variables; what is known before stands on its first levels."""
    known = st.just(("outer", 0)) | st.integers(0, constants - 1).map(lambda n: ("constant", n))
    own = sorted(draw(st.lists(st.integers(0, variables - 1), min_size=1, max_size=3)))
    operands = [*draw(st.lists(known, max_size=1)), *(("variable", n) for n in own)]
    rows = draw(
        st.lists(
            st.tuples(*[st.sampled_from(CODES[dtype])] * len(operands)), min_size=1, max_size=10, unique=True
        )
    )
    alive = None
    if draw(st.booleans()):
        # A fact that was deleted and inserted again has two rows, one of them dead.
        again = draw(st.lists(st.sampled_from(rows), unique=True, max_size=3))
        alive = [row not in again and draw(st.booleans()) for row in rows] + [
            draw(st.booleans()) for _ in again
        ]
        rows = [*rows, *again]
    first = draw(st.integers(0, len(rows) - 1))
    last = draw(st.integers(first + 1, len(rows)))
    return Atom(
        operands, rows, draw(st.lists(st.integers(0, len(rows)), max_size=2).map(sorted)), first, last, alive
    )


@dataclass
class Body:
    """A body: outer bindings of one column, constants, atoms over variables, and comparisons."""

    dtype: type
    outer: list
    constants: list
    variables: int
    atoms: list
    checks: list
    witness: int

    def register(self, operand):
        """Return the register of an operand."""
        kind, number = operand
        bases = {"outer": 0, "constant": 1, "variable": 1 + len(self.constants)}
        return bases[kind] + number

    def value(self, operand, code, binding):
        """Return the value of an operand."""
        kind, number = operand
        return {"outer": [code], "constant": self.constants, "variable": binding}[kind][number]

    def bindings(self):
        """Return the outer values, the values of variables and the rows of atoms, by trying everything."""
        codes = CODES[self.dtype]
        facts = [atom.facts() for atom in self.atoms]
        found = []
        for place, code in enumerate(self.outer):
            for binding in product(sorted(codes), repeat=self.variables):
                rows = [
                    held.get(tuple(self.value(operand, code, binding) for operand in atom.operands))
                    for atom, held in zip(self.atoms, facts, strict=True)
                ]
                holds = all(
                    COMPARISONS[kind](self.value(left, code, binding), self.value(right, code, binding))
                    for kind, left, right in self.checks
                )
                if holds and None not in rows:
                    found.append((place, code, *binding, *rows))
        return found


@st.composite
def bodies(draw):
    """Draw a body in which every variable is held by an atom."""
    dtype = draw(st.sampled_from(list(CODES)))
    codes = st.sampled_from(CODES[dtype])
    constants, variables = draw(st.lists(codes, min_size=1, max_size=2)), draw(st.integers(1, 3))
    drawn = draw(st.lists(atoms(dtype, variables, len(constants)), min_size=1, max_size=3))
    held = sorted({number for atom in drawn for kind, number in atom.operands if kind == "variable"})
    for atom in drawn:
        atom.operands = [
            (kind, held.index(number) if kind == "variable" else number) for kind, number in atom.operands
        ]
    operand = st.sampled_from(
        [
            ("outer", 0),
            *(("constant", n) for n in range(len(constants))),
            *(("variable", n) for n in range(len(held))),
        ]
    )
    checks = draw(st.lists(st.tuples(st.sampled_from(list(COMPARISONS)), operand, operand), max_size=2))
    outer = draw(st.lists(codes, max_size=3))
    return Body(dtype, outer, constants, len(held), drawn, checks, draw(st.integers(0, len(held))))


def run_leapfrog(body, room):
    """Return what the kernel writes: the outer column, the variables, the rows of atoms."""
    first = 1 + len(body.constants)
    shape = JoinShape(
        outer=1,
        variables=body.variables,
        atoms=[[body.register(operand) for operand in atom.operands] for atom in body.atoms],
        constants=body.constants,
        checks=[(kind, body.register(left), body.register(right)) for kind, left, right in body.checks],
        outputs=[0, *range(first, first + body.variables + len(body.atoms))],
        witness=body.witness,
    )
    out = np.empty((room, len(shape.outputs)), body.dtype)
    join, batches, kept = make_join(shape, out), [], []
    for atom, record in zip(body.atoms, join.atoms, strict=True):
        rows = as_rows(atom.rows, len(atom.operands), body.dtype)
        trie = Trie(range(len(atom.operands)))
        for count in (*atom.cuts, len(rows)):
            trie.add_rows(rows, count)
        alive = np.array(atom.alive, np.uint8) if atom.alive is not None else None
        batches.append(trie.view(rows, atom.first, atom.last))
        kept.append((rows, alive))
        record["lowest"], record["highest"] = atom.first, atom.last
        record["alive"] = alive.ctypes.data if alive is not None else 0
    join = with_tries(join, batches)
    found, batch = [], as_rows([(code,) for code in body.outer], 1, body.dtype)
    while join.state[0]["outer"] < len(batch):
        written = leapfrog(batch, join, out)
        found.extend(as_tuples(out[:written]))
    del kept
    return found


@oracle_of(leapfrog)
@settings(max_examples=300)
@given(body=bodies(), room=st.sampled_from([1, 2, 100]))
def test_leapfrog_finds_what_trying_everything_finds(body, room):
    """Each binding comes once and in order, with the rows of its atoms; from `witness` on one is enough."""
    every = body.bindings()
    asked = 2 + body.witness

    found = run_leapfrog(body, room)

    assert [row[: asked - 1] for row in found] == [row[1:] for row in distinct(row[:asked] for row in every)]
    assert set(found) <= {row[1:] for row in every}


# --- joins of two versions -------------------------------------------------------------------------


@dataclass
class TraceAtom:
    """An atom over variables in order, with rows that an old and a new version have, and which are facts."""

    variables: list
    rows: list
    old_rows: int
    live: list  # for each version, whether each row is a fact

    def has(self, version, binding):
        """Say whether the trie of a version has the beginning of a binding; it must be a fact if whole."""
        own = tuple(binding[variable] for variable in self.variables if variable < len(binding))
        rows = [
            number
            for number, row in enumerate(self.rows[: self.old_rows] if version == 0 else self.rows)
            if row[: len(own)] == own
        ]
        return not own or any(len(own) < len(self.variables) or self.live[version][number] for number in rows)


@st.composite
def trace_bodies(draw):
    """Draw two or three atoms that hold all variables."""
    variables = draw(st.integers(1, 3))
    found = []
    for _ in range(draw(st.integers(1, 3))):
        own = sorted(draw(st.sets(st.integers(0, variables - 1), min_size=1)))
        rows = draw(st.lists(st.tuples(*[st.integers(0, 2)] * len(own)), unique=True, max_size=8))
        flags = st.lists(st.booleans(), min_size=len(rows), max_size=len(rows))
        found.append(TraceAtom(own, rows, draw(st.integers(0, len(rows))), [draw(flags), draw(flags)]))
    held = sorted({variable for atom in found for variable in atom.variables})
    for atom in found:
        atom.variables = [held.index(variable) for variable in atom.variables]
        atom.live[0] = [flag and number < atom.old_rows for number, flag in enumerate(atom.live[0])]
    return found, len(held)


@st.composite
def windows_of(draw, variable):
    """Draw windows (prefix..., low, high), sorted and disjoint for each prefix."""
    ends = st.integers(-1, 3)
    rows = draw(st.lists(st.tuples(*[st.integers(0, 2)] * variable, ends, ends), max_size=6))
    rows = sorted({(*row[:-2], *sorted(row[-2:])) for row in rows})
    united = np.empty((len(rows), variable + 2), np.int64)
    return as_tuples(united[: unite_windows(as_rows(rows, variable + 2, np.int64), united)])


class Versions:
    """The joins of two versions from a variable on."""

    def __init__(self, drawn, variables, variable, dtype):
        shape = JoinShape(
            outer=variable,
            variables=variables - variable,
            atoms=[atom.variables for atom in drawn],
            outputs=range(variables + len(drawn)),
        )
        self.old, self.new = (make_join(shape, np.empty((0, 0), dtype)) for _ in range(2))
        self.new.levels["index"] = self.old.levels["index"] = 0
        batches, self.kept = ([], []), []
        for number, atom in enumerate(drawn):
            rows = as_rows(atom.rows, len(atom.variables), dtype)
            columns = np.arange(len(atom.variables), dtype=np.int32)
            old = [sorted_batch(rows, 0, atom.old_rows, columns)] if atom.old_rows else []
            fresh = (
                [sorted_batch(rows, atom.old_rows, len(rows), columns)] if atom.old_rows < len(rows) else []
            )
            batches[0].append(old)
            batches[1].append([*old, *fresh])
            for version, join in enumerate((self.old, self.new)):
                levels = np.where(np.array(atom.live[version], bool), 0, ABSENT).astype(np.int32)
                join.atoms[number]["levels"] = levels.ctypes.data
                self.kept.append(levels)
        self.kept.append(batches)
        self.old, self.new = with_tries(self.old, batches[0]), with_tries(self.new, batches[1])


@oracle_of(join_windows)
@settings(max_examples=200)
@given(
    body=trace_bodies(), data=st.data(), has_old=st.booleans(), dtype=st.sampled_from([np.int32, np.int64])
)
def test_windows_are_joined_over_both_versions(body, data, has_old, dtype):
    """Bindings of one version alone below a value it alone has in a window are lost or gained, each once."""
    drawn, variables = body
    variable = data.draw(st.integers(0, variables - 1))
    windows = data.draw(windows_of(variable))
    versions = Versions(drawn, variables, variable, dtype)
    width = variables + len(drawn)
    out = {kind: np.empty((1, width), np.int64) for kind in ("lost", "gained")}
    records, counts, done = np.empty((1, RECORD_HEAD + variables), np.int64), np.zeros(1, COUNTS), 0

    while True:
        done = join_windows(
            as_rows(windows, variable + 2, np.int64), done, versions.old, versions.new, has_old, out["lost"],
            out["gained"], Recorder(records, counts),
        )  # fmt: skip
        if not counts["is_full"]:
            break
        counts["is_full"] = 0
        out = {kind: np.concatenate([each, np.empty_like(each)]) for kind, each in out.items()}
        records = np.concatenate([records, np.empty_like(records)])
    lost, gained, recorded = (int(counts[name][0]) for name in ("lost", "gained", "records"))

    def has(version, binding):
        return all(atom.has(version, binding) for atom in drawn)

    def alone(version):
        return sorted(
            (*binding, *(atom.rows.index(tuple(binding[v] for v in atom.variables)) for atom in drawn))
            for binding in product(range(3), repeat=variables)
            if has(version, binding)
            and has(1 - version, binding[:variable])
            and not has(1 - version, binding[: variable + 1])
            and any(w[:-2] == binding[:variable] and w[-2] <= binding[variable] <= w[-1] for w in windows)
        )

    def whole():
        # Without an old version everything in a window is gained.
        return sorted(
            (*binding, *(atom.rows.index(tuple(binding[v] for v in atom.variables)) for atom in drawn))
            for binding in product(range(3), repeat=variables)
            if has(1, binding)
            and any(w[:-2] == binding[:variable] and w[-2] <= binding[variable] <= w[-1] for w in windows)
        )

    assert done == len(windows)
    assert sorted(as_tuples(out["lost"][:lost])) == (alone(0) if has_old else [])
    assert sorted(as_tuples(out["gained"][:gained])) == (alone(1) if has_old else whole())
    assert all(low <= high for _, low, high in as_tuples(records[:recorded, :3]))


@oracle_of(branch_levels)
@given(
    old=st.lists(st.tuples(*[st.integers(0, 2)] * 3), max_size=12),
    new=st.lists(st.tuples(*[st.integers(0, 2)] * 3), max_size=12),
    columns=st.permutations([0, 1, 2]),
    cuts=st.lists(st.integers(0, 12), max_size=2).map(sorted),
    dtype=st.sampled_from([np.int32, np.int64]),
)
def test_rows_branch_off_where_the_trie_has_no_more(old, new, columns, cuts, dtype):
    """A row's level is the length of its longest beginning in the trie, at most the last level."""
    rows, trie = as_rows([*old, *new], 3, dtype), Trie(columns)
    for count in (*(cut for cut in cuts if cut < len(old)), len(old)):
        trie.add_rows(rows, count)
    join = make_join(JoinShape(outer=3, variables=0, atoms=[range(3)]), rows)
    levels = np.full(len(new), -1, np.int64)

    branch_levels(
        rows, np.arange(len(old), len(rows), dtype=np.int32), np.array(columns, np.int32),
        with_tries(join, [trie.batches]), levels,
    )  # fmt: skip

    paths = [tuple(row[column] for column in columns) for row in old]
    assert levels.tolist() == [
        max(
            level
            for level in range(3)
            if level == 0 or any(path[:level] == tuple(row[c] for c in columns)[:level] for path in paths)
        )
        for row in new
    ]


@oracle_of(unite_windows)
@given(st.lists(st.tuples(st.integers(0, 1), st.integers(0, 9), st.integers(0, 4)), max_size=12))
def test_windows_that_overlap_become_one(drawn):
    """The windows of a prefix are disjoint then, and hold the same keys as before."""
    rows = sorted((prefix, low, low + length) for prefix, low, length in drawn)
    united = np.empty((len(rows), 3), np.int64)

    count = unite_windows(as_rows(rows, 3, np.int64), united)

    found = as_tuples(united[:count])

    def keys(windows):
        return {(prefix, key) for prefix, low, high in windows for key in range(low, high + 1)}

    assert keys(found) == keys(rows)
    assert all(before[0] < after[0] or before[2] < after[1] for before, after in pairwise(found))
