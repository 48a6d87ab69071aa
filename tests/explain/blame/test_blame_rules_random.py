"""Blame and repair of random epochs in which rules came and went, against the reference engine."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from hypothesis import assume, given, settings
from hypothesis import strategies as st

import tidelog
from support.epochs import examples
from support.epochs_programs import AGGREGATES, LAWS, tangled_epochs, tangled_programs
from support.explanations_oracle import Change, Faults, Worlds, check_faults, differences
from support.fault_cases import functions_of
from support.programs import Relations, build
from support.strategies import RandomProgram
from tidelog.source import Source
from tidelog.syntax import parse, print_node

_PROGRAMS = tangled_programs(special=LAWS, aggregates=AGGREGATES)


@dataclass
class RuleWorlds(Worlds):
    """Worlds in which rules are there or not: a rule is a fact of the relation without a name."""

    lines: tuple[str, ...] = ()

    def world(self, applied: Iterable[Change]) -> Relations | None:
        """Return the older epoch with some of the changes of facts and rules."""
        chosen = frozenset(applied)
        if chosen not in self.known:
            lines = list(self.lines)
            for _, (rule, *_), is_insert in (change for change in chosen if not change[0]):
                lines.append(str(rule)) if is_insert else lines.remove(str(rule))
            facts = Worlds(build("\n".join(lines)), self.before, (), self.functions)
            self.known[chosen] = facts.world(change for change in chosen if change[0])
        return self.known[chosen]


def _split(program: RandomProgram) -> tuple[list[str], list[str]]:
    """Return the lines of a program that are rules, as the session writes them, and the others."""
    rules: list[str] = []
    others: list[str] = []
    for line in program.text.splitlines():
        if ":-" in line and "<=" not in line.partition(":-")[0]:
            rules.append(print_node(parse(Source("line", line)).items[0]))
        else:
            others.append(line)
    return rules, others


@settings(max_examples=examples(12), deadline=None)
@given(st.data())
def test_rules_are_suspects_like_facts(data: Any) -> None:
    """Changes of rules and facts are blamed and taken back together, as exhaustive search does."""
    program = data.draw(_PROGRAMS)
    rules, others = _split(program)
    changed = data.draw(st.lists(st.sampled_from(rules), unique=True, min_size=1, max_size=2))
    assume(all(rules.count(rule) == 1 for rule in changed))
    added = changed[: data.draw(st.integers(0, len(changed)))]
    removed = [rule for rule in changed if rule not in added]
    epoch = data.draw(tangled_epochs(program, max_epochs=1))[0]
    before = (*others, *(rule for rule in rules if rule not in added))
    after = {
        name: (set(facts) - set(epoch.deletes[name])) | set(epoch.inserts[name])
        for name, facts in program.inputs.items()
    }
    changes = differences(program.inputs, after)
    assume(len(changes) <= 3)
    suspects = (*changes, *(("", (rule,), rule in added) for rule in changed))
    functions = functions_of(program)
    worlds = RuleWorlds(build(program.text), program.inputs, suspects, functions, lines=before)
    assume(worlds.world(()) is not None and worlds.world(suspects) is not None)
    with tidelog.open("\n".join(before), facts=dict(program.inputs), functions=functions) as db:
        delta = db.apply(
            insert=dict(epoch.inserts),
            delete=dict(epoch.deletes),
            add_rules="\n".join(added) or None,
            remove_rules=removed or None,
        )
        sides = [
            [(name, fact) for name in delta for fact in side(delta[name])]
            for side in (lambda each: each.inserted, lambda each: each.deleted)
        ]
        assume(any(sides))
        unwanted, missing = (
            tuple(data.draw(st.lists(st.sampled_from(side), unique=True, max_size=2))) if side else ()
            for side in sides
        )
        assume(unwanted or missing)

        check_faults(db, Faults(unwanted, missing), worlds)
