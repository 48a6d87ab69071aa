"""Edit scripts: what they say, what they change, and what they refuse."""

from collections import Counter
from collections.abc import Container
from dataclasses import dataclass

import pytest
from hypothesis import given, settings

from support.small_trees import SCHEMA, Exp, encode, trees
from tidelog.errors import TidelogError
from tidelog.trees import (
    Attach,
    Detach,
    Edit,
    EditScript,
    FactChanges,
    Load,
    NodeRef,
    Tree,
    Unload,
    Update,
)
from tidelog.trees.edits import Row
from tidelog.trees.facts import rows_of
from tidelog.trees.index import TreeRelations

# f(1, 2) with ids Call#1, List_Exp#2, Num#3, Num#4.
CALL = Exp("Call", ("f", None), ((0, Exp("List_Exp", (), tuple((0, Exp("Num", (n,))) for n in (1, 2)))),))
F, ARGS, ONE, TWO = NodeRef("Call", 1), NodeRef("List_Exp", 2), NodeRef("Num", 3), NodeRef("Num", 4)
NEW = NodeRef("Num", 9)


@dataclass
class Num:
    """A number."""

    value: int


@dataclass
class Neg:
    """A negation."""

    of: "Exps"


@dataclass
class Add:
    """A sum."""

    left: "Exps"
    right: "Exps"


Exps = Num | Neg | Add


def test_the_example_of_the_paper() -> None:
    """An operand that is negated is detached, taken by the new node, and that is attached."""
    old = Tree.from_python(Add(Num(5), Num(3)))

    script = old.diff(Tree.from_python(Add(Neg(Num(5)), Num(3))))

    assert str(script).splitlines() == [
        "detach Num#2 as left of Add#1",
        "load Neg#4 (of: Num#2)",
        "attach Neg#4 as left of Add#1",
    ]
    assert script.changes() == {
        "Link_Add_left": FactChanges(insert=((1, 4),), delete=((1, 2),)),
        "parent": FactChanges(insert=((2, 4), (4, 1)), delete=((2, 1),)),
        "Node_Neg": FactChanges(insert=((4,),)),
        "Node_Any": FactChanges(insert=((4,),)),
        "Link_Neg_of": FactChanges(insert=((4, 2),)),
    }


@pytest.mark.parametrize(
    ("edit", "changes"),
    [
        (Detach(ONE, "first", ARGS, ARGS), {"first": FactChanges(delete=((2, 3),))}),
        (Detach(TWO, "next", ONE, ARGS), {"next": FactChanges(delete=((3, 4),))}),
        (Attach(NEW, "next", TWO, ARGS), {"next": FactChanges(insert=((4, 9),))}),
        (Detach(ARGS, "args", F, F), {"Link_Call_args": FactChanges(delete=((1, 2),))}),
        (Attach(NEW, "block", F, F), {"Link_Call_block": FactChanges(insert=((1, 9),))}),
        (
            Update(F, (("name", "f"), ("note", None)), (("name", "g"), ("note", "n"))),
            {
                "Link_Call_name": FactChanges(insert=((1, "g"),), delete=((1, "f"),)),
                "Link_Call_note": FactChanges(insert=((1, "n"),)),
            },
        ),
        (
            Load(NodeRef("Neg", 8), (("of", ONE),)),
            {
                "Node_Neg": FactChanges(insert=((8,),)),
                "Node_Exp": FactChanges(insert=((8,),)),
                "Node_Any": FactChanges(insert=((8,),)),
                "Link_Neg_of": FactChanges(insert=((8, 3),)),
            },
        ),
    ],
)
def test_facts_of_each_edit(edit: Edit, changes: dict[str, FactChanges]) -> None:
    """Detaching deletes, attaching inserts, and siblings are in `next`; parents go along."""
    found = dict(EditScript(SCHEMA, [edit]).changes())

    found.pop("parent", None)
    assert found == changes
    inverse = dict(EditScript(SCHEMA, [edit]).inverse().changes())
    inverse.pop("parent", None)
    assert inverse == {name: FactChanges(each.delete, each.insert) for name, each in changes.items()}


@pytest.mark.parametrize(
    ("edits", "words"),
    [
        ([Attach(NEW, "next", TWO, ARGS)], "there is no node #9"),
        ([Load(NEW, (), (("value", 1),)), Attach(NEW, "next", ONE, ARGS)], "has a sibling after it already"),
        ([Load(NEW, (), (("value", 1),)), Attach(NEW, "first", ARGS, ARGS)], "is not free"),
        ([Load(NEW, (), (("value", 1),)), Attach(NEW, "args", F, F)], "is not free"),
        ([Detach(ARGS, "args", F, F), Detach(TWO, "next", ONE, ARGS), Attach(TWO, "args", F, F)], "leads to"),
        ([Load(NEW, (), (("value", "x"),))], "is a number, not 'x'"),
        ([Load(NEW)], "the value `value` is missing"),
        ([Load(NEW, (), (("value", 1), ("other", 2)))], "has no value `other`"),
        ([Load(ONE, (), (("value", 1),))], "there is a node #3 already"),
        ([Load(NodeRef("Neg", 9), (("of", ONE),))], "Num#3 hangs on #2"),
        ([Load(NodeRef("Neg", 9), (("off", ONE),))], "has no link `off`"),
        ([Load(NodeRef("Mul", 9))], "there is no type `Mul`"),
        ([Unload(ONE, (), (("value", 1),))], "Num#3 hangs on #2"),
        ([Detach(TWO, "next", ONE, ARGS), Unload(TWO, (), (("value", 1),))], "has other values"),
        ([Detach(ONE, "first", ARGS, ARGS), Unload(ONE, (), (("value", 1),))], "has a sibling after it"),
        ([Detach(ARGS, "args", F, F), Unload(ARGS)], "has other children"),
        ([Detach(TWO, "first", ARGS, ARGS)], "does not hang there"),
        ([Update(ONE, (("value", 7),), (("value", 8),))], "is 1"),
        ([Update(ONE, (("value", 1),), (("value", None),))], "the value `value` is missing"),
        ([Update(NodeRef("Neg", 3), (), ())], "node #3 is of type `Num`"),
    ],
)
def test_edits_that_are_not_allowed(edits: list[Edit], words: str) -> None:
    """An edit that would not leave a well-typed tree is refused, and told with its number."""
    with pytest.raises(TidelogError, match="bad-edit") as caught:
        encode(CALL).apply(EditScript(SCHEMA, edits))

    assert f"edit {len(edits)}, " in str(caught.value)
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("edits", "words"),
    [
        ([Detach(TWO, "next", ONE, ARGS)], "Num#4 hangs on nothing"),
        ([Load(NodeRef("Neg", 9)), Attach(NodeRef("Neg", 9), "block", F, F)], "Neg#9 has no `of`"),
    ],
)
def test_scripts_that_end_too_early(edits: list[Edit], words: str) -> None:
    """At the end no node is free, and no link is open that must lead somewhere."""
    with pytest.raises(TidelogError) as caught:
        encode(CALL).apply(EditScript(SCHEMA, edits))

    assert words in str(caught.value)


@settings(max_examples=100, deadline=None)
@given(trees, trees)
def test_facts_follow_the_script(old: Tree, new: Tree) -> None:
    """The changes of a script lead from the facts of the old tree to those of the new one."""
    step = old.update(new)
    relations = TreeRelations(old.schema, old.rows())

    relations.apply(step.script)

    after = {name: set(rows) for name, rows in step.tree.rows().items()}
    assert relations.facts() == after
    relations.apply(step.script.inverse())
    assert relations.facts() == {name: set(rows) for name, rows in old.rows().items()}


def _facts(
    script: EditScript, relations: Container[str] | None = None
) -> dict[str, tuple[Counter[Row], ...]]:
    """Return the facts that the columns of a script have, with how often they are there."""
    columns = script.columns(relations).items()
    found = {
        name: tuple(Counter(rows_of(side or {})) for side in (change.insert, change.delete))
        for name, change in columns
    }
    return {name: sides for name, sides in found.items() if any(sides)}


@settings(max_examples=200, deadline=None)
@given(trees, trees)
def test_columns_are_the_facts_of_the_edits(old: Tree, new: Tree) -> None:
    """Columns have each changed fact once, forward and backward, and of some relations alone."""
    script = old.diff(new)
    chosen = {"parent", "next", "Link_Num_value"}

    for each in (script, script.inverse(), EditScript(script.schema, script.edits)):
        changes = {
            name: (Counter(change.insert), Counter(change.delete)) for name, change in each.changes().items()
        }

        assert _facts(each) == changes
        assert _facts(each, chosen) == {name: changes[name] for name in chosen & changes.keys()}


@settings(max_examples=60, deadline=None)
@given(trees, trees)
def test_what_is_undefined_is_passed_on(old: Tree, new: Tree) -> None:
    """Virtual indexes hear of changes exactly where a node became undefined or defined."""
    step = old.update(new)
    relations = TreeRelations(old.schema, old.rows())
    names = ("undef_Link_Call_args", "undef_Link_Call_note", "undef_Node_Num", "undef_Node_Exp")
    heard: dict[str, set[tuple[object, bool]]] = {name: set() for name in names}
    before = {name: set(relations[name]) for name in names}
    for name in names:
        relations[name].listen(lambda fact, now, name=name: heard[name].add((fact, now)))

    relations.apply(step.script)

    for name in names:
        after = set(TreeRelations(old.schema, step.tree.rows())[name])
        assert set(relations[name]) == after
        assert heard[name] == {(fact, True) for fact in after - before[name]} | {
            (fact, False) for fact in before[name] - after
        }


@pytest.mark.parametrize(
    ("relation", "fact"),
    [
        ("Node_Num", (3,)),
        ("first", (2, 4)),
        ("next", (4, 4)),
        ("Link_Num_value", (3, 7)),
    ],
)
def test_facts_that_break_an_invariant_are_refused(relation: str, fact: tuple[int, ...]) -> None:
    """A node is there once, a link to nodes is one to one, and a node has one value."""
    relations = TreeRelations(SCHEMA, encode(CALL).rows())

    with pytest.raises(TidelogError, match="tree-facts"):
        relations[relation].insert(fact)  # type: ignore[union-attr]


def test_indexes_answer_in_both_directions() -> None:
    """Who holds a node, who has a value, where a link leads."""
    relations = TreeRelations(SCHEMA, encode(CALL).rows())

    assert relations["next"].holder(4) == 3  # type: ignore[union-attr]
    assert relations["first"].get(2) == 3  # type: ignore[union-attr]
    assert relations["Link_Num_value"].holders(2) == {4}  # type: ignore[union-attr]
    assert (1,) in relations["undef_Link_Call_note"]
    assert len(relations["undef_Node_Num"]) == 2
