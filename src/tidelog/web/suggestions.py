"""Values to offer while somebody types a fact."""

from typing import Final

import numpy as np

from tidelog.engine.protocol import Codes
from tidelog.values import Codec, Kind
from tidelog.values.arrow import pc

# Numbers are offered from the first facts: whoever types one mostly knows it.
_LOOKED_AT: Final = 100_000
# So many texts are put in order; more match only a text that is too short to mean anything.
_MOST_MATCHES: Final = 20_000


def suggest_values(codes: Codes, type_name: str, typed: str, codec: Codec, most: int) -> list[str]:
    """Return values of a column that begin with what was typed, then those that contain it."""
    kind = codec.resolve(type_name).kind
    if kind is Kind.SYMBOL:
        return _suggest_texts(codes, typed, codec, most)
    distinct = np.unique(codes[:_LOOKED_AT])
    distinct = distinct[np.argsort(codec.order_keys(distinct, type_name))]
    texts = codec.column_to_text(distinct, type_name).to_pylist()
    beginning = [text for text in texts if text.startswith(typed)]
    return beginning[:most]


def _suggest_texts(codes: Codes, typed: str, codec: Codec, most: int) -> list[str]:
    symbols = codec.symbols
    occurs = np.zeros(len(symbols), np.bool_)
    occurs[codes] = True
    known = np.flatnonzero(occurs)
    texts = symbols.to_arrow(known)
    if typed:
        found = pc.match_substring(texts, typed, ignore_case=True)
        known = known[np.asarray(found.to_numpy(zero_copy_only=False), dtype=np.bool_)]
    low = typed.lower()
    matches = symbols.decode(known[:_MOST_MATCHES])
    return sorted(matches, key=lambda text: (not text.lower().startswith(low), text))[:most]
