# ruff: noqa: INP001 - a file that is read by its path, no package
"""The lattice of types.dl: sets of up to three types such as "int|str"; "?" is above all of them."""

from tidelog.values import NoValueError

_ANY = "?"
_MOST = 3
_NUMBERS = ("bool", "int", "float", "complex")
_SEQUENCES = ("str", "bytes", "list", "tuple")
_SETS = {"Sub", "BitOr", "BitAnd", "BitXor"}
_WHOLE = {"LShift", "RShift", "BitOr", "BitAnd", "BitXor"}


def union(x: str, y: str) -> str:
    """Return the types of both sets, or any type if there are too many."""
    if _ANY in (x, y):
        return _ANY
    types = {*x.split("|"), *y.split("|")}
    return _ANY if len(types) > _MOST else "|".join(sorted(types))


def operate(operator: str, x: str, y: str) -> str:
    """Return the types that the result of an operator may have; there is none if it always fails."""
    found = _results(operator, x, y)
    if not found:
        raise NoValueError
    return _ANY if _ANY in found or len(found) > _MOST else "|".join(sorted(found))


def fails(operator: str, x: str, y: str) -> int:
    """Return 1 if an operator takes no type of the first set together with one of the second."""
    return int(not _results(operator, x, y))


def _results(operator: str, x: str, y: str) -> set[str]:
    if _ANY in (x, y):
        return {_ANY}
    pairs = ((left, right) for left in x.split("|") for right in y.split("|"))
    return {result for pair in pairs for result in _result(operator, *pair)}


def _result(operator: str, left: str, right: str) -> set[str]:
    """Return the types of the result for two types, nothing if they do not go together."""
    if left in _NUMBERS and right in _NUMBERS:
        return _of_numbers(operator, left, right)
    if operator == "Add" and left == right and left in _SEQUENCES:
        return {left}
    if operator == "Mult" and left in _SEQUENCES and right in ("int", "bool"):
        return {left}
    if operator == "Mult" and right in _SEQUENCES and left in ("int", "bool"):
        return {right}
    if operator == "Mod" and left in ("str", "bytes"):
        return {left}
    if left == right == "set" and operator in _SETS:
        return {"set"}
    return {"dict"} if left == right == "dict" and operator == "BitOr" else set()


def _of_numbers(operator: str, left: str, right: str) -> set[str]:
    wider = max(left, right, key=_NUMBERS.index)
    if operator in _WHOLE:
        is_whole = wider in ("bool", "int")
        keeps_bool = wider == "bool" and operator.startswith("Bit")
        return {"bool" if keeps_bool else "int"} if is_whole else set()
    if operator == "MatMult" or (wider == "complex" and operator in ("FloorDiv", "Mod")):
        return set()
    if operator == "Pow" and wider != "complex":
        # Of a negative number or to a negative power it may be another one.
        return {"int", "float"} if wider in ("bool", "int") else {"float", "complex"}
    if operator == "Div" and wider in ("bool", "int"):
        return {"float"}
    return {"int" if wider == "bool" else wider}
