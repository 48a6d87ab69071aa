"""Analyses of other trees: a type checker for a lambda language, and rules over a configuration."""

import json
import runpy
from pathlib import Path
from typing import Any

import tidelog
from tidelog.trees import Tree

ANALYSES = Path(__file__).parents[2] / "examples" / "analyses"


def test_the_type_checker_finds_what_has_no_type() -> None:
    """Types go through annotations, `let` and applications; a mistake is told where it is, not around it."""
    lang = language()
    good = lang["Let"](
        "f",
        lang["Lam"]("x", lang["Add"](lang["Var"]("x"), lang["Num"](1)), lang["IntType"]()),
        lang["App"](lang["Var"]("f"), lang["Num"](2)),
    )
    tree = Tree.from_python(good)
    db = tidelog.open_tree(ANALYSES / "lambda.dl", tree, jobs=1)
    assert not db["ill_typed"]
    assert not db["unbound"]

    bad = lang["Let"](
        "f",
        lang["Lam"]("x", lang["Add"](lang["Var"]("x"), lang["Num"](1)), lang["IntType"]()),
        lang["App"](lang["Var"]("f"), lang["Truth"](True)),
    )
    step = tree.update(Tree.from_python(bad))
    delta = db.apply(step.script)
    assert types_of(step.tree, delta["ill_typed"].inserted) == ["App"]

    renamed = lang["Let"](
        "g",
        lang["Lam"]("x", lang["Add"](lang["Var"]("x"), lang["Num"](1)), lang["IntType"]()),
        lang["App"](lang["Var"]("f"), lang["Num"](2)),
    )
    last = step.tree.update(Tree.from_python(renamed))
    db.apply(last.script)
    assert types_of(last.tree, db["unbound"]) == ["Var"]
    fresh = tidelog.open_tree(ANALYSES / "lambda.dl", last.tree, jobs=1)
    assert set(fresh["type"]) == set(db["type"])
    assert set(fresh["ill_typed"]) == set(db["ill_typed"])


def test_a_lambda_without_an_annotation_takes_the_type_of_its_argument() -> None:
    """An annotation that is not there is asked for as such."""
    lang = language()
    applied = lang["App"](lang["Lam"]("x", lang["Var"]("x")), lang["Num"](1))
    tree = Tree.from_python(applied)
    db = tidelog.open_tree(ANALYSES / "lambda.dl", tree, jobs=1)
    assert not db["ill_typed"]

    alone = lang["If"](lang["Lam"]("x", lang["Var"]("x")), lang["Num"](1), lang["Num"](2))
    step = tree.update(Tree.from_python(alone))
    db.apply(step.script)
    assert types_of(step.tree, db["ill_typed"]) == ["Var"]


def test_who_can_reach_what() -> None:
    """Groups in groups and hosts behind hosts count; a changed configuration changes what is exposed."""
    config = json.loads((ANALYSES / "access.json").read_text(encoding="utf-8"))
    tree = Tree.from_json(config)
    db = tidelog.open_tree(ANALYSES / "access.dl", tree, jobs=1)
    assert set(db["can_reach"]) == {
        ("ann", "web"), ("ann", "app"), ("ann", "db"), ("bob", "web"), ("bob", "app"),
    }  # fmt: skip
    assert not db["exposed"]
    assert not db["dangling"]

    config["hosts"][1]["forwards"].append("db")
    config["rules"].append({"group": "robots", "host": "web"})
    step = tree.update(Tree.from_json(config, like=tree))
    delta = db.apply(step.script)
    assert set(delta["can_reach"].inserted) == {("bob", "db")}
    assert [user for _, user in delta["exposed"].inserted] == ["bob"]
    assert [name for _, name in delta["dangling"].inserted] == ["robots"]
    fresh = tidelog.open_tree(ANALYSES / "access.dl", step.tree, jobs=1)
    for name in ("can_reach", "exposed", "dangling", "in_group"):
        assert set(fresh[name]) == set(db[name])


def language() -> dict[str, Any]:
    """Return the classes of the lambda language."""
    return runpy.run_path(str(ANALYSES / "lambda_language.py"))


def types_of(tree: Tree, facts: Any) -> list[str]:
    """Return the types of the first nodes of some facts."""
    types = {node.id: node.type for node in tree}
    return sorted(types[fact[0]] for fact in facts)
