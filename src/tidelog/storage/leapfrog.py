"""The leapfrog triejoin: all atoms of a body at once, one variable after the other.

For each variable, the cursors of the atoms that have it leap over one another until they agree; then the
next variable is searched below. The same code serves every body, and recording too. What a cursor did is
recorded as an interval of keys: as long as its trie does not change there, it would do the same again.

    opened, standing on v            from the lowest key to v
    moved on from v to w             [v, w]
    sought s, standing on w          [s, w]

Without a recorder (None) kernels are compiled without any recording.
"""

from typing import NamedTuple

import numpy as np

from tidelog.storage.join import EQUAL, UNEQUAL, compares
from tidelog.storage.kernel import CodeArray, Int64s, Integer, inlined, kernel
from tidelog.storage.leapfrog_cursor import (
    find_key,
    find_row,
    leap,
    next_key,
    open_level,
    row_at,
    seek_key,
)
from tidelog.storage.leapfrog_join import HIGHEST, LOWEST, Join, Records
from tidelog.storage.structs import elements_at

# Columns of a record before the values of the variables: its index, and the ends of its interval.
RECORD_HEAD = 3


class Run(NamedTuple):
    """Sorted values of one level of a batch: their address, a place among them, and where they end."""

    values: Integer
    place: Integer
    end: Integer


class Recorder(NamedTuple):
    """Where intervals are written: `counts` is one record with the numbers written and `is_full`."""

    records: Int64s
    counts: Records


@inlined
def _parts_of(join: Join, variable: Integer) -> tuple[Integer, Integer]:
    """Return the first part of a variable and the one after its last."""
    return join.variables[variable]["first_part"], join.variables[variable + 1]["first_part"]


@inlined
def _checks_of(join: Join, variable: Integer) -> tuple[Integer, Integer]:
    """Return the first check that needs a variable's value and the one after the last."""
    return join.variables[variable]["first_check"], join.variables[variable + 1]["first_check"]


@inlined
def _holds(join: Join, first: Integer, last: Integer) -> bool:
    """Say whether comparisons between registers hold."""
    for number in range(first, last):
        check = join.checks[number]
        left, right = join.registers[check["left"]], join.registers[check["right"]]
        if not compares(check["comparison"], left, right):
            return False
    return True


@inlined
def _bound(join: Join, variable: Integer) -> None:
    """Set the least and the largest value that comparisons leave for a variable."""
    register = join.state[0]["first_variable"] + variable
    low, high = LOWEST, HIGHEST
    first, last = _checks_of(join, variable)
    for number in range(first, last):
        check = join.checks[number]
        left, right = check["left"], check["right"]
        if check["comparison"] == UNEQUAL or left == right:
            continue
        if right == register or check["comparison"] == EQUAL:
            low = max(low, join.registers[left if right == register else right])
        if left == register or check["comparison"] == EQUAL:
            high = min(high, join.registers[right if left == register else left])
    join.variables[variable]["low"] = low
    join.variables[variable]["high"] = high


@inlined
def _count_step(
    join: Join, variable: Integer, part: Integer, low: Integer, found: bool, recorder: Recorder | None
) -> None:
    """Count a step of a cursor that found a value from `low` on or reached the end; record its interval."""
    join.state[0]["steps"] += 1
    if recorder is not None:
        level = join.levels[join.parts[part]["atom"], join.parts[part]["level"]]
        counts = recorder.counts[0]
        place = counts["records"]
        if level["index"] < 0:
            return
        if place == recorder.records.shape[0]:
            counts["is_full"] = 1
            return
        recorder.records[place, 0] = level["index"]
        recorder.records[place, 1] = low
        recorder.records[place, 2] = level["key"] if found else HIGHEST
        for before in range(join.state[0]["first_variable"] + variable):
            recorder.records[place, RECORD_HEAD + before] = join.registers[before]
        counts["records"] = place + 1


@inlined
def _meet(one: Run, two: Run, highest: Integer, like: CodeArray) -> tuple[Integer, Integer, Integer, bool]:
    """Let places in two runs of values leap over one another until their values agree.

    Return the places, the number of leaps, and whether both are at a value that is not above `highest`.
    Most steps of most joins are made here.
    """
    one_at, two_at = one.place, two.place
    one_key, two_key = elements_at(one.values, like)[one_at], elements_at(two.values, like)[two_at]
    steps = 0
    while one_key != two_key and one_key <= highest and two_key <= highest:
        steps += 1
        if one_key < two_key:
            one_at = leap(one.values, one_at, one.end, two_key, like)
            if one_at == one.end:
                return one_at, two_at, steps, False
            one_key = elements_at(one.values, like)[one_at]
        else:
            two_at = leap(two.values, two_at, two.end, one_key, like)
            if two_at == two.end:
                return one_at, two_at, steps, False
            two_key = elements_at(two.values, like)[two_at]
    return one_at, two_at, steps, bool(one_key == two_key and one_key <= highest)


@inlined
def _has_two_batches(join: Join, variable: Integer) -> bool:
    """Say whether a variable is in two atoms that have a single batch each."""
    first, last = _parts_of(join, variable)
    if last - first != 2:
        return False
    one, two = join.atoms[join.parts[first]["atom"]], join.atoms[join.parts[first + 1]["atom"]]
    # A variable has at most one part in an atom, so the atoms are two.
    return bool(one["last_batch"] - one["first_batch"] == 1 and two["last_batch"] - two["first_batch"] == 1)


@inlined
def _agree_two(join: Join, first: Integer, highest: Integer) -> bool:
    """Let the cursors of two parts leap until they agree, each over a single batch."""
    one, two = join.parts[first], join.parts[first + 1]
    one_at = join.cursors[join.atoms[one["atom"]]["first_batch"], one["level"]]
    two_at = join.cursors[join.atoms[two["atom"]]["first_batch"], two["level"]]
    one_run = Run(one_at["values"], one_at["place"], one_at["end"])
    two_run = Run(two_at["values"], two_at["place"], two_at["end"])
    one_at["place"], two_at["place"], steps, found = _meet(one_run, two_run, highest, join.like)
    join.state[0]["steps"] += steps
    if found:
        key = elements_at(one_at["values"], join.like)[one_at["place"]]
        join.levels[one["atom"], one["level"]]["key"] = key
        join.levels[two["atom"], two["level"]]["key"] = key
    return found


@inlined
def _agree(join: Join, variable: Integer, recorder: Recorder | None) -> bool:
    """Let the cursors of a variable leap until all are at one value that it may have."""
    first, last = _parts_of(join, variable)
    highest = join.variables[variable]["high"]
    if recorder is None and _has_two_batches(join, variable):
        return _agree_two(join, first, highest)
    target = LOWEST
    for other in range(first, last):
        target = max(target, join.levels[join.parts[other]["atom"], join.parts[other]["level"]]["key"])
    agreeing = 0
    part = first
    while agreeing < last - first:
        if target > highest:
            return False
        atom, level = join.parts[part]["atom"], join.parts[part]["level"]
        if join.levels[atom, level]["key"] < target:
            found = seek_key(join, atom, level, target)
            _count_step(join, variable, part, target, found, recorder)
            if not found:
                return False
            if join.levels[atom, level]["key"] > target:
                target = join.levels[atom, level]["key"]
                agreeing = 0
        agreeing += 1
        part += 1
        if part == last:
            part = first
    return bool(target <= highest)


@inlined
def _advance(join: Join, variable: Integer, is_fresh: bool, recorder: Recorder | None) -> bool:
    """Move to the first value that a variable may have, or to the next one."""
    first, last = _parts_of(join, variable)
    if not is_fresh:
        atom, level = join.parts[first]["atom"], join.parts[first]["level"]
        before = join.levels[atom, level]["key"]
        found = next_key(join, atom, level)
        _count_step(join, variable, first, before, found, recorder)
        return found and _agree(join, variable, recorder)
    lowest = join.variables[variable]["low"]
    for part in range(first, last):
        atom, level = join.parts[part]["atom"], join.parts[part]["level"]
        found = open_level(join, atom, level)
        if found and join.levels[atom, level]["key"] < lowest:
            found = seek_key(join, atom, level, lowest)
        _count_step(join, variable, part, lowest, found, recorder)
        if not found:
            return False
    return _agree(join, variable, recorder)


@inlined
def _go_down(join: Join, atom: Integer, level: Integer) -> bool:
    """Descend through the levels from `level` on whose value is known; at the last one find the row."""
    depth = join.atoms[atom]["depth"]
    while level < depth and join.levels[atom, level]["fixed"] >= 0:
        if not find_key(join, atom, level, join.registers[join.levels[atom, level]["fixed"]]):
            return False
        level += 1
    if level == depth and join.atoms[atom]["needs_row"] != 0:
        row = find_row(join, atom)
        join.registers[join.state[0]["first_row"] + atom] = row
        return bool(row >= 0)
    return True


@inlined
def _take(join: Join, variable: Integer) -> bool:
    """Give a variable the value its cursors are at; say whether the rest of the body allows it so far."""
    first, last = _parts_of(join, variable)
    register = join.state[0]["first_variable"] + variable
    join.registers[register] = join.levels[join.parts[first]["atom"], join.parts[first]["level"]]["key"]
    first_check, last_check = _checks_of(join, variable)
    if not _holds(join, first_check, last_check):
        return False
    for part in range(first, last):
        atom, below = join.parts[part]["atom"], join.parts[part]["level"] + 1
        ends_here = below == join.atoms[atom]["depth"] or join.levels[atom, below]["fixed"] >= 0
        if ends_here and not _go_down(join, atom, below):
            return False
    return True


@inlined
def begin(join: Join, batch: CodeArray, row: Integer, columns: Integer) -> bool:
    """Take an outer binding and let every atom descend as far as it determines the levels."""
    for column in range(columns):
        join.registers[column] = batch[row, column]
    if not _holds(join, 0, join.variables[0]["first_check"]):
        return False
    for atom in range(join.atoms.shape[0]):
        join.state[0]["steps"] += 1
        if not _go_down(join, atom, 0):
            return False
    return True


@inlined
def next_value(join: Join, variable: Integer, is_fresh: bool, recorder: Recorder | None) -> bool:
    """Give a variable the first value that the body allows, or the next one."""
    while _advance(join, variable, is_fresh, recorder):
        if _take(join, variable):
            return True
        is_fresh = False
    return False


@inlined
def _write(join: Join, out: CodeArray, row: Integer) -> None:
    """Write the registers that the outputs name."""
    for column in range(join.sources.shape[0]):
        out[row, column] = join.registers[join.sources[column]]


@inlined
def _row_of(join: Join, atom: Integer, place: Integer) -> np.int64:
    """Return the row at a place of the last level of an atom with a single batch, 0 if it is not needed."""
    if join.atoms[atom]["needs_row"] == 0:
        return np.int64(0)
    return row_at(join, atom, join.atoms[atom]["first_batch"], place)


@inlined
def _sweep(join: Join, variable: Integer, out: CodeArray, written: Integer) -> np.int64:
    """Write the bindings of the last variable, from where its two cursors agree; return how many there are.

    Both cursors have a single batch and are on their last level. If the output is full, they stay at the
    last value written.
    """
    first, _ = _parts_of(join, variable)
    one, two = join.parts[first], join.parts[first + 1]
    one_cursor = join.cursors[join.atoms[one["atom"]]["first_batch"], one["level"]]
    two_cursor = join.cursors[join.atoms[two["atom"]]["first_batch"], two["level"]]
    register, first_row = join.state[0]["first_variable"] + variable, join.state[0]["first_row"]
    highest = join.variables[variable]["high"]
    first_check, last_check = (
        join.variables[variable]["first_check"],
        join.variables[variable + 1]["first_check"],
    )
    one_at, two_at, found = one_cursor["place"], two_cursor["place"], True
    count = np.int64(written)
    steps: Integer = 0
    while found:
        join.registers[register] = elements_at(one_cursor["values"], join.like)[one_at]
        one_row, two_row = _row_of(join, one["atom"], one_at), _row_of(join, two["atom"], two_at)
        if one_row >= 0 and two_row >= 0 and _holds(join, first_check, last_check):
            join.registers[first_row + one["atom"]] = one_row
            join.registers[first_row + two["atom"]] = two_row
            _write(join, out, count)
            count += 1
            if count == out.shape[0]:
                break
        one_at += 1
        if one_at == one_cursor["end"]:
            break
        one_rest = Run(one_cursor["values"], one_at, one_cursor["end"])
        two_rest = Run(two_cursor["values"], two_at, two_cursor["end"])
        one_at, two_at, leaps, found = _meet(one_rest, two_rest, highest, join.like)
        steps += leaps
    join.state[0]["steps"] += steps
    one_cursor["place"], two_cursor["place"] = one_at, two_at
    join.levels[one["atom"], one["level"]]["key"] = join.registers[register]
    join.levels[two["atom"], two["level"]]["key"] = join.registers[register]
    return count


@inlined
def _sweeps_at(join: Join) -> np.int64:
    """Return the last variable if it is needed and is the last level of just two batches, otherwise -1."""
    last = join.variables.shape[0] - 2
    if last < 0 or join.state[0]["witness"] <= last or not _has_two_batches(join, last):
        return np.int64(-1)
    first_part, last_part = _parts_of(join, last)
    for part in range(first_part, last_part):
        if join.parts[part]["level"] != join.atoms[join.parts[part]["atom"]]["depth"] - 1:
            return np.int64(-1)
    return np.int64(last)


@inlined
def write_bindings(
    join: Join, floor: Integer, out: CodeArray, written: Integer, recorder: Recorder | None
) -> np.int64:
    """Write bindings of the variables after `floor` from the join's state on; return how many are written.

    Ends with the variable of the state at `floor`, or above it if an output is full.
    """
    state = join.state[0]
    variables = join.variables.shape[0] - 1
    variable, is_fresh = state["variable"], state["is_fresh"] != 0
    count = np.int64(written)
    while variable > floor and count < out.shape[0]:
        if variable == variables:
            _write(join, out, count)
            count += 1
            variable, is_fresh = state["witness"] - 1, False
            continue
        if is_fresh:
            _bound(join, variable)
        if recorder is None:
            if variable == state["sweeps_at"]:
                if _advance(join, variable, is_fresh, recorder):
                    count = _sweep(join, variable, out, count)
                if count < out.shape[0]:
                    variable -= 1
                is_fresh = False
                continue
        elif recorder.counts[0]["is_full"] != 0:
            break
        is_fresh = next_value(join, variable, is_fresh, recorder)
        variable += 1 if is_fresh else -1
    state["variable"] = variable
    state["is_fresh"] = 1 if is_fresh else 0
    return count


@kernel
def leapfrog(batch: CodeArray, join: Join, out: CodeArray) -> int:
    """Write bindings until the output is full or all outer ones are done; return how many.

    Ensures that every binding of the variables is found exactly once for each outer one, except for the
    variables from the join's `witness` on.
    """
    state = join.state[0]
    state["sweeps_at"] = _sweeps_at(join)
    written = np.int64(0)
    while state["outer"] < batch.shape[0] and written < out.shape[0]:
        if state["variable"] < 0 and begin(join, batch, state["outer"], batch.shape[1]):
            state["variable"], state["is_fresh"] = 0, 1
        written = write_bindings(join, -1, out, written, None)
        if state["variable"] < 0:
            state["outer"] += 1
    return int(written)
