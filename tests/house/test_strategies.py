"""The random programs that other tests rely on are what they claim to be."""

from typing import TypeVar

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from support.epochs import LIMIT
from support.node_samples import Samples
from support.programs import build, run, run_program
from support.strategies import RandomProgram, dense_programs, epochs, programs, whole_language_programs
from tidelog.engine.protocol import Settings
from tidelog.program import nodes, walk_nodes
from tidelog.program.flatten_bodies import INVERSE
from tidelog.source import Source
from tidelog.syntax import parse, tree, walk_tree
from tidelog.syntax.declarations import QUALIFIERS
from tidelog.values.functors import SIGNATURES
from tidelog.values.types import Kind

T = TypeVar("T")


@settings(max_examples=40)
@given(program=programs() | dense_programs())
def test_every_program_is_valid_and_ends(program: RandomProgram):
    """A random program passes all checks and reaches its fixpoint."""
    relations = run(program.text, inputs=program.inputs, settings=Settings(jobs=1, iteration_limit=500))

    assert set(program.inputs) <= set(relations)


@settings(max_examples=40)
@given(data=st.data())
def test_epochs_delete_only_what_is_there(data: st.DataObject):
    """Every deleted fact was given before; the columns of inserted ones fit their relation."""
    program = data.draw(programs())
    there = {name: set(facts) for name, facts in program.inputs.items()}

    for epoch in data.draw(epochs(program)):
        for name, facts in there.items():
            assert set(epoch.deletes[name]) <= facts
            assert all(len(fact) == len(program.input_types[name]) for fact in epoch.inserts[name])
            facts.difference_update(epoch.deletes[name])
            facts.update(epoch.inserts[name])


def test_choices_reach_every_feature():
    """Among some hundred programs every feature the suite is to cover turns up."""
    seen: set[str] = set()
    features = (
        "eqrel",
        "choice-domain",
        "inline",
        " <= ",
        "count :",
        "sum ",
        "range(",
        "!",
        " ; ",
        "[",
        "$",
        "cat(",
    )

    @settings(max_examples=150, database=None)
    @given(program=programs())
    def look(program: RandomProgram) -> None:
        rules = "\n".join(line for line in program.text.splitlines() if not line.startswith(".type"))
        seen.update(feature for feature in features if feature in rules)
        build(program.text)

    look()

    assert seen == set(features)


@settings(max_examples=40)
@given(program=whole_language_programs())
def test_every_program_of_the_whole_language_is_valid_and_ends(program: RandomProgram):
    """A random program of all features passes all checks and reaches its fixpoint."""
    relations = run(
        program.text,
        inputs={name: facts for name, facts in program.inputs.items() if facts},
        functions=program.functions,
        settings=Settings(jobs=1, iteration_limit=500),
    )

    assert set(program.inputs) <= set(relations)


class Census:
    """What a few hundred programs of the whole language consist of."""

    def __init__(self) -> None:
        self.checked: list[walk_nodes.Node] = []
        self.written: list[walk_tree.Node] = []

    def take(self, program: RandomProgram) -> None:
        """Count a program's nodes."""
        self.written.extend(walk_tree.walk(parse(Source("random", program.text)).items))
        self.checked.extend(walk_nodes.walk((build(program.text),)))

    def of(self, kind: type[T]) -> list[T]:
        """Return the nodes of a kind."""
        return [node for node in (*self.checked, *self.written) if isinstance(node, kind)]


@pytest.fixture(scope="module")
def census() -> Census:
    """Return what 450 programs consist of, the same ones in every run."""
    found = Census()

    @settings(max_examples=450, database=None, derandomize=True, phases=[Phase.generate])
    @given(program=whole_language_programs())
    def draw(program: RandomProgram) -> None:
        found.take(program)

    draw()
    return found


def test_programs_have_every_kind_of_checked_node(census: Census):
    """The generator reaches every node kind of a checked program: one more must be added to it."""
    assert {type(node) for node in census.checked} == Samples(nodes, nodes.Term).kinds


def test_programs_have_every_kind_of_written_node(census: Census):
    """The generator reaches every node kind of the tree."""
    assert {type(node) for node in census.written} == Samples(tree).kinds - {tree.SyntaxTree}


def test_programs_have_every_functor_and_aggregate(census: Census):
    """Every intrinsic functor, every aggregate and every way to write one in Python is drawn."""
    functors = {node.functor for node in census.of(nodes.Application)}
    aggregates = {(node.functor.partition("@")[1] or node.functor) for node in census.of(nodes.Aggregate)}
    folds = [node for node in census.of(nodes.Aggregate) if node.functor.startswith("@")]

    assert functors == set(SIGNATURES)
    assert aggregates == {"count", "sum", "min", "max", "mean", nodes.CONCAT, "@"}
    assert {node.init is None for node in folds} == {True, False}
    assert any(program.is_stateful for node in census.of(nodes.Program) for program in node.functors.values())


def test_programs_have_every_constraint_and_range(census: Census):
    """Every comparison is drawn, and ranges of every kind with and without a step."""
    assert {node.op for node in census.of(nodes.Constraint)} == set(INVERSE)
    ranges = {(node.kind, node.step is None) for node in census.of(nodes.Generator)}
    assert ranges == {(kind, bare) for kind in Kind if kind.is_numeric for bare in (True, False)}


def test_programs_have_every_sort_of_relation(census: Census):
    """Every qualifier is drawn, and every law that a relation can have."""
    relations = [relation for node in census.of(nodes.Program) for relation in node.relations.values()]
    declared = census.of(tree.RelationDeclaration)

    assert {word for relation in declared for word in relation.qualifiers} == QUALIFIERS
    assert {kind for node in census.of(nodes.Program) for kind in (d.kind for d in node.directives)} == {
        "input",
        "output",
        "printsize",
    }
    assert any(relation.choices for relation in relations)
    assert any(len(relation.choices) > 1 for relation in relations)
    assert any(relation.keys for relation in relations)
    assert any(relation.size_limit is not None for relation in relations)
    assert any(not relation.columns for relation in relations)
    assert any(relation.columns[-1].is_lattice for relation in relations if relation.columns)
    assert {
        node.kind_of(x.type)
        for node in census.of(nodes.Program)
        for r in node.relations.values()
        for x in r.columns
    } == set(Kind)


def test_programs_have_every_sort_of_rule(census: Census):
    """Orders, joins asked for, several heads, aggregates over their own stratum and joins of all sorts."""
    strata = census.of(nodes.Stratum)
    rules = census.of(nodes.Rule)
    recursive = [
        aggregate
        for stratum in strata
        if stratum.is_recursive
        for aggregate in walk_nodes.aggregates_in(stratum.rules)
        if not walk_nodes.relations_read((aggregate,)).isdisjoint(stratum.relations)
    ]

    assert any(rule.plan for rule in rules)
    assert any(rule.is_leapfrog for rule in rules)
    assert any(len(rule.heads) > 1 for rule in census.of(tree.Rule))
    assert any(rule.bases for rule in census.of(tree.Component))
    assert {aggregate.functor for aggregate in recursive} >= {"count", "sum", "min", "max"}
    assert {lattice.extreme for lattice in census.of(nodes.Lattice)} == {"min", "max", None}


PLACES = {
    "head": lambda node: [node.head] if isinstance(node, nodes.Rule) else [],
    "atom": lambda node: node.body if isinstance(node, nodes.Rule) else [],
    "negated atom": lambda node: [node] if isinstance(node, nodes.NegatedAtom) else [],
    "constraint": lambda node: [node] if isinstance(node, nodes.Constraint) else [],
    "start of a range": lambda node: [node.start] if isinstance(node, nodes.Generator) else [],
    "stop of a range": lambda node: [node.stop] if isinstance(node, nodes.Generator) else [],
    "step of a range": lambda node: [node.step] if isinstance(node, nodes.Generator) and node.step else [],
    "functor": lambda node: [node] if isinstance(node, nodes.Application) else [],
    "functor of yours": lambda node: [node] if isinstance(node, nodes.UserApplication) else [],
    "record": lambda node: [node] if isinstance(node, nodes.RecordTerm) else [],
    "branch": lambda node: [node] if isinstance(node, nodes.BranchTerm) else [],
    "target": lambda node: [node.target] if isinstance(node, nodes.Aggregate) and node.target else [],
    "init": lambda node: [node.init] if isinstance(node, nodes.Aggregate) and node.init else [],
    "body of an aggregate": lambda node: node.body if isinstance(node, nodes.Aggregate) else [],
    "subsumption": lambda node: [node] if isinstance(node, nodes.Subsumption) else [],
}


@pytest.mark.parametrize("place", PLACES)
def test_programs_have_aggregates_in_every_place(census: Census, place: str):
    """Wherever the language allows an aggregate, one is drawn."""
    inside = (part for node in census.checked for part in PLACES[place](node))

    assert any(True for _ in walk_nodes.aggregates_in(inside))


@settings(max_examples=25)
@given(program=whole_language_programs())
def test_local_and_reference_engines_agree_on_the_whole_language(program: RandomProgram):
    """Both engines derive the same facts, whatever a program is made of."""
    built = build(program.text)
    inputs = {name: facts for name, facts in program.inputs.items() if facts}

    answers = [
        run_program(built, engine=engine, inputs=inputs, functions=program.functions, settings=LIMIT)
        for engine in ("reference", "local")
    ]

    assert answers[0] == answers[1]
