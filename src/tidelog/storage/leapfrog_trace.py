"""Leapfrog joins that record what they depend on, and that are run again only where it changed.

A body is joined over two versions of its tries, 0 the old and 1 the new one. What a cursor did is
recorded as an interval of keys: as long as its trie does not change there, it would do the same again.

    opened, standing on v            from the lowest key to v
    moved on from v to w             [v, w]
    sought s, standing on w          [s, w]

A window is a binding of the first variables and an interval of the next one. Inside it both versions
are joined again: values that only one has are followed down to whole bindings, lost or gained; below a
value that both have nothing is done, for what changed there has windows of its own.

The trie of an atom has the levels of its variables only, in their order. `parts` and `starts` are as in
`storage.leapfrog`. `live[version, atom]` is the address of a level for each row; a row is a fact of the
version unless it is absent there. `indexes[atom, level]` numbers the index that intervals go to, -1 for
none. A record is its index, the interval's ends, and the variables' values so far. The rows of
`registers`, one for each version, are the values of all variables and then the row of each atom.
"""

import numpy as np

from tidelog.storage.address import load_code, load_int32
from tidelog.storage.annotations import ABSENT
from tidelog.storage.kernel import CodeArray, Int32s, Int64s, Integer, inlined, kernel
from tidelog.storage.leapfrog_cursor import HIGHEST, LOWEST, find_key, next_key, open_level, seek_key
from tidelog.storage.trie import STARTS, VALUES

OLD = 0
NEW = 1

# Places in `counts`: what was written so far, whether an output was too short, and the steps made.
LOST = 0
GAINED = 1
RECORDS = 2
IS_FULL = 3
STEPS = 4
COUNTS = 5

# Columns of a record before the values of the variables.
RECORD_HEAD = 3


@inlined
def _record(
    index: Integer, low: Integer, high: Integer, registers: Int64s, variable: Integer, records: Int64s,
    counts: Int64s,
) -> None:  # fmt: skip
    """Write down that what is done below the variables so far depends on an interval of keys."""
    counts[STEPS] += 1
    if index < 0:
        return
    place = counts[RECORDS]
    if place == records.shape[0]:
        counts[IS_FULL] = 1
        return
    records[place, 0] = index
    records[place, 1] = low
    records[place, 2] = high
    for before in range(variable):
        records[place, RECORD_HEAD + before] = registers[before]
    counts[RECORDS] = place + 1


@inlined
def _live_row(
    atom: Integer, level: Integer, levels: Integer, spans: Int64s, tables: Int64s, heads: Int64s,
    places: Int64s, ends: Int64s, keys: Int64s, like: CodeArray,
) -> np.int64:  # fmt: skip
    """Return the row that the last level stands on if it is a fact of the version, else -1."""
    for batch in range(spans[atom], spans[atom + 1]):
        place = places[batch, level]
        if place >= ends[batch, level]:
            continue
        if load_code(tables[batch, level, VALUES], place, like) != keys[atom, level]:
            continue
        first = load_int32(tables[batch, level, STARTS], place)
        last = load_int32(tables[batch, level, STARTS], place + 1)
        for position in range(first, last):
            row = load_int32(heads[batch, 1], position)
            if load_int32(levels, row) != ABSENT:
                return np.int64(row)
    return np.int64(-1)


@inlined
def _agree(
    variable: Integer, highest: Integer, starts: Int64s, parts: Int32s, indexes: Int32s, spans: Int64s,
    tables: Int64s, places: Int64s, ends: Int64s, keys: Int64s, like: CodeArray, registers: Int64s,
    records: Int64s, counts: Int64s,
) -> bool:  # fmt: skip
    """Let the cursors of a variable leap until they agree on a value that is not above `highest`."""
    first = starts[variable]
    last = starts[variable + 1]
    target = keys[parts[first, 0], parts[first, 1]]
    for other in range(first + 1, last):
        target = max(target, keys[parts[other, 0], parts[other, 1]])
    agreeing = 0
    part: Integer = first
    while agreeing < last - first:
        if target > highest:
            return False
        atom = parts[part, 0]
        level = parts[part, 1]
        if keys[atom, level] < target:
            found = seek_key(atom, level, target, spans, tables, places, ends, keys, like)
            reached = keys[atom, level] if found else HIGHEST
            _record(indexes[atom, level], target, reached, registers, variable, records, counts)
            if not found:
                return False
            if reached > target:
                target = reached
                agreeing = 0
        agreeing += 1
        part += 1
        if part == last:
            part = first
    return bool(target <= highest)


@inlined
def _take(
    variable: Integer, starts: Int64s, parts: Int32s, depths: Int64s, live: Int64s, spans: Int64s,
    tables: Int64s, heads: Int64s, places: Int64s, ends: Int64s, keys: Int64s, like: CodeArray,
    registers: Int64s,
) -> bool:  # fmt: skip
    """Give a variable the value its cursors stand on; say whether atoms that are complete are facts."""
    first = starts[variable]
    registers[variable] = keys[parts[first, 0], parts[first, 1]]
    for part in range(first, starts[variable + 1]):
        atom = parts[part, 0]
        level = parts[part, 1]
        if level == depths[atom] - 1:
            row = _live_row(atom, level, live[atom], spans, tables, heads, places, ends, keys, like)
            if row < 0:
                return False
            registers[starts.shape[0] - 1 + atom] = row
    return True


@inlined
def _next(
    variable: Integer, highest: Integer, starts: Int64s, parts: Int32s, depths: Int64s, indexes: Int32s,
    live: Int64s, spans: Int64s, tables: Int64s, heads: Int64s, places: Int64s, ends: Int64s, keys: Int64s,
    like: CodeArray, registers: Int64s, records: Int64s, counts: Int64s,
) -> bool:  # fmt: skip
    """Give a variable its next value in the window."""
    atom = parts[starts[variable], 0]
    level = parts[starts[variable], 1]
    while True:
        before = keys[atom, level]
        found = next_key(atom, level, spans, tables, places, ends, keys, like)
        reached = keys[atom, level] if found else HIGHEST
        _record(indexes[atom, level], before, reached, registers, variable, records, counts)
        if not found or not _agree(
            variable, highest, starts, parts, indexes, spans, tables, places, ends, keys, like, registers,
            records, counts,
        ):  # fmt: skip
            return False
        if _take(
            variable, starts, parts, depths, live, spans, tables, heads, places, ends, keys, like, registers
        ):
            return True


@inlined
def _first(
    variable: Integer, lowest: Integer, highest: Integer, starts: Int64s, parts: Int32s, depths: Int64s,
    indexes: Int32s, live: Int64s, spans: Int64s, tables: Int64s, heads: Int64s, places: Int64s, ends: Int64s,
    keys: Int64s, like: CodeArray, registers: Int64s, records: Int64s, counts: Int64s,
) -> bool:  # fmt: skip
    """Give a variable its first value in the window from `lowest` to `highest`."""
    for part in range(starts[variable], starts[variable + 1]):
        atom = parts[part, 0]
        level = parts[part, 1]
        found = open_level(atom, level, spans, tables, heads, places, ends, keys, like)
        if found and keys[atom, level] < lowest:
            found = seek_key(atom, level, lowest, spans, tables, places, ends, keys, like)
        reached = keys[atom, level] if found else HIGHEST
        _record(indexes[atom, level], lowest, reached, registers, variable, records, counts)
        if not found:
            return False
    if not _agree(
        variable, highest, starts, parts, indexes, spans, tables, places, ends, keys, like, registers,
        records, counts,
    ):  # fmt: skip
        return False
    return _take(
        variable, starts, parts, depths, live, spans, tables, heads, places, ends, keys, like, registers
    ) or _next(
        variable, highest, starts, parts, depths, indexes, live, spans, tables, heads, places, ends, keys,
        like, registers, records, counts,
    )  # fmt: skip


@inlined
def _go_to(
    prefix: Int64s, levels_before: Int64s, depths: Int64s, live: Int64s, variables: Integer, spans: Int64s,
    tables: Int64s, heads: Int64s, places: Int64s, ends: Int64s, keys: Int64s, like: CodeArray,
    registers: Int64s, sought: Int32s,
) -> bool:  # fmt: skip
    """Stand on given values of the first variables; say whether the version has them.

    `levels_before[atom]` is the number of an atom's levels that are among these variables, and
    `sought[atom, level]` the variable of each level.
    """
    for variable in range(prefix.shape[0]):
        registers[variable] = prefix[variable]
    for atom in range(depths.shape[0]):
        for level in range(levels_before[atom]):
            key = prefix[sought[atom, level]]
            if not find_key(atom, level, key, spans, tables, heads, places, ends, keys, like):
                return False
        if levels_before[atom] == depths[atom]:
            last = depths[atom] - 1
            row = _live_row(atom, last, live[atom], spans, tables, heads, places, ends, keys, like)
            if row < 0:
                return False
            registers[variables + atom] = row
    return True


@inlined
def _write(registers: Int64s, out: Int64s, counts: Int64s, kind: Integer) -> None:
    """Write a whole binding to the output of its kind."""
    place = counts[kind]
    if place == out.shape[0]:
        counts[IS_FULL] = 1
        return
    for column in range(registers.shape[0]):
        out[place, column] = registers[column]
    counts[kind] = place + 1


@inlined
def _follow(
    variable: Integer, starts: Int64s, parts: Int32s, depths: Int64s, indexes: Int32s, live: Int64s,
    spans: Int64s, tables: Int64s, heads: Int64s, places: Int64s, ends: Int64s, keys: Int64s,
    like: CodeArray, registers: Int64s, records: Int64s, counts: Int64s, out: Int64s, kind: Integer,
) -> None:  # fmt: skip
    """Write all bindings below the value that `variable` has now."""
    variables = starts.shape[0] - 1
    if variable == variables - 1:
        _write(registers, out, counts, kind)
        return
    at = variable + 1
    is_fresh = True
    while at > variable and counts[IS_FULL] == 0:
        if is_fresh:
            found = _first(
                at, LOWEST, HIGHEST, starts, parts, depths, indexes, live, spans, tables, heads, places, ends,
                keys, like, registers, records, counts,
            )  # fmt: skip
        else:
            found = _next(
                at, HIGHEST, starts, parts, depths, indexes, live, spans, tables, heads, places, ends, keys,
                like, registers, records, counts,
            )  # fmt: skip
        is_fresh = False
        if not found:
            at -= 1
        elif at < variables - 1:
            at += 1
            is_fresh = True
        else:
            _write(registers, out, counts, kind)


@kernel
def join_windows(
    variable: int, prefixes: Int64s, windows: Int64s, first: int, has_old: bool, starts: Int64s,
    parts: Int32s, sought: Int32s, levels_before: Int64s, depths: Int64s, indexes: Int32s, live: Int64s,
    spans: Int64s, tables: Int64s, heads: Int64s, like: CodeArray, registers: Int64s, places: Int64s,
    ends: Int64s, keys: Int64s, records: Int64s, counts: Int64s, lost: Int64s, gained: Int64s,
) -> int:  # fmt: skip
    """Join the windows of one variable from number `first` on; return the number of those done.

    Without an old version everything is gained. A window for which an output is too short is not
    done, and leaves nothing behind. Requires that windows with the same prefix do not overlap. Ensures
    that every binding of one version alone whose first variables both have, and whose value at
    `variable` lies in a window, is written exactly once.
    """
    nowhere = np.full_like(indexes, -1)
    variables = starts.shape[0] - 1
    for window in range(first, windows.shape[0]):
        before = counts.copy()
        low = windows[window, 0]
        high = windows[window, 1]
        prefix = prefixes[window]
        is_there = _go_to(
            prefix, levels_before, depths, live[NEW], variables, spans[NEW], tables[NEW], heads[NEW],
            places[NEW], ends[NEW], keys[NEW], like, registers[NEW], sought,
        ) and (not has_old or _go_to(
            prefix, levels_before, depths, live[OLD], variables, spans[OLD], tables[OLD], heads[OLD],
            places[OLD], ends[OLD], keys[OLD], like, registers[OLD], sought,
        ))  # fmt: skip
        counts[STEPS] += 1
        if not is_there:
            continue
        has_new_key = _first(
            variable, low, high, starts, parts, depths, indexes, live[NEW], spans[NEW], tables[NEW],
            heads[NEW], places[NEW], ends[NEW], keys[NEW], like, registers[NEW], records, counts,
        )  # fmt: skip
        has_old_key = has_old and _first(
            variable, low, high, starts, parts, depths, nowhere, live[OLD], spans[OLD], tables[OLD],
            heads[OLD], places[OLD], ends[OLD], keys[OLD], like, registers[OLD], records, counts,
        )  # fmt: skip
        while (has_new_key or has_old_key) and counts[IS_FULL] == 0:
            is_new = has_new_key and (not has_old_key or registers[NEW, variable] <= registers[OLD, variable])
            is_old = has_old_key and (not has_new_key or registers[OLD, variable] <= registers[NEW, variable])
            if is_new and not is_old:
                _follow(
                    variable, starts, parts, depths, indexes, live[NEW], spans[NEW], tables[NEW], heads[NEW],
                    places[NEW], ends[NEW], keys[NEW], like, registers[NEW], records, counts, gained, GAINED,
                )  # fmt: skip
            elif is_old and not is_new:
                _follow(
                    variable, starts, parts, depths, nowhere, live[OLD], spans[OLD], tables[OLD], heads[OLD],
                    places[OLD], ends[OLD], keys[OLD], like, registers[OLD], records, counts, lost, LOST,
                )  # fmt: skip
            if is_new:
                has_new_key = _next(
                    variable, high, starts, parts, depths, indexes, live[NEW], spans[NEW], tables[NEW],
                    heads[NEW], places[NEW], ends[NEW], keys[NEW], like, registers[NEW], records, counts,
                )  # fmt: skip
            if is_old:
                has_old_key = _next(
                    variable, high, starts, parts, depths, nowhere, live[OLD], spans[OLD], tables[OLD],
                    heads[OLD], places[OLD], ends[OLD], keys[OLD], like, registers[OLD], records, counts,
                )  # fmt: skip
        if counts[IS_FULL] != 0:
            counts[:] = before
            counts[IS_FULL] = 1
            return int(window)
    return int(windows.shape[0])


@kernel
def branch_levels(
    rows: CodeArray, numbers: Int32s, columns: Int32s, spans: Int64s, tables: Int64s, heads: Int64s,
    places: Int64s, ends: Int64s, keys: Int64s, levels: Int64s,
) -> None:  # fmt: skip
    """Write for each row the first level on which the trie does not have its branch yet.

    A row that the trie has altogether changes its last level.
    """
    depth = columns.shape[0]
    for position in range(numbers.shape[0]):
        level = 0
        while level < depth - 1 and find_key(
            0, level, np.int64(rows[numbers[position], columns[level]]), spans, tables, heads, places, ends,
            keys, rows,
        ):  # fmt: skip
            level += 1
        levels[position] = level


@kernel
def unite_windows(rows: Int64s, united: Int64s) -> int:
    """Write windows (prefix..., low, high) that overlap as one; return how many are left.

    Requires the windows to be sorted. Ensures that those of one prefix are disjoint.
    """
    low = rows.shape[1] - 2
    high = low + 1
    count = 0
    for row in range(rows.shape[0]):
        is_same = count > 0
        if is_same:
            for column in range(low):
                if united[count - 1, column] != rows[row, column]:
                    is_same = False
                    break
        if is_same and rows[row, low] <= united[count - 1, high]:
            united[count - 1, high] = max(united[count - 1, high], rows[row, high])
            continue
        united[count] = rows[row]
        count += 1
    return count
