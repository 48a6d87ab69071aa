"""Pages of facts: filtered, sorted and cut out as codes; only what is shown becomes text."""

from collections.abc import Callable, Hashable, Sequence
from typing import Final

import numpy as np

from tidelog.dataclass import dataclass
from tidelog.engine.protocol import Codes
from tidelog.program.nodes import Column
from tidelog.values import Codec, Fact
from tidelog.values.order import Packing
from tidelog.views.fact_text import write_fact
from tidelog.web.cache import ArrayCache
from tidelog.web.filters import filter_rows
from tidelog.web.replies import Plain
from tidelog.web.settings import Limits

# Up to so many facts are shown in value order by default: sorting them takes no time.
_SORTED_UNASKED: Final = 200_000


@dataclass(frozen=True, slots=True)
class PageRequest:
    """Which facts to show: `sorts` are columns and whether each descends, `filters` columns and texts."""

    offset: int = 0
    limit: int = 100
    sorts: tuple[tuple[int, bool], ...] = ()
    filters: tuple[tuple[int, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Listing:
    """Facts of an epoch to be paged through: `key` names them, `read` gets their codes when needed."""

    key: Hashable
    name: str
    columns: tuple[Column, ...]
    codec: Codec
    size: int
    read: Callable[[], Sequence[Codes]]
    epoch: int


class Pager:
    """Cuts pages out of listings; the order of the rows is kept for the next page."""

    def __init__(self, cache: ArrayCache, limits: Limits) -> None:
        self._cache = cache
        self._limits = limits

    def page(self, listing: Listing, request: PageRequest) -> Plain:
        """Return a page as JSON: its rows as texts, and each fact as it is written in a program.

        `matching` counts the facts that the filters keep; `order` says whether rows are in value
        order, sorted as asked, or as they are stored.
        """
        limit = max(1, min(request.limit, self._limits.page_rows))
        is_small = listing.size <= _SORTED_UNASKED
        sorts = request.sorts or (((0, False),) if is_small and listing.columns else ())
        order = "sorted" if request.sorts else "value" if is_small else "stored"
        if not listing.columns:
            facts: list[Fact] = [()] * listing.size
            matching, offset, texts = listing.size, 0, [list[str]()] * listing.size
        else:
            columns = self._cache.get(listing.key, listing.read)
            rows = self._rows(listing, columns, sorts, request.filters)
            matching = listing.size if rows is None else len(rows)
            offset = min(request.offset, max(0, matching - 1) // limit * limit)
            shown = np.arange(offset, min(offset + limit, matching)) if rows is None else rows
            if rows is not None:
                shown = rows[offset : offset + limit]
            facts, texts = self._decode(listing, [column[shown] for column in columns])
        return {
            "relation": listing.name,
            "columns": plain_columns(listing.columns, listing.codec),
            "size": listing.size,
            "matching": matching,
            "offset": offset,
            "limit": limit,
            "order": order,
            "rows": [self._row(listing.name, fact, text) for fact, text in zip(facts, texts, strict=True)],
        }

    def _row(self, name: str, fact: Fact, texts: Sequence[str]) -> Plain:
        most = self._limits.cell_characters
        written = write_fact(name, fact)
        row: dict[str, object] = {
            "values": [text if len(text) <= most else f"{text[:most]}…" for text in texts]
        }
        # Too long a fact can be looked at but not asked about.
        row["fact"] = written if len(written) <= self._limits.fact_characters else None
        return row

    def _rows(
        self,
        listing: Listing,
        columns: Sequence[Codes],
        sorts: tuple[tuple[int, bool], ...],
        filters: tuple[tuple[int, str], ...],
    ) -> Codes | None:
        """Return the numbers of the rows to show, in order; None for all rows as they are."""
        if not sorts and not filters:
            return None
        key = ("rows", listing.key, sorts, filters)
        return self._cache.get(key, lambda: [_find_rows(listing, columns, sorts, filters)])[0]

    @staticmethod
    def _decode(listing: Listing, columns: Sequence[Codes]) -> tuple[list[Fact], list[list[str]]]:
        codec = listing.codec
        pairs = list(zip(columns, listing.columns, strict=True))
        values = [codec.decode_column(codes, column.type) for codes, column in pairs]
        texts = [codec.column_to_text(codes, column.type).to_pylist() for codes, column in pairs]
        return list(zip(*values, strict=True)), [list(each) for each in zip(*texts, strict=True)]


def plain_columns(columns: Sequence[Column], codec: Codec) -> list[Plain]:
    """Return columns as JSON: name, type, and the kind of their values."""
    return [
        {"name": column.name, "type": column.type, "kind": codec.resolve(column.type).kind.value}
        for column in columns
    ]


def _find_rows(
    listing: Listing,
    columns: Sequence[Codes],
    sorts: tuple[tuple[int, bool], ...],
    filters: tuple[tuple[int, str], ...],
) -> Codes:
    codec, types = listing.codec, [column.type for column in listing.columns]
    rows: Codes | None = None
    for place, text in filters:
        codes = columns[place] if rows is None else columns[place][rows]
        kept = np.flatnonzero(filter_rows(codes, types[place], text, codec))
        rows = kept if rows is None else rows[kept]
    if sorts:
        # The other columns decide between equals, so that a page is always the same.
        named = {place for place, _ in sorts}
        places = [*sorts, *((place, False) for place in range(len(columns)) if place not in named)]
        keys = []
        for place, descends in places:
            key = codec.order_keys(columns[place] if rows is None else columns[place][rows], types[place])
            keys.append(~key if descends else key)
        order = _sort(keys)
        rows = order if rows is None else rows[order]
    assert rows is not None, "rows are looked for only where something is asked of them"
    return rows.astype(np.int32) if rows.size < 1 << 31 and listing.size < 1 << 31 else rows


def _sort(keys: Sequence[Codes]) -> Codes:
    """Return the permutation that sorts distinct rows."""
    if not keys[0].size:
        return np.empty(0, dtype=np.int64)
    packing = Packing.of(keys)
    if packing is not None:
        # Rows are distinct, so the sort need not be stable, and this one is the quicker.
        return np.argsort(packing.pack(keys))
    return np.lexsort(tuple(reversed(keys)))
