"""Columns of what has names (a header, a frame, a table) as the columns of a relation."""

from collections.abc import Sequence

from tidelog.program.suggest import counted


class ColumnNamesError(ValueError):
    """The names do not say which column is which."""

    def __init__(self, code: str, message: str, hint: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.hint = hint


def match_columns(found: Sequence[str], wanted: Sequence[str]) -> tuple[int, ...]:
    """Return where each wanted column is among the columns found.

    By name if the names are the same, in any order; by position if no name is the same. Anything
    in between raises `ColumnNamesError`: a column that is taken by position under the name of
    another one gives other facts.

        match_columns(["y", "x"], ["x", "y"])  # (1, 0)
        match_columns(["from", "to"], ["x", "y"])  # (0, 1)
    """
    shared = [name for name in wanted if name in found]
    if len(found) != len(wanted):
        message = f"{_columns(found)} where {_columns(wanted)} should be"
        raise ColumnNamesError("wrong-column-count", message, f"give {', '.join(wanted) or 'no columns'}")
    if not shared:
        _check_case(found, wanted)
        return tuple(range(len(wanted)))
    if len(shared) == len(wanted) and len(set(found)) == len(found):
        return tuple(found.index(name) for name in wanted)
    missing = [name for name in wanted if name not in found]
    unknown = [name for name in dict.fromkeys(found) if name not in wanted]
    twice = [name for name in dict.fromkeys(found) if list(found).count(name) > 1]
    parts = [f"{_listed(shared)} {'is a column' if len(shared) == 1 else 'are columns'} of the relation"]
    parts += [f"{_listed(unknown)} {'is' if len(unknown) == 1 else 'are'} not"] if unknown else []
    parts += [f"{_listed(twice)} {'occurs' if len(twice) == 1 else 'occur'} twice"] if twice else []
    parts += [f"{_listed(missing)} {'is' if len(missing) == 1 else 'are'} missing"] if missing else []
    hint = f"name the columns {', '.join(wanted)}, or give none of them these names to take them by position"
    raise ColumnNamesError("column-names", ", ".join(parts), hint)


def _check_case(found: Sequence[str], wanted: Sequence[str]) -> None:
    """Refuse to take columns by position where names that differ in case alone say another order."""
    folded = [name.casefold() for name in wanted]
    for place, name in enumerate(found):
        if name.casefold() in folded and folded[place] != name.casefold():
            other = wanted[folded.index(name.casefold())]
            message = (
                f"`{name}` is in the place of `{wanted[place]}`, and differs from `{other}` in case only"
            )
            raise ColumnNamesError("column-names", message, f"name the columns {', '.join(wanted)}")


def _columns(names: Sequence[str]) -> str:
    shown = ", ".join(names[:10]) + (", ..." if len(names) > 10 else "")
    return counted(len(names), "column") + (f" ({shown})" if names else "")


def _listed(names: Sequence[str]) -> str:
    quoted = [f"`{name}`" for name in names[:10]] + (["..."] if len(names) > 10 else [])
    return quoted[0] if len(quoted) == 1 else ", ".join(quoted[:-1]) + " and " + quoted[-1]
