"""Random programs and epochs: every strategy arrives where evaluation from nothing does.

After each epoch the relations are the reference engine's, the returned delta is exactly the
difference, and levels and counts are those that brute force finds.
"""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.epochs import STRATEGIES, each_strategy, examples, follow
from support.epochs_programs import SPECIAL, tangled_epochs, tangled_programs
from support.strategies import RandomEpoch, RandomProgram, dense_programs, epochs, programs
from tidelog.engine.epoch import Strategy


def _changes(drawn: list[RandomEpoch]):
    return [(epoch.inserts, epoch.deletes) for epoch in drawn]


def check_strategy(strategy: Strategy, program: RandomProgram, drawn: list[RandomEpoch]) -> None:
    """Take a program through its epochs by one strategy."""
    follow(program.text, program.inputs, _changes(drawn), strategy)


@pytest.mark.parametrize("strategy", each_strategy())
@settings(max_examples=examples(18))
@given(data=st.data())
def test_strategy_follows_tangled_rules(strategy: Strategy, data: st.DataObject):
    """Recursion, negation and facts both given and derived: each epoch is as from nothing."""
    program = data.draw(tangled_programs())

    check_strategy(strategy, program, data.draw(tangled_epochs(program)))


@pytest.mark.parametrize("strategy", each_strategy())
@settings(max_examples=examples(8))
@given(data=st.data())
def test_strategy_follows_the_whole_language(strategy: Strategy, data: st.DataObject):
    """All types, functors, aggregates, records and special relations: each epoch is as from nothing."""
    program = data.draw(programs())

    check_strategy(strategy, program, data.draw(epochs(program)))


@pytest.mark.parametrize("strategy", each_strategy())
@settings(max_examples=examples(8))
@given(data=st.data())
def test_strategy_follows_where_much_is_derived(strategy: Strategy, data: st.DataObject):
    """With many facts over numbers each epoch is as from nothing too."""
    program = data.draw(dense_programs())

    check_strategy(strategy, program, data.draw(epochs(program)))


@pytest.mark.parametrize("strategy", each_strategy())
@settings(max_examples=examples(8))
@given(data=st.data())
def test_strategy_follows_special_relations(strategy: Strategy, data: st.DataObject):
    """Equivalences, choices and subsumption, given and derived at once, are as from nothing."""
    program = data.draw(tangled_programs(special=SPECIAL))

    check_strategy(strategy, program, data.draw(tangled_epochs(program)))


@settings(max_examples=examples(16))
@given(data=st.data(), strategies=st.lists(st.sampled_from(STRATEGIES), min_size=2, max_size=4))
def test_strategies_take_turns(data: st.DataObject, strategies: list[Strategy]):
    """Each strategy can go on from the state that another one left."""
    program = data.draw(tangled_programs())

    follow(
        program.text, program.inputs, _changes(data.draw(tangled_epochs(program, max_epochs=6))), strategies
    )
