"""Aggregates over groups of derivations, as codes.

Sums of floats are rounded once, so neither the order of derivations nor the number of threads
affects a result; `values.functors.exact_sum` defines them.
"""

import math
from collections.abc import Callable
from typing import Final

import numpy as np
import numpy.typing as npt

from tidelog.engine.local.evaluated import Bindings, Bools, Evaluated, unless_all
from tidelog.engine.protocol import Codes
from tidelog.kernels import kernel
from tidelog.values import Kind, functors
from tidelog.values.codes import float_order, floats_to_codes, unsigned_order

Floats = npt.NDArray[np.float64]

# Fewer floats than this are summed in Python, which needs no kernel to be loaded.
_FEW_FLOATS: Final = 1 << 10
# Shewchuk's partial sums do not overlap, and 40 times 53 bits cover all exponents of a double.
_PARTIALS: Final = 64


def reduce_groups(  # noqa: PLR0913, PLR0917 - each is plain, and bundling them would only move them
    functor: str,
    kind: Kind,
    groups: Codes,
    values: Codes | None,
    group_count: int,
    weights: Codes | None = None,
    *,
    order: Codes | None = None,
) -> Evaluated:
    """Return count, sum, min, max or mean of each group, and which groups have a value.

    `groups` has the number of the group of every derivation, in any order; `values` the codes of
    the target, of the kind `kind` (None for count); `weights` how often each derivation counts, at
    least once (None: once). For min and max of symbols, records and algebraic values `order` has
    keys of the values in value order, as `Codec.order_keys` gives them. A mean is a float. The
    codes of groups without a value are meaningless.

        reduce_groups("sum", Kind.NUMBER, [0, 1, 0], [5, 6, 7], 3, None)  ->  [12, 6, 0], None
    """
    if functor == "count":
        return _counts(groups, group_count, weights), None
    assert values is not None, f"{functor} has a target"
    match functor:
        case "sum" if kind is Kind.FLOAT:
            return floats_to_codes(_float_sums(groups, values.view(np.float64), group_count, weights)), None
        case "sum":
            sums = np.zeros(group_count, dtype=np.int64)
            np.add.at(sums, groups, values if weights is None else values * weights)
            return sums, None
        case "min" | "max":
            results = _extremes(functor, kind, groups, values, group_count, order)
        case "mean":
            results = floats_to_codes(_means(kind, groups, values, group_count, weights))
        case _:
            raise AssertionError(f"no aggregate {functor}")
    has_value = np.zeros(group_count, dtype=np.bool_)
    has_value[groups] = True
    return results, unless_all(has_value)


def fold_groups(
    step: Callable[[Bindings, int], Evaluated],
    init: Codes,
    groups: Codes,
    values: Codes,
    order: Codes,
) -> Evaluated:
    """Return the value of a user's aggregate for each group, and which groups have a value.

    `step` is a compiled term over the variables `left` (the result so far) and `right` (the next
    value); `init` has one code per group. Each group's values are taken in value order, which
    `order` has keys of. If `step` has no value once, the group has none.
    """
    results = init.copy()
    has_value = np.ones(init.size, dtype=np.bool_)
    rows = np.lexsort((order, groups))
    sizes = np.bincount(groups, minlength=init.size)
    turns = np.arange(rows.size) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    # Groups are independent, so the first values of all are folded at once, then the second ones.
    rows = rows[np.argsort(turns, kind="stable")]
    ends = np.cumsum(np.bincount(turns))
    for turn in np.split(rows, ends[:-1]) if rows.size else ():
        turn_rows = turn[has_value[groups[turn]]]
        turn_groups = groups[turn_rows]
        columns = {"left": results[turn_groups], "right": values[turn_rows]}
        results[turn_groups], mask = step(columns, turn_rows.size)
        if mask is not None:
            has_value[turn_groups] = mask
    return results, unless_all(has_value)


def _counts(groups: Codes, group_count: int, weights: Codes | None) -> Codes:
    if weights is None:
        return np.bincount(groups, minlength=group_count).astype(np.int64, copy=False)
    counts = np.zeros(group_count, dtype=np.int64)
    np.add.at(counts, groups, weights)
    return counts


def _extremes(  # noqa: PLR0913, PLR0917 - as `reduce_groups`
    functor: str, kind: Kind, groups: Codes, values: Codes, group_count: int, order: Codes | None
) -> Codes:
    # Turning codes into keys and keys into codes is the same operation for numeric kinds.
    turn: Callable[[Codes], Codes]
    match kind:
        case Kind.NUMBER:
            turn = np.asarray
        case Kind.UNSIGNED:
            turn = unsigned_order
        case Kind.FLOAT:
            turn = float_order
        case _:
            assert order is not None, f"{functor} of kind {kind.value} needs keys"
            best = _extremes(functor, Kind.NUMBER, groups, order, group_count, None)
            results = np.zeros(group_count, dtype=np.int64)
            rows = np.flatnonzero(order == best[groups])
            results[groups[rows]] = values[rows]
            return results
    limits = np.iinfo(np.int64)
    keys = np.full(group_count, limits.max if functor == "min" else limits.min, dtype=np.int64)
    (np.minimum if functor == "min" else np.maximum).at(keys, groups, turn(values))
    return turn(keys)


# --- means ---------------------------------------------------------------------------------


@np.errstate(all="ignore")
def _means(kind: Kind, groups: Codes, values: Codes, group_count: int, weights: Codes | None) -> Floats:
    counts = _counts(groups, group_count, weights)
    if kind is Kind.FLOAT:
        sums = _float_sums(groups, values.view(np.float64), group_count, weights)
        return sums / np.maximum(counts, 1)
    # Halves of 32 bits can be added two billion times before a sum wraps.
    high, low = split_halves(kind, values)
    if counts.max(initial=0) >= 2**31:
        totals = _exact_totals(groups, high, group_count, weights) * 2**32
        totals += _exact_totals(groups, low, group_count, weights)
        exact: Floats = (totals / np.maximum(counts, 1).astype(object)).astype(np.float64)
        return exact
    highs, _ = reduce_groups("sum", Kind.NUMBER, groups, high, group_count, weights)
    lows, _ = reduce_groups("sum", Kind.NUMBER, groups, low, group_count, weights)
    return divide_totals(highs, lows, counts)


def split_halves(kind: Kind, values: Codes) -> tuple[Codes, Codes]:
    """Return the upper and lower 32 bits of integers, whose sums do not wrap for long."""
    high = (values.view(np.uint64) >> np.uint64(32)).view(np.int64)
    return high if kind is Kind.UNSIGNED else values >> 32, values & 0xFFFF_FFFF


def divide_totals(highs: Codes, lows: Codes, counts: Codes) -> Floats:
    """Return `(highs * 2**32 + lows) / counts`, rounded once; values of empty groups are meaningless."""
    means: Floats = (highs * 2.0**32 + lows) / np.maximum(counts, 1)
    # Beyond 2**53 a float cannot hold the total: Python divides integers and rounds once.
    large = np.flatnonzero((np.abs(highs) >= 2**20) | (lows >= 2**52))
    if large.size:
        totals = highs[large].astype(object) * 2**32 + lows[large].astype(object)
        means[large] = (totals / np.maximum(counts[large], 1).astype(object)).astype(np.float64)
    return means


def _exact_totals(
    groups: Codes, values: Codes, group_count: int, weights: Codes | None
) -> npt.NDArray[np.object_]:
    """Return sums as Python integers, which do not wrap."""
    totals = np.zeros(group_count, dtype=object)
    np.add.at(totals, groups, values.astype(object) * (1 if weights is None else weights.astype(object)))
    return totals


# --- sums of floats ------------------------------------------------------------------------


def _float_sums(groups: Codes, values: Floats, group_count: int, weights: Codes | None) -> Floats:
    # Numbers of 16 bits are sorted by radix, which is several times faster.
    rows = np.argsort(groups.astype(np.uint16) if group_count <= 1 << 16 else groups, kind="stable")
    ends = np.cumsum(np.bincount(groups, minlength=group_count))
    values = np.ascontiguousarray(values[rows])
    weights = np.ones(values.size, dtype=np.int64) if weights is None else weights[rows]
    if values.size < _FEW_FLOATS:
        sums = np.zeros(group_count, dtype=np.float64)
        unsettled = np.flatnonzero(np.diff(ends, prepend=0))
    else:
        with np.errstate(all="ignore"):
            sums, is_settled = _sum_exactly(values, np.ascontiguousarray(weights), ends)
        unsettled = np.flatnonzero(~is_settled)
    for group in unsettled.tolist():
        start, end = int(ends[group - 1]) if group else 0, int(ends[group])
        sums[group] = _sum_in_python(values[start:end], weights[start:end])
    return sums


def _sum_in_python(values: Floats, weights: Codes) -> float:
    if (weights == 1).all():
        return functors.exact_sum(values.tolist())
    if not np.isfinite(values).all():
        return functors.exact_sum(values[~np.isfinite(values)].tolist())
    from fractions import Fraction  # noqa: PLC0415 - rarely needed

    total = sum(
        Fraction(value) * weight for value, weight in zip(values.tolist(), weights.tolist(), strict=True)
    )
    try:
        return float(total)
    except OverflowError:
        return math.inf if total > 0 else -math.inf


@kernel
def _sum_exactly(values: Floats, weights: Codes, ends: Codes) -> tuple[Floats, Bools]:
    """Return the sum of each group, rounded once, and which sums are settled.

    Requires the values of group g to be at ends[g - 1] .. ends[g], and weights of at least 1.
    Ensures that a settled sum is that of `functors.exact_sum`; a group with a value that is not
    finite, or whose sum overflows on the way, is not settled.
    """
    sums = np.zeros(ends.size, dtype=np.float64)
    is_settled = np.ones(ends.size, dtype=np.bool_)
    partials = np.empty(_PARTIALS, dtype=np.float64)
    row = 0
    for group in range(ends.size):
        count = 0
        while row < ends[group]:
            # A value that counts w times is added once, doubled, for each bit of w: all exact.
            term = values[row]
            weight = weights[row]
            while weight > 0:
                if weight & 1:
                    count = _insert_partial(partials, count, term)
                weight >>= 1
                term *= 2.0
            row += 1
            if count < 0:
                is_settled[group] = False
                row = ends[group]
        if count > 0:
            sums[group] = _round_partials(partials, count)
    return sums, is_settled


@kernel
def _insert_partial(partials: Floats, count: int, term: float) -> int:
    """Add a term to partial sums that do not overlap, smallest first; return how many there are.

    Returns -1 as soon as something is not finite, and from then on.
    """
    if count < 0:
        return -1
    kept = 0
    for place in range(count):
        partial = partials[place]
        large, small = (term, partial) if abs(term) >= abs(partial) else (partial, term)
        term = large + small
        rest = small - (term - large)
        if rest != 0.0:
            partials[kept] = rest
            kept += 1
    if not math.isfinite(term):
        return -1
    partials[kept] = term
    return kept + 1


@kernel
def _round_partials(partials: Floats, count: int) -> float:
    """Return the sum of partial sums that do not overlap, smallest first, rounded half to even."""
    place = count - 1
    total: float = partials[place]
    rest = 0.0
    while place > 0 and rest == 0.0:
        place -= 1
        before = total
        total = before + partials[place]
        rest = partials[place] - (total - before)
    # Half a unit was rounded to even, but the remaining terms say which way it should have gone.
    if place > 0 and (
        (rest < 0.0 and partials[place - 1] < 0.0) or (rest > 0.0 and partials[place - 1] > 0.0)
    ):
        doubled = rest * 2.0
        other = total + doubled
        if other - total == doubled:
            total = other
    return total
