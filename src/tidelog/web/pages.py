"""Pages of facts: filtered, sorted and cut out as codes; only what is shown becomes text."""

from collections.abc import Callable, Hashable, Sequence
from typing import Final, Protocol

import numpy as np

from tidelog.dataclass import dataclass
from tidelog.engine.protocol import Codes
from tidelog.program.nodes import Column
from tidelog.values import Codec, Fact
from tidelog.values.order import Packing
from tidelog.views.fact_text import write_fact
from tidelog.web.cache import ArrayCache
from tidelog.web.filters import filter_rows
from tidelog.web.schema import ColumnReply, PageReply, RowReply
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


class Parts(Protocol):
    """Reads facts in parts, in the order in which they are stored, without copying the others."""

    def between(self, first: int, last: int) -> Sequence[Codes]:
        """Return the facts from one place up to another."""

    def at(self, places: Codes) -> Sequence[Codes]:
        """Return the facts at these places."""

    def column(self, number: int) -> Codes:
        """Return one column of all facts."""


@dataclass(frozen=True, slots=True)
class Listing:
    """Facts of an epoch to be paged through: `key` names them, `read` gets their codes when needed."""

    key: tuple[Hashable, ...]
    name: str
    columns: tuple[Column, ...]
    codec: Codec
    size: int
    read: Callable[[], Sequence[Codes]]
    epoch: int
    # Where facts can be read in parts, `read` is for those who need all of them.
    parts: Parts | None = None
    # Says of rows given as codes which may be deleted; None where none may.
    are_inputs: Callable[[Sequence[Codes]], Sequence[bool]] | None = None
    # Writes the facts that a row of an answer stands for; None where a row is a fact itself.
    facts: Callable[[Fact], list[str]] | None = None


class Pager:
    """Cuts pages out of listings; the order of the rows is kept for the next page."""

    def __init__(self, cache: ArrayCache, limits: Limits) -> None:
        self._cache = cache
        self._limits = limits

    def page(self, listing: Listing, request: PageRequest) -> PageReply:
        """Return a page as JSON: its rows as texts, and each fact as it is written in a program.

        `matching` counts the facts that the filters keep; `order` says whether rows are in value
        order, sorted as asked, or as they are stored.
        """
        limit = max(1, min(request.limit, self._limits.page_rows))
        if not listing.columns:
            rows = [self._row(listing, (), [])] * listing.size
            return self._reply(listing, request, listing.size, 0, limit, rows)
        numbers = self.rows(listing, request)
        matching = listing.size if numbers is None else len(numbers)
        offset = _first_row(request, matching, limit)
        stop = min(offset + limit, matching)
        if listing.parts is None:
            shown = slice(offset, stop) if numbers is None else numbers[offset:stop]
            codes = [column[shown] for column in self.columns(listing)]
        elif numbers is None:
            codes = list(listing.parts.between(offset, stop))
        else:
            codes = list(listing.parts.at(numbers[offset:stop]))
        facts, texts = self._decode(listing, codes)
        rows = [self._row(listing, fact, text) for fact, text in zip(facts, texts, strict=True)]
        if listing.are_inputs is not None and rows:
            for row, is_deletable in zip(rows, listing.are_inputs(codes), strict=True):
                row["is_deletable"] = is_deletable
        return self._reply(listing, request, matching, offset, limit, rows)

    def columns(self, listing: Listing) -> Sequence[Codes]:
        """Return the codes of all facts of a listing."""
        if listing.parts is None:
            return self._cache.get(listing.key, listing.read)
        return [self.column(listing, number) for number in range(len(listing.columns))]

    def column(self, listing: Listing, number: int) -> Codes:
        """Return the codes of one column; the others are not read where that can be."""
        parts = listing.parts
        if parts is None:
            return self.columns(listing)[number]
        return self._cache.get((*listing.key, number), lambda: [parts.column(number)])[0]

    def rows(self, listing: Listing, request: PageRequest) -> Codes | None:
        """Return the numbers of the rows asked for, in order; None for all rows as they are stored."""
        sorts = request.sorts or (((0, False),) if _is_small(listing) and listing.columns else ())
        filters = request.filters
        if not sorts and not filters:
            return None
        key = ("rows", listing.key, sorts, filters)
        return self._cache.get(key, lambda: [self._find_rows(listing, sorts, filters)])[0]

    @staticmethod
    def _reply(  # noqa: PLR0913, PLR0917 - what a page consists of
        listing: Listing, request: PageRequest, matching: int, offset: int, limit: int, rows: list[RowReply]
    ) -> PageReply:
        return {
            "relation": listing.name,
            "columns": plain_columns(listing.columns, listing.codec),
            "size": listing.size,
            "matching": matching,
            "offset": offset,
            "limit": limit,
            "order": "sorted" if request.sorts else "value" if _is_small(listing) else "stored",
            "rows": rows,
            "epoch": listing.epoch,
        }

    def _row(self, listing: Listing, fact: Fact, texts: Sequence[str]) -> RowReply:
        most = self._limits.cell_characters
        row: RowReply = {
            "values": [text if len(text) <= most else f"{text[:most]}…" for text in texts],
            "fact": None,
        }
        if listing.facts is not None:
            row["facts"] = [each for each in listing.facts(fact) if self._is_short(each)]
            return row
        # Too long a fact can be looked at but not asked about.
        written = write_fact(listing.name, fact)
        row["fact"] = written if self._is_short(written) else None
        return row

    def _is_short(self, written: str) -> bool:
        return len(written) <= self._limits.fact_characters

    def _find_rows(
        self, listing: Listing, sorts: tuple[tuple[int, bool], ...], filters: tuple[tuple[int, str], ...]
    ) -> Codes:
        codec, types = listing.codec, [column.type for column in listing.columns]
        rows: Codes | None = None

        def codes_of(place: int) -> Codes:
            codes = self.column(listing, place)
            return codes if rows is None else codes[rows]

        for place, text in filters:
            kept = np.flatnonzero(filter_rows(codes_of(place), types[place], text, codec))
            rows = kept if rows is None else rows[kept]
        if sorts:
            # The other columns decide between equals, so that a page is always the same.
            named = {place for place, _ in sorts}
            places = [*sorts, *((place, False) for place in range(len(types)) if place not in named)]
            keys = []
            for place, descends in places:
                key = codec.order_keys(codes_of(place), types[place])
                keys.append(~key if descends else key)
            order = _sort(keys)
            rows = order if rows is None else rows[order]
        assert rows is not None, "rows are looked for only where something is asked of them"
        return rows.astype(np.int32) if rows.size < 1 << 31 and listing.size < 1 << 31 else rows

    @staticmethod
    def _decode(listing: Listing, columns: Sequence[Codes]) -> tuple[list[Fact], list[list[str]]]:
        codec = listing.codec
        pairs = list(zip(columns, listing.columns, strict=True))
        values = [codec.decode_column(codes, column.type) for codes, column in pairs]
        texts = [codec.column_to_text(codes, column.type).to_pylist() for codes, column in pairs]
        return list(zip(*values, strict=True)), [list(each) for each in zip(*texts, strict=True)]


def _first_row(request: PageRequest, matching: int, limit: int) -> int:
    """Return where a page begins; past the end comes the last page."""
    return min(request.offset, max(0, matching - 1) // limit * limit)


def _is_small(listing: Listing) -> bool:
    return listing.size <= _SORTED_UNASKED


def plain_columns(columns: Sequence[Column], codec: Codec) -> list[ColumnReply]:
    """Return columns as JSON: name, type, and the kind of their values."""
    return [
        {"name": column.name, "type": column.type, "kind": codec.resolve(column.type).kind.value}
        for column in columns
    ]


def _sort(keys: Sequence[Codes]) -> Codes:
    """Return the permutation that sorts distinct rows."""
    if not keys[0].size:
        return np.empty(0, dtype=np.int64)
    packing = Packing.of(keys)
    if packing is not None:
        # Rows are distinct, so the sort need not be stable, and this one is the quicker.
        return np.argsort(packing.pack(keys))
    return np.lexsort(tuple(reversed(keys)))
