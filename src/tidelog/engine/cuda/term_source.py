"""Terms and comparisons over codes as C expressions, meaning what `values.functors` says."""

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from tidelog.program import nodes
from tidelog.values import Kind
from tidelog.values.codec import Codec

_N, _U, _F = Kind.NUMBER, Kind.UNSIGNED, Kind.FLOAT

# Arithmetic is on unsigned words, which wrap.
_WRAPPED: Final[Mapping[str, str]] = {
    "+": "(i64)((u64){0} + (u64){1})",
    "-": "(i64)((u64){0} - (u64){1})",
    "*": "(i64)((u64){0} * (u64){1})",
    "neg": "(i64)(0 - (u64){0})",
    "band": "({0} & {1})",
    "bor": "({0} | {1})",
    "bxor": "({0} ^ {1})",
    "bnot": "(~{0})",
    "bshl": "(i64)((u64){0} << ({1} & 63))",
    "bshru": "(i64)((u64){0} >> ({1} & 63))",
    "land": "(i64)({0} != 0 && {1} != 0)",
    "lor": "(i64)({0} != 0 || {1} != 0)",
    "lxor": "(i64)(({0} != 0) != ({1} != 0))",
    "lnot": "(i64)({0} == 0)",
}
_TOTAL: Final[Mapping[tuple[str, Kind], str]] = {
    **{(name, kind): text for name, text in _WRAPPED.items() for kind in (_N, _U)},
    **{(name, kind): "{0}" for name in ("ord", "to_number", "to_unsigned") for kind in (_N, _U)},
    ("ord", _F): "{0}",
    ("itou", _N): "{0}",
    ("utoi", _U): "{0}",
    ("to_float", _F): "{0}",
    ("bshr", _N): "({0} >> ({1} & 63))",
    ("bshr", _U): "(i64)((u64){0} >> ({1} & 63))",
    ("^", _U): "power({0}, {1})",
    **{(op, _F): f"float_code(float_of({{0}}) {op} float_of({{1}}))" for op in ("+", "-", "*", "/")},
    ("neg", _F): "float_code(-float_of({0}))",
    **{(name, _N): "float_code((double){0})" for name in ("itof", "to_float")},
    **{(name, _U): "float_code((double)(u64){0})" for name in ("utof", "to_float")},
}
# What a functor without a value for all operands is, and when it has one.
_PARTIAL: Final[Mapping[tuple[str, Kind], tuple[str, str]]] = {
    # The least number divided by -1 does not fit; it wraps to itself.
    ("/", _N): ("({1} == -1 ? (i64)(0 - (u64){0}) : {0} / {1})", "{1} != 0"),
    ("%", _N): ("({1} == -1 ? 0 : {0} % {1})", "{1} != 0"),
    ("/", _U): ("(i64)((u64){0} / (u64){1})", "{1} != 0"),
    ("%", _U): ("(i64)((u64){0} % (u64){1})", "{1} != 0"),
    ("^", _N): ("power({0}, {1})", "{1} >= 0"),
    **{
        (name, _F): (
            "(i64)float_of({0})",
            "trunc(float_of({0})) >= -9223372036854775808.0 && trunc(float_of({0})) < 9223372036854775808.0",
        )
        for name in ("ftoi", "to_number")
    },
    **{
        (name, _F): (
            "(i64)(u64)float_of({0})",
            "trunc(float_of({0})) >= 0.0 && trunc(float_of({0})) < 18446744073709551616.0",
        )
        for name in ("ftou", "to_unsigned")
    },
}
_ORDERED: Final[Mapping[Kind, str]] = {_N: "{}", _U: "(u64){}", _F: "float_order({})"}
# Floats are compared as floats, not by their order: NaN is neither below nor above nor equal.
_COMPARED: Final[Mapping[Kind, str]] = {_N: "{}", _U: "(u64){}", _F: "float_of({})"}
_EXTREMES: Final[Mapping[str, str]] = {"min": "<", "max": ">"}
# What aggregates begin with, how a value joins, and whether an empty body has a result.
AGGREGATES: Final = frozenset({("count", kind) for kind in Kind}) | {
    (functor, kind)
    for functor, kinds in (("sum", (_N, _U)), ("min", (_N, _U, _F)), ("max", (_N, _U, _F)))
    for kind in kinds
}


def is_known(term: nodes.Application) -> bool:
    """Say whether a functor can be written as an expression over codes."""
    key = (term.functor, term.kind)
    return key in _TOTAL or key in _PARTIAL or (term.functor in _EXTREMES and term.kind in _ORDERED)


class TermSource:
    """Writes terms as expressions; `names` gives the variables in C, and `fail` leaves without a value.

    Statements that must come before an expression are appended to `lines`.
    """

    def __init__(self, codec: Codec, name: Callable[[str], str], lines: list[str]) -> None:
        self._codec = codec
        self._name = name
        self._lines = lines

    def term(self, term: nodes.Term) -> str:
        """Return an expression for the code of a term; a binding without a value returns before it."""
        match term:
            case nodes.Variable():
                return self._name(term.name)
            case nodes.Constant():
                return literal(self._codec.encode(term.value, term.type))
            case nodes.Application():
                return self._application(term)
            case _:
                raise AssertionError(f"{type(term).__name__} is not placed on the device")

    def _application(self, term: nodes.Application) -> str:
        operands = [self._operand(operand) for operand in term.terms]
        key = (term.functor, term.kind)
        if key in _TOTAL:
            return _TOTAL[key].format(*operands)
        if key in _PARTIAL:
            value, condition = _PARTIAL[key]
            self._lines.append(f"if (!({condition.format(*operands)})) return;")
            return value.format(*operands)
        return self._extreme(term, operands)

    def _operand(self, term: nodes.Term) -> str:
        """Return a name or a literal, so that an operand that is named twice is computed once."""
        text = self.term(term)
        if isinstance(term, nodes.Variable | nodes.Constant):
            return text
        name = f"t{len(self._lines)}"
        self._lines.append(f"i64 {name} = {text};")
        return name

    def _extreme(self, term: nodes.Application, operands: Sequence[str]) -> str:
        first, *others = operands
        name = f"t{len(self._lines)}"
        order = _ORDERED[term.kind]
        self._lines.append(f"i64 {name} = {first};")
        for other in others:
            is_better = f"{order.format(other)} {_EXTREMES[term.functor]} {order.format(name)}"
            self._lines.append(f"if ({is_better}) {name} = {other};")
        return name


def comparison(op: str, kind: Kind, left: str, right: str) -> str:
    """Return a condition over codes."""
    if op in ("=", "!="):
        # Equal values have equal codes, whatever the kind.
        return f"{left} {'==' if op == '=' else '!='} {right}"
    compared = _COMPARED[kind]
    return f"{compared.format(left)} {op} {compared.format(right)}"


def literal(code: int) -> str:
    """Return a code in C; the least number cannot be written as one."""
    return f"(i64){code % (1 << 64)}ull"


def joined(functor: str, kind: Kind, value: str) -> str:
    """Return the statement by which a value of an aggregate's body joins its result."""
    match functor:
        case "count":
            return "result.value++;"
        case "sum":
            return f"result.value = (i64)((u64)result.value + (u64){value});"
        case _:
            order = _ORDERED[kind]
            is_better = f"{order.format(value)} {_EXTREMES[functor]} {order.format('result.value')}"
            return f"if (!result.count || {is_better}) result.value = {value};"


def range_loop(kind: Kind, start: str, stop: str, step: str | None, call: str) -> list[str]:
    """Return the loop over a range of integers, which ends where the next one would not fit."""
    code = "u64" if kind is _U else "i64"
    is_down = "at > end" if step is None else ("false" if kind is _U else f"{step} < 0")
    by = f"is_down ? ({code})-1 : 1" if step is None else f"({code}){step}"
    return [
        f"{code} at = ({code}){start}, end = ({code}){stop};",
        f"bool is_down = {is_down};",
        f"{code} by = {by};",
        "while (is_down ? at > end : by ? at < end : at != end) {",
        f"    {call}",
        f"    {code} next = ({code})((u64)at + (u64)by);",
        "    if (next == at || (is_down ? next > at : next < at)) break;",
        "    at = next;",
        "}",
    ]
