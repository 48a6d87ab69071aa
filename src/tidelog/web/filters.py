"""Filters as people type them over a column, and the rows they keep."""

import re
from collections.abc import Callable
from typing import Final

import numpy as np
import numpy.typing as npt

from tidelog.engine.protocol import Codes
from tidelog.values import Codec, Kind
from tidelog.values.arrow import pa, pc
from tidelog.values.text import TextError
from tidelog.web.replies import mistake

Mask = npt.NDArray[np.bool_]

_COMPARISON: Final = re.compile(r"(<=|>=|!=|<|>|=)\s*(.*)", re.DOTALL)
_RANGE: Final = re.compile(r"(.+?)\.\.(.+)", re.DOTALL)
_ORDERS: Final[dict[str, Callable[[Codes, int], Mask]]] = {
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
    "=": np.equal,
    "!=": np.not_equal,
}


def filter_rows(codes: Codes, type_name: str, text: str, codec: Codec) -> Mask:
    """Return which rows a filter keeps.

    On numbers: `5`, `!=5`, `<5`, `>=5`, `1..9`. On everything else: a part of the text whatever its
    case, `=text` for exactly that text, `!=text` for any other, `!part` for texts without it.
    """
    kind = codec.resolve(type_name).kind
    if kind in (Kind.NUMBER, Kind.UNSIGNED, Kind.FLOAT):
        return _filter_numbers(codes, type_name, text.strip(), codec)
    if kind is Kind.SYMBOL:
        if text.startswith(("=", "!=")):
            is_other = text.startswith("!")
            found = codec.symbols.find(text[2:] if is_other else text[1:])
            equal = np.zeros(codes.size, np.bool_) if found is None else codes == found
            return ~equal if is_other else equal
        # Each text is looked at once, however many facts have it.
        texts = codec.symbols.to_arrow(np.arange(len(codec.symbols), dtype=np.int64))
        return _match(texts, text)[codes]
    distinct, inverse = np.unique(codes, return_inverse=True)
    return _match(codec.column_to_text(distinct, type_name), text)[inverse]


def _filter_numbers(codes: Codes, type_name: str, text: str, codec: Codec) -> Mask:
    comparison = _COMPARISON.fullmatch(text)
    between = _RANGE.fullmatch(text)
    if comparison is not None:
        pairs = [(comparison[1], comparison[2])]
    elif between is not None:
        pairs = [(">=", between[1]), ("<=", between[2])]
    else:
        pairs = [("=", text)]
    kept = np.ones(codes.size, np.bool_)
    for sign, word in pairs:
        code = _parse(word.strip(), type_name, codec)
        if codec.resolve(type_name).kind is Kind.NUMBER:
            # The code of a number is the number.
            kept &= _ORDERS[sign](codes, code)
            continue
        # The order of values is that of their keys, and keys of one call can be compared.
        keys = codec.order_keys(np.append(codes, code), type_name)
        kept &= _ORDERS[sign](keys[:-1], int(keys[-1]))
    return kept


def _parse(word: str, type_name: str, codec: Codec) -> int:
    try:
        return codec.parse(word, type_name)
    except TextError as error:
        raise mistake(
            "bad-filter",
            f"`{word[:60]}` is not a value of type `{type_name}`: {error.message}",
            "a filter of numbers is `5`, `!=5`, `<5`, `>=5` or `1..9`",
        ) from error


def _match(texts: "pa.Array", text: str) -> Mask:
    """Say of each text whether the filter keeps it."""
    if text.startswith(("=", "!=")):
        is_other = text.startswith("!")
        equal = pc.equal(texts, text[2:] if is_other else text[1:])
        found: Mask = np.asarray(equal.to_numpy(zero_copy_only=False), dtype=np.bool_)
        return ~found if is_other else found
    is_without = text.startswith("!")
    part = pc.match_substring(texts, text.removeprefix("!"), ignore_case=True)
    mask: Mask = np.asarray(part.to_numpy(zero_copy_only=False), dtype=np.bool_)
    return ~mask if is_without else mask
