"""Variables that occur once are probably misspelt."""

from collections import Counter
from collections.abc import Iterator

from tidelog.errors import Diagnostic, Severity
from tidelog.program.draft import Draft
from tidelog.syntax import tree
from tidelog.syntax.walk_tree import deep_variables


def check_single_variables(draft: Draft) -> Iterator[Diagnostic]:
    """Yield a warning for each variable that occurs once in its rule as written.

    Names that start with `_` say that this is meant.
    """
    for item in draft.items:
        if not isinstance(item, tree.Rule | tree.Subsumption):
            continue
        variables = list(deep_variables((item,)))
        times = Counter(variable.name for variable in variables)
        for variable in variables:
            if times[variable.name] == 1 and not variable.name.startswith("_"):
                yield Diagnostic(
                    code="single-variable",
                    message=f"`{variable.name}` occurs once in this rule",
                    span=variable.span,
                    hint=f"write `_` or `_{variable.name}` if any value will do",
                    severity=Severity.WARNING,
                )
