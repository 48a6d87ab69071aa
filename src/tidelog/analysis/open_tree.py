"""A session over a tree: the relations that a program names, declared and filled."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol, cast, overload

from tidelog.errors.arguments import Arguments, is_path
from tidelog.options import Named, OpenOptions, combine_options, show_options
from tidelog.session.load import FactsAndFolder
from tidelog.session.open import SomeProgram, open_session
from tidelog.session.session import Session
from tidelog.source import Source
from tidelog.syntax import parse, print_tree
from tidelog.syntax import tree as syntax
from tidelog.syntax.find_source import find_source
from tidelog.trees.forest import Forest
from tidelog.trees.tree import Tree


class OpeningTree(Protocol[Named]):
    """What `open_tree` is to a type checker, which reads the options from `OpenOptions`."""

    @overload
    def __call__(
        self, program: SomeProgram, tree: Tree | Forest, /, *args: Named.args, **options: Named.kwargs
    ) -> Session: ...

    @overload
    def __call__(self, program: SomeProgram, tree: Tree | Forest, *, options: OpenOptions) -> Session: ...


def _opening(_: Callable[Named, OpenOptions]) -> Callable[[Callable[..., Session]], OpeningTree[Named]]:
    """Return what makes a function one that takes these options by name."""
    return lambda function: cast("OpeningTree[Named]", show_options(function))


@_opening(OpenOptions)
def open_tree(
    program: SomeProgram, tree: Tree | Forest, *, options: OpenOptions | None = None, **named: Any
) -> Session:
    """Return a session over the program and the facts of a tree or forest.

    The program need not declare the relations of the tree: those that it names and does not declare
    are declared for it. `facts` are for the program's other inputs, by relation or in a folder.
    The options are those of `tidelog.open`.

        db = tidelog.open_tree("unused.dl", forest)
        db.apply(forest.update({"a.py": text}).script)
    """
    chosen = combine_options(options, named)
    facts = chosen.facts
    with Arguments() as arguments:
        arguments.expect("tree", tree, "a Tree or a Forest", is_right=isinstance(tree, Tree | Forest))
        is_facts = facts is None or isinstance(facts, Mapping) or is_path(facts)
        wanted = "a folder, or a mapping from relations to facts"
        arguments.expect("facts", facts, wanted, is_right=is_facts)
    source = find_source(program)
    items = parse(source, include_path=chosen.include_folders, defines=chosen.defines).items
    known = _declared(items)
    added = declared_by_tree(items, tree)
    # After the program, so that its lines keep their numbers.
    whole = Source(source.name, f"{source.text}\n{print_tree(syntax.SyntaxTree(added))}")
    own: Mapping[str, object] = tree.facts(known | _declared(added))
    if isinstance(facts, Mapping):
        own = {**facts, **own}
    elif facts is not None:
        own = FactsAndFolder(own, Path(facts), _inputs(items) - set(own))
    return open_session(whole, options=replace(chosen, facts=own))


def declared_by_tree(items: Iterable[syntax.Item], tree: Tree | Forest) -> tuple[syntax.Item, ...]:
    """Return declarations of the tree's relations that a program names and does not declare."""
    found = tuple(items)
    known = _declared(found)
    texts = {id(item.span.source): item.span.source.text for item in found}
    generated = Source("tree", tree.declarations("\n".join(texts.values())))
    return tuple(item for item in parse(generated).items if not _name(item) & known)


def _inputs(items: Iterable[syntax.Item]) -> set[str]:
    """Return the relations that a program reads from files."""
    return {
        item.relation
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
