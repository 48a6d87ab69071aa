"""The leapfrog triejoin: all atoms of a body at once, one variable after the other.

For each variable, the cursors of the atoms that hold it leap over one another until they agree; then
the next variable is looked for below. One kernel serves every body; arrays describe it:

* Values live in *registers*: the columns of the given binding, the constants, the variables, and the
  row numbers of the atoms, in this order. `bases` says where the last three begin.
* `fixed[atom, level]` is the register whose value a level must have, or -1 where a variable is looked
  for. `depths[atom]` is the number of levels.
* `parts[starts[v] : starts[v + 1]]` are the (atom, level) pairs that hold variable v.
* `checks[check_starts[v] : check_starts[v + 1]]` are comparisons (comparison, left register, right
  register) to be made once variable v - 1 has a value; those of v = 0 need none.
* `wanted[atom]` has the lowest row in view, the one after the highest, the address of `alive`, and
  whether the row must be looked for at all.
* From variable `witness` on one value is enough.

The arrays `places`, `ends`, `keys` and `state` are the kernel's own between two calls; `state` is the
given binding, the variable's place or -1, whether its level is yet to be opened, and the steps made.
"""

import numpy as np

from tidelog.storage.address import load_byte, load_code, load_int32
from tidelog.storage.join import EQUAL, LESS, UNEQUAL
from tidelog.storage.kernel import CodeArray, Int32s, Int64s, Integer, inlined, kernel
from tidelog.storage.leapfrog_cursor import (
    HIGHEST,
    LOWEST,
    find_key,
    find_row,
    leap,
    next_key,
    open_level,
    seek_key,
)
from tidelog.storage.trie import STARTS, VALUES

# Places in `state`.
GIVEN = 0
VARIABLE = 1
IS_FRESH = 2
STEPS = 3
STATE_SIZE = 4

# Places in `bases`.
CONSTANTS = 0
VARIABLES = 1
ROWS = 2


@inlined
def _holds(checks: Int32s, first: Integer, last: Integer, registers: Int64s) -> bool:
    """Say whether comparisons between registers hold."""
    for check in range(first, last):
        left = registers[checks[check, 1]]
        right = registers[checks[check, 2]]
        comparison = checks[check, 0]
        if comparison == EQUAL:
            if left != right:
                return False
        elif comparison == UNEQUAL:
            if left == right:
                return False
        elif comparison == LESS:
            if left >= right:
                return False
        elif left > right:
            return False
    return True


@inlined
def _bound(
    register: Integer, checks: Int32s, first: Integer, last: Integer, registers: Int64s, limits: Int64s
) -> None:
    """Set the least and the largest value that comparisons leave for a variable."""
    limits[0] = LOWEST
    limits[1] = HIGHEST
    for check in range(first, last):
        if checks[check, 0] == UNEQUAL:
            continue
        left = checks[check, 1]
        right = checks[check, 2]
        if left == right:
            continue
        if right == register or checks[check, 0] == EQUAL:
            limits[0] = max(limits[0], registers[left if right == register else right])
        if left == register or checks[check, 0] == EQUAL:
            limits[1] = min(limits[1], registers[right if left == register else left])


@inlined
def _agree_two(
    one: Integer, one_level: Integer, two: Integer, two_level: Integer, highest: Integer, spans: Int64s,
    tables: Int64s, places: Int64s, ends: Int64s, keys: Int64s, like: CodeArray, state: Int64s,
) -> bool:  # fmt: skip
    """Let two cursors over a single batch each leap until they agree; as `_agree`, but with less to do.

    Most steps of most joins are made here, so everything is kept at hand.
    """
    first, second = spans[one], spans[two]
    one_values, two_values = tables[first, one_level, VALUES], tables[second, two_level, VALUES]
    one_place, two_place = places[first, one_level], places[second, two_level]
    one_end, two_end = ends[first, one_level], ends[second, two_level]
    one_key, two_key = keys[one, one_level], keys[two, two_level]
    steps = 0
    while one_key != two_key:
        steps += 1
        if one_key < two_key:
            if two_key > highest:
                break
            one_place = leap(one_values, one_place, one_end, two_key, like)
            if one_place == one_end:
                break
            one_key = load_code(one_values, one_place, like)
        else:
            if one_key > highest:
                break
            two_place = leap(two_values, two_place, two_end, one_key, like)
            if two_place == two_end:
                break
            two_key = load_code(two_values, two_place, like)
    state[STEPS] += steps
    places[first, one_level], places[second, two_level] = one_place, two_place
    keys[one, one_level], keys[two, two_level] = one_key, two_key
    return bool(one_key == two_key and one_key <= highest)


@inlined
def _agree(
    parts: Int32s, first: Integer, last: Integer, highest: Integer, spans: Int64s, tables: Int64s,
    places: Int64s, ends: Int64s, keys: Int64s, like: CodeArray, state: Int64s,
) -> bool:  # fmt: skip
    """Let the cursors of one variable leap until all stand on one value that is not above `highest`."""
    if last - first == 2:
        one, two = parts[first, 0], parts[first + 1, 0]
        if one != two and spans[one + 1] - spans[one] == 1 and spans[two + 1] - spans[two] == 1:
            return _agree_two(
                one, parts[first, 1], two, parts[first + 1, 1], highest, spans, tables, places, ends, keys,
                like, state,
            )  # fmt: skip
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
            state[STEPS] += 1
            if not seek_key(atom, level, target, spans, tables, places, ends, keys, like):
                return False
            if keys[atom, level] > target:
                target = keys[atom, level]
                agreeing = 0
        agreeing += 1
        part += 1
        if part == last:
            part = first
    return bool(target <= highest)


@inlined
def _open_variable(
    parts: Int32s, first: Integer, last: Integer, limits: Int64s, spans: Int64s, tables: Int64s,
    heads: Int64s, places: Int64s, ends: Int64s, keys: Int64s, like: CodeArray, state: Int64s,
) -> bool:  # fmt: skip
    """Stand on the first value of a variable, not below `limits[0]` nor above `limits[1]`."""
    for part in range(first, last):
        atom = parts[part, 0]
        level = parts[part, 1]
        state[STEPS] += 1
        if not open_level(atom, level, spans, tables, heads, places, ends, keys, like):
            return False
        if limits[0] > keys[atom, level] and not seek_key(
            atom, level, limits[0], spans, tables, places, ends, keys, like
        ):
            return False
    return _agree(parts, first, last, limits[1], spans, tables, places, ends, keys, like, state)


@inlined
def _go_down(
    atom: Integer, level: Integer, fixed: Int32s, depths: Int64s, wanted: Int64s, bases: Int64s,
    registers: Int64s, spans: Int64s, tables: Int64s, heads: Int64s, places: Int64s, ends: Int64s,
    keys: Int64s, like: CodeArray,
) -> bool:  # fmt: skip
    """Go down the levels from `level` on whose value is known; at the last one look for the row."""
    while level < depths[atom] and fixed[atom, level] >= 0:
        sought = registers[fixed[atom, level]]
        if not find_key(atom, level, sought, spans, tables, heads, places, ends, keys, like):
            return False
        level += 1
    if level == depths[atom] and wanted[atom, 3] != 0:
        row = find_row(
            atom, level - 1, wanted[atom, 0], wanted[atom, 1], wanted[atom, 2], spans, tables, heads, places,
            ends, keys, like,
        )  # fmt: skip
        registers[bases[ROWS] + atom] = row
        return bool(row >= 0)
    return True


@inlined
def _begin(
    batch: CodeArray, row: Integer, fixed: Int32s, depths: Int64s, wanted: Int64s, bases: Int64s,
    check_starts: Int64s, checks: Int32s, registers: Int64s, spans: Int64s, tables: Int64s, heads: Int64s,
    places: Int64s, ends: Int64s, keys: Int64s, like: CodeArray, state: Int64s,
) -> bool:  # fmt: skip
    """Take a given binding and let every atom go down as far as it leads."""
    for column in range(batch.shape[1]):
        registers[column] = batch[row, column]
    if not _holds(checks, check_starts[0], check_starts[1], registers):
        return False
    for atom in range(depths.shape[0]):
        state[STEPS] += 1
        if not _go_down(
            atom, 0, fixed, depths, wanted, bases, registers, spans, tables, heads, places, ends, keys, like
        ):
            return False
    return True


@inlined
def _take(
    variable: Integer, parts: Int32s, first: Integer, last: Integer, fixed: Int32s, depths: Int64s,
    wanted: Int64s, bases: Int64s, check_starts: Int64s, checks: Int32s, registers: Int64s, spans: Int64s,
    tables: Int64s, heads: Int64s, places: Int64s, ends: Int64s, keys: Int64s, like: CodeArray,
) -> bool:  # fmt: skip
    """Give a variable the value its cursors stand on; say whether the rest of the body allows it yet."""
    registers[bases[VARIABLES] + variable] = keys[parts[first, 0], parts[first, 1]]
    if not _holds(checks, check_starts[variable + 1], check_starts[variable + 2], registers):
        return False
    for part in range(first, last):
        atom = parts[part, 0]
        below = parts[part, 1] + 1
        ends_here = below == depths[atom] or fixed[atom, below] >= 0
        if ends_here and not _go_down(
            atom,
            below,
            fixed,
            depths,
            wanted,
            bases,
            registers,
            spans,
            tables,
            heads,
            places,
            ends,
            keys,
            like,
        ):
            return False
    return True


@inlined
def _row_at(
    atom: Integer, level: Integer, place: Integer, wanted: Int64s, spans: Int64s, tables: Int64s,
    heads: Int64s,
) -> np.int64:  # fmt: skip
    """Return the row in view at a place of the last level of an atom with a single batch, or -1."""
    if wanted[atom, 3] == 0:
        return np.int64(0)
    batch = spans[atom]
    starts = tables[batch, level, STARTS]
    for position in range(load_int32(starts, place), load_int32(starts, place + 1)):
        row = load_int32(heads[batch, 1], position)
        if wanted[atom, 0] <= row < wanted[atom, 1] and (
            wanted[atom, 2] == 0 or load_byte(wanted[atom, 2], row) != 0
        ):
            return np.int64(row)
    return np.int64(-1)


@inlined
def _sweep(
    one: Integer, one_level: Integer, two: Integer, two_level: Integer, variable: Integer, highest: Integer,
    wanted: Int64s, bases: Int64s, first_check: Integer, last_check: Integer, checks: Int32s, sources: Int32s,
    registers: Int64s, spans: Int64s, tables: Int64s, heads: Int64s, places: Int64s, ends: Int64s,
    keys: Int64s, state: Int64s, written: Integer, out: CodeArray,
) -> np.int64:  # fmt: skip
    """Write the bindings of the last variable from where its two cursors agree on; return how many there are.

    Both cursors have a single batch and stand on their last level. Most of what most joins find is found
    here, so everything is kept at hand. If the output is full the cursors stay on the last value written.
    """
    first, second = spans[one], spans[two]
    one_values, two_values = tables[first, one_level, VALUES], tables[second, two_level, VALUES]
    one_place, two_place = places[first, one_level], places[second, two_level]
    one_end, two_end = ends[first, one_level], ends[second, two_level]
    one_key, two_key = keys[one, one_level], keys[two, two_level]
    room = out.shape[0]
    steps = 0
    count = np.int64(written)
    while one_key <= highest and two_key <= highest:
        if one_key < two_key:
            steps += 1
            one_place = leap(one_values, one_place, one_end, two_key, out)
            if one_place == one_end:
                break
            one_key = load_code(one_values, one_place, out)
            continue
        if two_key < one_key:
            steps += 1
            two_place = leap(two_values, two_place, two_end, one_key, out)
            if two_place == two_end:
                break
            two_key = load_code(two_values, two_place, out)
            continue
        registers[variable] = one_key
        one_row = _row_at(one, one_level, one_place, wanted, spans, tables, heads)
        two_row = _row_at(two, two_level, two_place, wanted, spans, tables, heads)
        if one_row >= 0 and two_row >= 0 and _holds(checks, first_check, last_check, registers):
            registers[bases[ROWS] + one] = one_row
            registers[bases[ROWS] + two] = two_row
            _write(registers, sources, out, count)
            count += 1
            if count == room:
                break
        one_place += 1
        if one_place == one_end:
            break
        one_key = load_code(one_values, one_place, out)
    state[STEPS] += steps
    places[first, one_level], places[second, two_level] = one_place, two_place
    keys[one, one_level], keys[two, two_level] = one_key, two_key
    return count


@inlined
def _write(registers: Int64s, sources: Int32s, out: CodeArray, row: Integer) -> None:
    """Write the registers that the outputs name."""
    for column in range(sources.shape[0]):
        out[row, column] = registers[sources[column]]


@inlined
def _ends_in_two(starts: Int64s, parts: Int32s, depths: Int64s, witness: Integer) -> bool:
    """Say whether the last variable is asked for and is the last level of just two atoms."""
    variables = starts.shape[0] - 1
    if variables == 0 or witness < variables or starts[variables] - starts[variables - 1] != 2:
        return False
    one, two = starts[variables - 1], starts[variables - 1] + 1
    return bool(
        parts[one, 0] != parts[two, 0]
        and parts[one, 1] == depths[parts[one, 0]] - 1
        and parts[two, 1] == depths[parts[two, 0]] - 1
    )


@inlined
def _has_single_batches(parts: Int32s, first: Integer, spans: Int64s) -> bool:
    """Say whether both atoms of a variable have one batch each."""
    one, two = parts[first, 0], parts[first + 1, 0]
    return bool(spans[one + 1] - spans[one] == 1 and spans[two + 1] - spans[two] == 1)


@kernel
def leapfrog(  # noqa: PLR0915 - one state machine; to split its loop would hide the order of its states
    batch: CodeArray, spans: Int64s, tables: Int64s, heads: Int64s, fixed: Int32s, depths: Int64s,
    wanted: Int64s, starts: Int64s, parts: Int32s, check_starts: Int64s, checks: Int32s, witness: int,
    bases: Int64s, sources: Int32s, registers: Int64s, places: Int64s, ends: Int64s, keys: Int64s,
    state: Int64s, out: CodeArray,
) -> int:  # fmt: skip
    """Write bindings until the output is full or all given ones are done; return how many.

    `sources` names the register of each output column. Ensures that every binding of the variables is
    found exactly once for each given one, those from `witness` on excepted.
    """
    variables = starts.shape[0] - 1
    limits = np.empty((variables + 1, 2), np.int64)
    sweeps_at = variables - 1 if _ends_in_two(starts, parts, depths, witness) else -1
    row, variable, is_fresh = state[GIVEN], state[VARIABLE], state[IS_FRESH] != 0
    for place in range(variable + 1):
        _bound(
            bases[VARIABLES] + place, checks, check_starts[place + 1], check_starts[place + 2], registers,
            limits[place],
        )  # fmt: skip
    written: Integer = 0
    while row < batch.shape[0] and written < out.shape[0]:
        if variable < 0:
            may_go_on = _begin(
                batch, row, fixed, depths, wanted, bases, check_starts, checks, registers, spans, tables,
                heads, places, ends, keys, out, state,
            )  # fmt: skip
            if may_go_on and variables > 0:
                variable = 0
                is_fresh = True
                continue
            if may_go_on:
                _write(registers, sources, out, written)
                written += 1
            row += 1
            continue
        first, last = starts[variable], starts[variable + 1]
        if is_fresh:
            _bound(
                bases[VARIABLES] + variable, checks, check_starts[variable + 1], check_starts[variable + 2],
                registers, limits[variable],
            )  # fmt: skip
            found = _open_variable(
                parts, first, last, limits[variable], spans, tables, heads, places, ends, keys, out, state
            )
        else:
            state[STEPS] += 1
            found = next_key(
                parts[first, 0], parts[first, 1], spans, tables, places, ends, keys, out
            ) and _agree(
                parts, first, last, limits[variable, 1], spans, tables, places, ends, keys, out, state
            )
        if not found:
            is_fresh = False
            variable -= 1
            if variable < 0:
                row += 1
            continue
        if variable == sweeps_at and _has_single_batches(parts, first, spans):
            written = _sweep(
                parts[first, 0], parts[first, 1], parts[first + 1, 0], parts[first + 1, 1],
                bases[VARIABLES] + variable, limits[variable, 1], wanted, bases, check_starts[variable + 1],
                check_starts[variable + 2], checks, sources, registers, spans, tables, heads, places, ends,
                keys, state, written, out,
            )  # fmt: skip
            is_fresh = False
            if written < out.shape[0]:
                variable -= 1
                if variable < 0:
                    row += 1
            continue
        if not _take(
            variable, parts, first, last, fixed, depths, wanted, bases, check_starts, checks, registers,
            spans, tables, heads, places, ends, keys, out,
        ):  # fmt: skip
            is_fresh = False
            continue
        if variable < variables - 1:
            variable += 1
            is_fresh = True
            continue
        _write(registers, sources, out, written)
        written += 1
        is_fresh = False
        if witness < variables:
            variable = witness - 1
            if variable < 0:
                row += 1
    state[GIVEN] = row
    state[VARIABLE] = variable
    state[IS_FRESH] = 1 if is_fresh else 0
    return int(written)
