"""A session over a tree: the relations that a program names, declared and filled."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from tidelog.errors.arguments import Arguments, is_path, paths
from tidelog.session.open import open_session
from tidelog.session.session import Session
from tidelog.source import Source
from tidelog.syntax import parse, print_tree
from tidelog.syntax import tree as syntax
from tidelog.syntax.find_source import find_source
from tidelog.trees.forest import Forest
from tidelog.trees.tree import Tree


def open_tree(
    program: str | Path,
    tree: Tree | Forest,
    *,
    facts: Path | str | Mapping[str, object] | None = None,
    include_path: Sequence[Path | str] = (),
    defines: Mapping[str, str] | None = None,
    **options: Any,  # those of `open_session`, which checks them
) -> Session:
    """Return a session over the program and the facts of a tree or forest.

    The program need not declare the relations of the tree: those that it names and does not declare
    are declared for it. `facts` are those of the program's other inputs, by relation or in a folder.
    The other options are those of `tidelog.open`.

        db = tidelog.open_tree("unused.dl", forest)
        db.apply(forest.update({"a.py": text}).script)
    """
    with Arguments() as arguments:
        arguments.expect("tree", tree, "a Tree or a Forest", is_right=isinstance(tree, Tree | Forest))
        is_facts = facts is None or isinstance(facts, Mapping) or is_path(facts)
        wanted = "a folder, or a mapping from relations to facts"
        arguments.expect("facts", facts, wanted, is_right=is_facts)
        wanted = "a mapping from names to texts"
        arguments.mapping("defines", defines, wanted, of=lambda each: isinstance(each, str), is_optional=True)
    source = find_source(program)
    folders = paths("include_path", include_path)
    items = parse(source, include_path=folders, defines=defines).items
    known = _declared(items)
    texts = {id(item.span.source): item.span.source.text for item in items}
    generated = Source("tree", tree.declarations("\n".join(texts.values())))
    added = [item for item in parse(generated).items if not _name(item) & known]
    # After the program, so that its lines keep their numbers.
    whole = Source(source.name, f"{source.text}\n{print_tree(syntax.SyntaxTree(tuple(added)))}")
    own = tree.facts(known | _declared(added))
    other = _files(items, Path(facts)) if isinstance(facts, (str, Path)) else facts or {}
    whole_facts = {**other, **own}
    return open_session(whole, facts=whole_facts, include_path=include_path, defines=defines, **options)


def _files(items: Iterable[syntax.Item], folder: Path) -> dict[str, object]:
    """Return the files of a folder that hold the inputs of a program."""
    return {
        item.relation: folder / dict(item.parameters).get("filename", f"{item.relation}.facts")
        for item in items
        if isinstance(item, syntax.Directive) and item.kind is syntax.DirectiveKind.INPUT
    }


def _declared(items: Iterable[syntax.Item]) -> set[str]:
    return {name for item in items for name in _name(item)}


def _name(item: syntax.Item) -> set[str]:
    """Return what an item declares, or is about."""
    match item:
        case syntax.RelationDeclaration() | syntax.SubtypeDeclaration():
            return {item.name}
        case syntax.Directive():
            return {item.relation}
    return set()
