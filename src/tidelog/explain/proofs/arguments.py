"""The arguments of questions about a fact, checked together before anything is searched for."""

from tidelog.errors import Diagnostic, TidelogError
from tidelog.errors.arguments import Arguments, described, is_whole
from tidelog.explain.proofs.metric import Metric
from tidelog.explain.proofs.semiring import Semiring


def check_why(depth: int | None, metric: object) -> None:
    """Raise all that is wrong with the arguments of `why`."""
    check_numbers(depth, None)
    with Arguments() as arguments:
        is_right = metric is None or isinstance(metric, str | Metric)
        arguments.expect("metric", metric, "a name or a Metric", is_right=is_right)


def check_annotate(semiring: object, leaf: object, cycles: object) -> None:
    """Raise all that is wrong with the arguments of `annotate`."""
    with Arguments() as arguments:
        is_right = isinstance(semiring, str | Semiring)
        arguments.expect("semiring", semiring, "a name or a Semiring", is_right=is_right)
        arguments.function("leaf", leaf, is_optional=True)
        is_right = cycles in ("refuse", "levels")
        arguments.expect("cycles", cycles, "'refuse' or 'levels'", is_right=is_right)


def check_why_not(*, depth: int | None, limit: int | None, guided: bool) -> None:
    """Raise all that is wrong with the arguments of `why_not`."""
    check_numbers(depth, limit)
    with Arguments() as arguments:
        arguments.flag("guided", guided)
        arguments.expect("depth", depth, "a whole number", is_right=depth is not None)
        arguments.expect("limit", limit, "a whole number", is_right=limit is not None)
        arguments.refuse(
            if_any={"depth": guided is True and depth != 1, "limit": guided is True and limit != 3},
            because="`guided` lets you choose the rule and the values yourself",
        )


def check_numbers(depth: int | None, limit: int | None) -> None:
    """Raise if a depth or a limit is not a number that makes sense."""
    found = []
    if depth is not None and not (is_whole(depth) and depth >= 0):
        hint = "give a number from 0 on, or None for all the way"
        message = f"{described(depth)} is not a valid depth"
        found.append(Diagnostic(code="bad-depth", message=message, hint=hint))
    if limit is not None and not (is_whole(limit) and limit >= 1):
        message = f"{described(limit)} is not a number of answers"
        hint = "give a whole number of at least 1"
        found.append(Diagnostic(code="bad-limit", message=message, hint=hint))
    if found:
        raise TidelogError(found)
