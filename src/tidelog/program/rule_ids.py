"""Ids for the rules that passes make."""

from itertools import count

from tidelog.program.nodes import Program, RuleId


class RuleIds:
    """Gives ids that no rule and no subsumption of the program has, each once."""

    def __init__(self, program: Program) -> None:
        taken = [rule.id for rule in program.rules] + [each.id for each in program.subsumptions]
        self._free = count(max(taken, default=-1) + 1)

    def take(self) -> RuleId:
        """Return an id that was not given yet."""
        return RuleId(next(self._free))
