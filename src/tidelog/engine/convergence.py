"""When a stratum is considered to reach no fixpoint."""

from collections.abc import Callable

from tidelog.engine.protocol import Settings
from tidelog.errors import Diagnostic, TidelogError
from tidelog.program.nodes import Program, Stratum

# A lattice whose values improve in each of this many iterations, and this many more for each fact, is
# assumed to improve for ever: a best path is no longer than the number of nodes.
_LATTICE_ITERATIONS = 10_000
_ITERATIONS_PER_FACT = 4


def check_convergence(
    iteration: int, stratum: Stratum, program: Program, settings: Settings, facts: int
) -> None:
    """Raise a diagnostic if a stratum has run for more iterations than it may.

    The settings say how many; without a setting only strata with a lattice have a bound, since their
    values may improve for ever without a single new key.
    """
    check_iterations(iteration, stratum, settings)
    if settings.iteration_limit is not None or iteration <= allowed_iterations(facts):
        return
    if program.has_lattice(stratum):
        raise TidelogError([endless(stratum)])


def allowed_iterations(facts: int) -> int:
    """Return how many iterations a stratum with a lattice may take, if it has so many facts."""
    return _LATTICE_ITERATIONS + _ITERATIONS_PER_FACT * facts


def is_full(stratum: Stratum, program: Program, size: Callable[[str], int]) -> bool:
    """Say whether a relation of the stratum has reached its size limit."""
    limits = ((name, program.relations[name].size_limit) for name in stratum.relations)
    return any(limit is not None and size(name) >= limit for name, limit in limits)


def iterations_to(level: int, stratum: Stratum) -> int:
    """Return how many iterations a stratum takes if this is the highest level of its facts.

    A recursive stratum takes one more, which finds nothing new.
    """
    return level + 1 if stratum.is_recursive else level


def check_iterations(iteration: int, stratum: Stratum, settings: Settings) -> None:
    """Raise a diagnostic if a stratum has run for more iterations than the settings allow."""
    limit = settings.iteration_limit
    if limit is not None and iteration > limit:
        names = ", ".join(f"`{name}`" for name in stratum.relations)
        message = f"{names} reached no fixpoint within {limit} iterations"
        hint = "bound the values the rules can make"
        raise TidelogError([Diagnostic(code="iteration-limit", message=message, hint=hint)])


def endless(stratum: Stratum) -> Diagnostic:
    """Return the diagnostic for values that improve for ever."""
    names = ", ".join(f"`{name}`" for name in stratum.relations)
    recursive = [rule for rule in stratum.rules if rule.body]
    return Diagnostic(
        code="no-convergence",
        message=f"the values of {names} improve for ever along a cycle, so there is no best one",
        span=recursive[-1].span if recursive else None,
        hint="bound the values by a constraint, or delete the facts of the cycle, such as negative weights; "
        "`iteration_limit` allows more iterations",
    )
