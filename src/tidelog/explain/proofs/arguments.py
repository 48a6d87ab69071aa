"""The arguments of `why` and `why_not`, checked together before anything is searched for."""

from tidelog.errors import Diagnostic, TidelogError
from tidelog.errors.arguments import Arguments, described, is_whole
from tidelog.explain.proofs.metric import Metric
from tidelog.explain.proofs.semiring import Semiring


def check_why(  # noqa: PLR0913 - those of `Session.why`
    *,
    depth: int | None,
    metric: object,
    all: bool,  # noqa: A002 - as there
    limit: int | None,
    semiring: object,
    leaf: object,
    cycles: str,
) -> None:
    """Raise all that is wrong with the arguments of `why`."""
    _check_numbers(depth, limit)
    with Arguments() as arguments:
        arguments.flag("all", all)
        arguments.function("leaf", leaf, is_optional=True)
        _check_metric(arguments, metric)
        _check_semiring(arguments, semiring)
        arguments.expect("cycles", cycles, "'refuse' or 'levels'", is_right=cycles in ("refuse", "levels"))
        if semiring is not None:
            arguments.refuse(
                if_any={
                    "depth": depth is not None, "metric": metric is not None, "all": all is True,
                    "limit": limit is not None,
                },
                because="a semiring gives one annotation over all proofs",
            )  # fmt: skip
        else:
            only = "it is for `semiring`"
            arguments.refuse(if_any={"leaf": leaf is not None, "cycles": cycles == "levels"}, because=only)
            arguments.refuse(if_any={"limit": limit is not None and not all}, because="it is for `all`")
            arguments.refuse(
                if_any={"metric": metric is not None and all is True},
                because="`all` gives every derivation, not the smallest",
            )


def check_why_not(*, depth: int | None, limit: int | None, guided: bool) -> None:
    """Raise all that is wrong with the arguments of `why_not`."""
    _check_numbers(depth, limit)
    with Arguments() as arguments:
        arguments.flag("guided", guided)
        arguments.expect("depth", depth, "a whole number", is_right=depth is not None)
        arguments.expect("limit", limit, "a whole number", is_right=limit is not None)
        arguments.refuse(
            if_any={"depth": guided is True and depth != 1, "limit": guided is True and limit != 3},
            because="`guided` lets you choose the rule and the values yourself",
        )


def _check_metric(arguments: Arguments, metric: object) -> None:
    if metric is not None and not isinstance(metric, str):
        arguments.expect("metric", metric, "a name or a Metric", is_right=isinstance(metric, Metric))


def _check_semiring(arguments: Arguments, semiring: object) -> None:
    if semiring is not None and not isinstance(semiring, str):
        arguments.expect(
            "semiring", semiring, "a name or a Semiring", is_right=isinstance(semiring, Semiring)
        )


def _check_numbers(depth: int | None, limit: int | None) -> None:
    """Raise if a depth or a limit is not a number that makes sense."""
    found = []
    if depth is not None and not (is_whole(depth) and depth >= 0):
        hint = "give a number from 0 on, or None for all the way"
        message = f"{described(depth)} is not a valid depth"
        found.append(Diagnostic(code="bad-depth", message=message, hint=hint))
    if limit is not None and not (is_whole(limit) and limit >= 1):
        message = f"{described(limit)} is not a number of answers"
        found.append(Diagnostic(code="bad-limit", message=message))
    if found:
        raise TidelogError(found)
