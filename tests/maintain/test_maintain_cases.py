"""Small programs through a few epochs, each for one thing that can go wrong."""

import pytest

from support.epochs import Maintained, difference, each_strategy, follow
from support.epochs_oracle import Annotation
from support.programs import build
from tidelog.engine.epoch import Action, Strategy

NUMBER_MAX = 2**63 - 1

EDGE = ".decl edge(x: number, y: number) .input edge\n"
PATH = f"""{EDGE}
.decl path(x: number, y: number)
path(x, y) :- edge(x, y).
path(x, z) :- path(x, y), edge(y, z).
"""

pytestmark = pytest.mark.parametrize("strategy", each_strategy())


# --- recursion -----------------------------------------------------------------------------


def test_facts_that_prove_each_other_fall_together(strategy: Strategy):
    """A cycle cut off from its start does not hold itself up."""
    text = f"{EDGE}.decl reached(x: number) reached(0). reached(y) :- reached(x), edge(x, y)."
    edges = [(0, 1), (1, 2), (2, 3), (3, 1)]

    run = follow(text, {"edge": edges}, [({}, {"edge": [(0, 1)]})], strategy)

    assert run.relations()["reached"] == {(0,)}


def test_a_cycle_is_held_by_what_is_left(strategy: Strategy):
    """Of two ways into a cycle one is deleted, then the other, then both return."""
    changes = [
        ({}, {"edge": [(0, 1)]}),
        ({}, {"edge": [(4, 3)]}),
        ({"edge": [(0, 1), (4, 3)]}, {}),
    ]

    follow(PATH, {"edge": [(0, 1), (1, 2), (2, 3), (3, 1), (4, 3), (0, 4)]}, changes, strategy)


def test_a_rule_that_derives_its_own_body(strategy: Strategy):
    """A fact is no derivation of itself."""
    text = ".decl a(x: number) .input a .decl b(x: number) b(x) :- a(x). b(x) :- b(x)."

    follow(text, {"a": [(1,), (2,)]}, [({}, {"a": [(1,)]}), ({"a": [(1,)]}, {"a": [(2,)]})], strategy)


def test_an_atom_twice_in_a_body(strategy: Strategy):
    """A derivation that uses one fact at two atoms is lost and found once."""
    text = f"{EDGE}.decl p(x: number, y: number) p(x, y) :- edge(x, y). p(x, z) :- p(x, y), p(y, z)."
    changes = [({"edge": [(1, 1)]}, {}), ({"edge": [(0, 0)]}, {"edge": [(1, 2)]}), ({}, {"edge": [(1, 1)]})]

    follow(text, {"edge": [(0, 1), (1, 2), (2, 0)]}, changes, strategy)


def test_a_derivation_that_loses_two_facts_at_once(strategy: Strategy):
    """It is one derivation less, not two, for a head that has others; and one more when it returns."""
    text = f"{EDGE}.decl p(x: number, y: number) p(x, y) :- edge(x, y). p(x, z) :- p(x, y), p(y, z)."
    edges = [(0, 1), (1, 9), (0, 2), (2, 9), (0, 3), (3, 9), (0, 4), (4, 9)]
    both = {"edge": [(0, 1), (1, 9)]}

    run = follow(
        text, {"edge": edges}, [({}, both), (both, {}), (both, {"edge": [(0, 2), (2, 9)]})], strategy
    )

    assert run.annotations()["p"][0, 9] == Annotation(2, 3, False)


def test_mutual_recursion(strategy: Strategy):
    """Relations of one stratum follow each other's changes."""
    text = f"""{EDGE}
    .decl even(x: number) .input even
    .decl odd(x: number)
    even(0).
    odd(y) :- even(x), edge(x, y).
    even(y) :- odd(x), edge(x, y).
    """
    changes = [
        ({"edge": [(3, 0)]}, {}),
        ({"even": [(1,)]}, {"edge": [(0, 1)]}),
        ({}, {"even": [(1,)], "edge": [(3, 0)]}),
    ]

    follow(text, {"edge": [(0, 1), (1, 2), (2, 3)]}, changes, strategy)


# --- negation, constraints, aggregates -----------------------------------------------------


def test_negation_turns_changes_round(strategy: Strategy):
    """An inserted fact deletes where it is negated, a deleted one inserts."""
    text = f"{PATH}.decl node(x: number) .input node\n"
    text += ".decl apart(x: number, y: number) apart(x, y) :- node(x), node(y), !path(x, y)."
    changes = [
        ({"edge": [(2, 0)]}, {}),
        ({}, {"edge": [(0, 1)]}),
        ({"node": [(3,)]}, {"node": [(0,)]}),
    ]

    follow(text, {"edge": [(0, 1), (1, 2)], "node": [(0,), (1,), (2,)]}, changes, strategy)


def test_a_fact_and_its_negation_change_in_one_epoch(strategy: Strategy):
    """A derivation gained by one atom and lost by another is neither, whatever their order."""
    text = """
    .decl a(x: number) .input a
    .decl b(x: number) .input b
    .decl c(x: number) c(x) :- a(x), !b(x).
    .decl d(x: number) d(x) :- !b(x), a(x), !c(x).
    """
    changes = [
        ({"a": [(1,)], "b": [(1,)]}, {}),
        ({}, {"a": [(1,)], "b": [(1,)]}),
        ({"a": [(2,)]}, {"b": [(2,)]}),
        ({"b": [(2,)]}, {"a": [(2,)]}),
    ]

    follow(text, {"b": [(2,)]}, changes, strategy)


def test_negated_atoms_with_wildcards_and_constants(strategy: Strategy):
    """The last fact that a wildcard could stand for makes the difference."""
    text = f"{EDGE}.decl n(x: number) .input n\n"
    text += ".decl leaf(x: number) leaf(x) :- n(x), !edge(x, _). .decl no(x: number) no(1) :- !edge(1, 1)."
    changes = [({"edge": [(1, 3)]}, {}), ({}, {"edge": [(1, 2)]}), ({"edge": [(1, 1)]}, {"edge": [(1, 3)]})]

    follow(text, {"edge": [(1, 2)], "n": [(1,), (2,)]}, changes, strategy)


def test_an_ordered_rule_with_an_aggregate(strategy: Strategy):
    """`.plan` orders the atoms that are written; an aggregate is computed when they are joined."""
    text = """
    .decl e(x: number, y: number)
    .input e
    .decl r(x: number, z: number, n: number)
    r(x, z, n) :- n = count : { e(x, _) }, e(x, y), e(y, z).
    .plan 0:(2,1)
    .decl s(n: number)
    s(x + sum y : { e(x, y) }) :- e(_, x).
    .plan 0:(1)
    """

    follow(text, {"e": [(1, 2), (2, 3)]}, [({"e": [(2, 4), (3, 1)]}, {}), ({}, {"e": [(1, 2)]})], strategy)


def test_a_negated_lattice_with_wildcards(strategy: Strategy):
    """What a wildcard leaves of a lattice are all its values, not their least upper bound."""
    text = """
    .type High <: number
    .lattice High<> { Lub -> max(_, _) }
    .decl e(x: number)
    .input e
    .decl best(k: symbol, v: High<>)
    best("a", 2) :- e(_).
    best("b", 1).
    .decl q(x: number)
    q(x) :- e(x), !best(_, 1).
    """

    run = follow(text, {"e": [(1,)]}, [({"e": [(2,)]}, {}), ({}, {"e": [(1,), (2,)]})], strategy)

    assert run.relations()["q"] == set()


def test_aggregates_follow(strategy: Strategy):
    """Counts, sums and extremes are as from nothing, empty groups included."""
    text = f"""{EDGE}
    .decl n(x: number) .input n
    .decl out(x: number, k: number) out(x, k) :- n(x), k = count : {{ edge(x, _) }}.
    .decl low(x: number, k: number) low(x, k) :- n(x), k = min y : {{ edge(x, y) }}.
    .decl all(k: number) all(s) :- s = sum y : {{ edge(_, y) }}.
    """
    changes = [({"edge": [(1, 1)]}, {}), ({}, {"edge": [(1, 1), (1, 2)]}), ({"n": [(3,)]}, {"n": [(1,)]})]

    follow(text, {"edge": [(1, 2), (2, 5)], "n": [(1,), (2,)]}, changes, strategy)


def test_terms_without_a_value(strategy: Strategy):
    """A division by zero is no derivation, before a change and after it."""
    text = """
    .decl a(x: number, y: number) .input a
    .decl b(x: number) b(x / y) :- a(x, y).
    .decl c(x: number) c(x) :- a(x, y), !b(x / y).
    """
    changes = [({"a": [(4, 0), (4, 2)]}, {}), ({}, {"a": [(4, 2)]}), ({"a": [(2, 1)]}, {"a": [(4, 0)]})]

    follow(text, {"a": [(1, 0), (6, 3)]}, changes, strategy)


def test_generators_make_several_derivations(strategy: Strategy):
    """Each value of a range is a derivation of its own."""
    text = """
    .decl a(x: number) .input a
    .decl b(x: number)
    b(x) :- a(x), n = range(0, x).
    b(n) :- a(x), n = range(0, x).
    """
    changes = [({"a": [(2,)]}, {}), ({}, {"a": [(3,)]}), ({"a": [(3,)]}, {"a": [(2,)]})]

    follow(text, {"a": [(3,)]}, changes, strategy)


def test_rules_without_positive_atoms(strategy: Strategy):
    """What ranges, constants and negated atoms alone derive can be given too, and return."""
    text = """
    .decl a(x: number) .input a
    .decl b(x: number) .input b
    b(n) :- n = range(0, 3).
    b(7) :- 1 < 2.
    b(8) :- !a(_).
    b(x + 1) :- b(x), x < 9, !a(x).
    """
    changes = [({"b": [(1,), (7,)]}, {}), ({"a": [(1,)]}, {"b": [(1,)]}), ({"a": [(8,)]}, {"a": [(1,)]})]

    follow(text, {}, [*changes, ({}, {"a": [(8,)], "b": [(7,)]})], strategy)


def test_numbers_of_a_counter_stay_distinct(strategy: Strategy):
    """Rules with `autoinc()` give each derivation a number of its own."""
    text = ".decl a(x: number) .input a .decl b(i: number, x: number) b(autoinc(), x) :- a(x)."
    run = Maintained(build(text)).start({"a": [(1,), (2,)]})

    for insert, delete in [({"a": [(3,)]}, {}), ({"a": [(4,)]}, {"a": [(1,)]})]:
        run.change(insert, delete, strategy=strategy)

        b = run.relations()["b"]
        assert {x for _, x in b} == {x for (x,) in run.inputs["a"]}
        assert len({i for i, _ in b}) == len(b) == len(run.inputs["a"])


# --- input and derived at once -------------------------------------------------------------


def test_a_fact_given_and_derived(strategy: Strategy):
    """Whichever goes first, the other keeps the fact; both gone, it is gone."""
    text = ".decl a(x: number) .input a .decl b(x: number) .input b b(x) :- a(x)."
    changes = [
        ({}, {"b": [(1,)]}),
        ({"b": [(1,)]}, {"a": [(1,)]}),
        ({}, {"b": [(1,)]}),
        ({"a": [(1,)], "b": [(1,)]}, {}),
        ({}, {"a": [(1,)], "b": [(1,)]}),
    ]

    follow(text, {"a": [(1,)], "b": [(1,)]}, changes, strategy)


def test_a_derived_fact_is_given_by_a_recompute_and_taken_back(strategy: Strategy):
    """What a recompute did to the level of a fact that stays is known to the next epoch."""
    text = ".decl a(x: number) .input a .decl b(x: number) .input b b(x) :- a(x)."
    changes = [({"b": [(1,)]}, {}), ({}, {"b": [(1,)]})]

    run = follow(text, {"a": [(1,)]}, changes, [Strategy.RECOMPUTE, strategy])

    assert run.relations()["b"] == {(1,)}


def test_a_fact_of_the_program_can_be_given_too(strategy: Strategy):
    """Deleting the input leaves what the program itself states."""
    text = ".decl a(x: number) .input a a(1)."

    run = follow(text, {"a": [(1,), (2,)]}, [({}, {"a": [(1,), (2,)]}), ({"a": [(1,)]}, {})], strategy)

    assert run.relations()["a"] == {(1,)}


def test_a_deleted_fact_returns(strategy: Strategy):
    """Facts that were deleted some epochs ago can be inserted again, over and over."""
    there, gone = ({"edge": [(1, 2)]}, {}), ({}, {"edge": [(1, 2)]})

    follow(PATH, {"edge": [(0, 1), (1, 2), (2, 3)]}, [gone, there, gone, there, gone, gone, there], strategy)


def test_everything_goes_and_returns(strategy: Strategy):
    """A program whose input is emptied is as new."""
    edges = {"edge": [(0, 1), (1, 2), (2, 0)]}

    run = follow(PATH, edges, [({}, edges), (edges, {}), ({}, edges)], strategy)

    assert run.relations() == {"edge": frozenset(), "path": frozenset()}


def test_an_epoch_without_changes(strategy: Strategy):
    """Nothing happens, and every stratum says that it was skipped."""
    run = Maintained(build(PATH)).start({"edge": [(0, 1)]})

    found = run.change(strategy=strategy)

    assert found.inserted == found.deleted == {}
    assert {report.action for report in found.strata} == {Action.SKIPPED}


def test_strata_that_read_nothing_changed_are_skipped(strategy: Strategy):
    """A change that stops in a lower stratum does not reach the ones above."""
    text = f"{PATH}.decl top(x: number) top(x) :- path(0, x)."
    run = Maintained(build(text)).start({"edge": [(0, 1), (1, 2), (0, 2)]})

    found = run.change(delete={"edge": [(0, 2)]}, strategy=strategy)

    assert found.deleted == {"edge": {(0, 2)}}
    skipped = [report.relations for report in found.strata if report.action is Action.SKIPPED]
    assert skipped == [("top",)]
    run.check()


def test_reports_say_what_was_done(strategy: Strategy):
    """Growth is told from loss: at a negated atom an insertion is a loss."""
    text = f"{PATH}.decl n(x: number) .input n .decl apart(x: number) apart(x) :- n(x), !path(x, x)."
    run = Maintained(build(text)).start({"edge": [(0, 1), (1, 2)], "n": [(0,), (1,), (2,)]})

    def actions(**change):
        found = run.change(**change, strategy=strategy)
        run.check()
        return {name: report.action for report in found.strata for name in report.relations}

    grown = actions(insert={"edge": [(2, 0)]})
    shrunk = actions(delete={"edge": [(2, 0)]})

    if strategy is Strategy.RECOMPUTE:
        assert grown["path"] is shrunk["path"] is grown["apart"] is shrunk["apart"] is Action.RECOMPUTED
    else:
        assert (grown["path"], shrunk["path"]) == (Action.EXTENDED, Action.UPDATED)
        assert (grown["apart"], shrunk["apart"]) == (Action.UPDATED, Action.EXTENDED)
    assert grown["n"] is shrunk["n"] is Action.SKIPPED


# --- relations without columns -------------------------------------------------------------


def test_relations_without_columns(strategy: Strategy):
    """A relation that holds or does not hold is input, derived, and negated."""
    text = """
    .decl on() .input on
    .decl a(x: number) .input a
    .decl some() .input some
    some() :- a(_), on().
    .decl none(x: number) none(1) :- !some().
    """
    changes = [
        ({"on": [()]}, {}),
        ({"some": [()]}, {"a": [(1,)]}),
        ({}, {"some": [()]}),
        ({"a": [(3,)]}, {"on": [()]}),
    ]

    follow(text, {"a": [(1,), (2,)]}, changes, strategy)


# --- values --------------------------------------------------------------------------------


def test_numbers_that_outgrow_narrow_codes(strategy: Strategy):
    """A change may bring the first number beyond 32 bits, and take it away again."""
    text = f"{PATH}.decl far(x: number) far(x + 1) :- path(_, x), !edge(x, x)."
    changes = [
        ({"edge": [(2, NUMBER_MAX)]}, {"edge": [(0, 1)]}),
        ({"edge": [(0, 1)]}, {"edge": [(2, NUMBER_MAX)]}),
    ]

    follow(text, {"edge": [(0, 1), (1, 2)]}, changes, strategy)


def test_derived_numbers_that_outgrow_narrow_codes(strategy: Strategy):
    """The first number beyond 32 bits may be made by a rule in the middle of an epoch."""
    text = """
    .decl a(x: number) .input a
    .decl b(x: number) b(x) :- a(x).
    .decl c(x: number) c(x * x) :- b(x). c(x + 1) :- c(x), x < 3.
    .decl d(x: number) d(x) :- c(x), !b(x).
    """
    changes = [({"a": [(1 << 20,)]}, {"a": [(1,)]}), ({"a": [(2,)]}, {"a": [(1 << 20,)]})]

    follow(text, {"a": [(1,), (3,)]}, changes, strategy)


def test_given_numbers_that_never_fit(strategy: Strategy):
    """Asking for large facts that are not there finds nothing while codes are narrow."""
    run = follow(PATH, {"edge": [(0, 1)]}, [({"edge": [(1, 2)]}, {})], strategy)
    relation = run.program.relations["edge"]

    answers = run.engine.is_input("edge", run._encode(relation, [(0, 1), (0, 1 << 40), (1 << 40, 1)]))

    assert answers.tolist() == [True, False, False]


def test_texts_and_records_that_are_new(strategy: Strategy):
    """Changes bring texts and records that no fact held before."""
    text = """
    .type P = [a: symbol, b: number]
    .decl a(x: symbol, n: number) .input a
    .decl b(p: P) b([cat(x, x), n]) :- a(x, n).
    .decl c(x: symbol) .input c
    c(x) :- b([x, _]).
    .decl d(x: symbol) d(x) :- c(x), !a(x, 1).
    """
    changes = [
        ({"a": [("new", 1), ("newnew", 1)]}, {}),
        ({"c": [("newnew",)]}, {"a": [("new", 1)]}),
        ({}, {"a": [("newnew", 1), ("old", 2)]}),
    ]

    follow(text, {"a": [("old", 2), ("old", 3)]}, changes, strategy)


# --- relations with a law of their own -----------------------------------------------------


def test_an_equivalence_that_is_given_comes_apart(strategy: Strategy):
    """What closing an equivalence added is not given: it goes when the given fact goes."""
    text = ".decl same(x: number, y: number) eqrel .input same\n.decl a(x: number) a(x) :- same(0, x)."
    changes = [({}, {"same": [(0, 1)]}), ({"same": [(2, 0)]}, {}), ({}, {"same": [(1, 2)]})]

    run = follow(text, {"same": [(0, 1), (1, 2)]}, changes, strategy)

    assert run.relations()["a"] == {(0,), (2,)}


def test_a_choice_is_made_again(strategy: Strategy):
    """A given fact that a choice left out is taken when its rival is deleted."""
    text = ".decl a(x: number, y: number) choice-domain x .input a\n.decl b(y: number) b(y) :- a(_, y)."
    changes = [({}, {"a": [(1, 1)]}), ({"a": [(1, 1)]}, {}), ({"a": [(1, 0)]}, {"a": [(1, 1), (1, 2)]})]

    run = follow(text, {"a": [(1, 1), (1, 2)]}, changes, strategy)

    assert run.relations()["b"] == {(0,)}


def test_a_subsumed_fact_returns(strategy: Strategy):
    """A given fact that a smaller one subsumed is there again when that is deleted."""
    text = """
    .decl a(x: number, y: number) .input a
    a(x, p) <= a(x, q) :- q < p.
    .decl b(y: number) b(y) :- a(_, y).
    """
    changes = [({}, {"a": [(1, 1)]}), ({"a": [(1, 1)]}, {}), ({"a": [(1, 0)]}, {"a": [(1, 1), (1, 2)]})]

    run = follow(text, {"a": [(1, 1), (1, 2)]}, changes, strategy)

    assert run.relations()["b"] == {(0,)}


def test_subsumed_facts_are_not_exported(strategy: Strategy):
    """Derived facts that a smaller one subsumed are no part of the state."""
    text = """
    .decl a(x: number, y: number) .input a
    .decl b(x: number, y: number) b(x, y) :- a(x, y).
    b(x, p) <= b(x, q) :- q < p.
    """

    follow(text, {"a": [(1, 1), (1, 2)]}, [({"a": [(1, 0)]}, {}), ({}, {"a": [(1, 0), (1, 1)]})], strategy)


def test_a_subsumption_that_reads_another_relation(strategy: Strategy):
    """A change of what the subsumption asks for deletes facts and brings them back."""
    text = """
    .decl better(x: number, y: number) .input better
    .decl a(x: number) .input a
    a(p) <= a(q) :- better(q, p).
    .decl b(x: number) b(x) :- a(x).
    """
    changes = [({"better": [(1, 2)]}, {}), ({"better": [(3, 1)]}, {}), ({}, {"better": [(1, 2), (3, 1)]})]

    run = follow(text, {"a": [(1,), (2,), (3,)]}, changes, strategy)

    assert run.relations()["b"] == {(1,), (2,), (3,)}


def test_negated_wildcards_over_special_relations(strategy: Strategy):
    """Whether any fact is left is seen in relations that are recomputed too."""
    text = """
    .decl same(x: number, y: number) eqrel .input same
    .decl n(x: number) .input n
    .decl alone(x: number) alone(x) :- n(x), !same(x, _).
    .decl none() none() :- !same(_, _).
    .decl top(x: number) top(x) :- alone(x), !none().
    """
    changes = [({"same": [(1, 2)]}, {}), ({"same": [(2, 3)]}, {"same": [(1, 2)]}), ({}, {"same": [(2, 3)]})]

    follow(text, {"n": [(1,), (2,), (3,)]}, changes, strategy)


def test_a_size_limit(strategy: Strategy):
    """A stratum that stops at a size stops as from nothing."""
    text = ".decl a(x: number) .input a .decl b(x: number) .limitsize b(n=4)\nb(x) :- a(x). b(x + 1) :- b(x)."

    follow(text, {"a": [(0,)]}, [({"a": [(10,)]}, {}), ({}, {"a": [(0,)]})], strategy)


def test_lattice_columns_are_joined_again(strategy: Strategy):
    """The joined value of a key is that of the facts that are left."""
    text = """
    .functor larger(x: Level, y: Level): Level
    .functor smaller(x: Level, y: Level): Level
    .type Level <: number
    .lattice Level<> { Bottom -> 0, Lub -> @larger(_, _), Glb -> @smaller(_, _) }
    .decl a(x: number, y: Level) .input a
    .decl most(x: number, y: Level<>) .input most
    most(x, y) :- a(x, y).
    .decl seen(y: Level) seen(y) :- most(_, y).
    """
    functions = {"larger": max, "smaller": min}
    run = Maintained(build(text), functions).start({"a": [(1, 1), (1, 5), (2, 2)], "most": [(1, 3)]})
    before = run.check()

    for insert, delete in [
        ({}, {"a": [(1, 5)]}),
        ({"a": [(2, 7)]}, {"most": [(1, 3)]}),
        ({}, {"a": [(2, 2)]}),
    ]:
        found = run.change(insert, delete, strategy=strategy)
        after = run.check()
        assert found == difference(before, after)
        before = after


def test_plain_strata_above_special_ones(strategy: Strategy):
    """A stratum that is updated reads from strata that were recomputed, and the other way round."""
    text = f"""{EDGE}
    .decl same(x: number, y: number) eqrel
    same(x, y) :- edge(x, y), x < y.
    .decl path(x: number, y: number)
    path(x, y) :- same(x, y), x < y.
    path(x, z) :- path(x, y), edge(y, z).
    .decl far(x: number, y: number)
    far(x, y) :- path(x, y), !same(x, y).
    far(x, p) <= far(x, q) :- q < p.
    .decl top(y: number) top(y) :- far(_, y), !edge(y, y).
    """
    changes = [
        ({"edge": [(3, 1), (3, 3)]}, {}),
        ({}, {"edge": [(0, 1)]}),
        ({"edge": [(0, 3), (2, 1)]}, {"edge": [(3, 3)]}),
        ({}, {"edge": [(0, 3), (1, 0)]}),
    ]

    follow(text, {"edge": [(0, 1), (1, 0), (2, 3), (3, 0)]}, changes, strategy)
