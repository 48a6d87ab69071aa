"""Leapfrog joins that record what they depend on, and that are run again only where it changed.

A body is joined over two versions of its tries, the old and the new one. A window is a binding of the
first variables and an interval of the next one. Inside it both versions are joined again: values that only
one of them has are followed down to whole bindings, lost or gained; below a value that both have nothing is
done, because what changed there has windows of its own.

So a window is an outer binding of a leapfrog join whose first variable has two bounds. The trie of an atom
has the levels of its variables only, in their order, and a record is the index of an interval, the
interval's ends, and the variables' values so far.
"""

import numpy as np

from tidelog.storage.kernel import CodeArray, Int32s, Int64s, Integer, inlined, kernel
from tidelog.storage.leapfrog import Recorder, begin, next_value, write_bindings
from tidelog.storage.leapfrog_cursor import find_key
from tidelog.storage.leapfrog_join import Join

# What was written so far, whether an output was too short, and the steps made.
COUNTS = np.dtype([(name, np.int64) for name in ("lost", "gained", "records", "is_full", "steps")])


@inlined
def _stand(join: Join, windows: Int64s, window: Integer) -> bool:
    """Set the binding and the bounds of a window; say whether the version has the binding."""
    prefix = windows.shape[1] - 2
    found = begin(join, windows, window, prefix)
    join.variables[0]["low"] = windows[window, prefix]
    join.variables[0]["high"] = windows[window, prefix + 1]
    join.state[0]["steps"] = 0
    return found


@inlined
def _follow(join: Join, out: Int64s, written: Integer, recorder: Recorder) -> np.int64:
    """Write all bindings below the value that the first variable has now; return how many are written."""
    join.state[0]["variable"] = 1
    join.state[0]["is_fresh"] = 1
    count = write_bindings(join, 0, out, written, recorder)
    if join.state[0]["variable"] > 0:
        recorder.counts[0]["is_full"] = 1
    return count


@inlined
def _compare(old: Join, new: Join, has_old: bool, lost: Int64s, gained: Int64s, recorder: Recorder) -> None:
    """Join both versions between the bounds of the first variable; write what only one of them has."""
    counts = recorder.counts[0]
    register = new.state[0]["first_variable"]
    has_new_key, has_old_key, is_fresh = True, has_old, True
    is_new, is_old = True, has_old
    while counts["is_full"] == 0:
        if is_new:
            has_new_key = next_value(new, 0, is_fresh, recorder)
        if is_old:
            has_old_key = next_value(old, 0, is_fresh, recorder)
        if not has_new_key and not has_old_key:
            break
        is_fresh = False
        new_key, old_key = new.registers[register], old.registers[register]
        is_new = has_new_key and (not has_old_key or new_key <= old_key)
        is_old = has_old_key and (not has_new_key or old_key <= new_key)
        if not is_old:
            counts["gained"] = _follow(new, gained, counts["gained"], recorder)
        elif not is_new:
            counts["lost"] = _follow(old, lost, counts["lost"], recorder)


@kernel
def join_windows(
    windows: Int64s, first: int, old: Join, new: Join, has_old: bool, lost: Int64s, gained: Int64s,
    recorder: Recorder,
) -> int:  # fmt: skip
    """Join windows (prefix..., low, high) from number `first` on; return the number of those done.

    Without an old version everything is gained. A window for which an output is too short is not
    done, and leaves nothing behind. Requires that windows with the same prefix do not overlap. Ensures
    that every binding of one version alone whose prefix both have, and whose value after that is in a
    window, is written exactly once.
    """
    counts = recorder.counts[0]
    for window in range(first, windows.shape[0]):
        before = recorder.counts.copy()
        is_there = _stand(new, windows, window) and (not has_old or _stand(old, windows, window))
        if is_there:
            _compare(old, new, has_old, lost, gained, recorder)
            if counts["is_full"] != 0:
                recorder.counts[0] = before[0]
                counts["is_full"] = 1
                return int(window)
            counts["steps"] += new.state[0]["steps"] + (old.state[0]["steps"] if has_old else 0)
        counts["steps"] += 1
    return int(windows.shape[0])


@kernel
def branch_levels(rows: CodeArray, numbers: Int32s, columns: Int32s, join: Join, levels: Int64s) -> None:
    """Write for each row the first level on which the trie of a join's only atom does not have its branch.

    A row that is already in the trie changes its last level.
    """
    for position in range(numbers.shape[0]):
        level = 0
        while level < columns.shape[0] - 1 and find_key(
            join, 0, level, np.int64(rows[numbers[position], columns[level]])
        ):
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
