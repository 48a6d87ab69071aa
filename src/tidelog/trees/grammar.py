"""The schema of a tree-sitter grammar, asked of the grammar itself."""

from typing import TYPE_CHECKING, Final

from tidelog.trees.schema import ANY, NodeLink, NodeType, Schema, ValueKind, ValueLink

if TYPE_CHECKING:
    from tree_sitter import Language

# The link to children that stand in no field, the values every node can have, and the type of tokens.
CHILDREN: Final = "children"
TEXT: Final = "text"
WORDS: Final = "words"
TOKEN: Final = "token"  # noqa: S105 - a word of grammars


def grammar_schema(language: "Language", file_type: NodeType) -> Schema:
    """Return a schema with a type for every named kind of node.

    A grammar does not tell which fields a kind has, so each type has a link for every field of the
    grammar, in the order of its field ids, and `children` last. `grammar_links` finds out which of
    them can occur.
    """
    fields = [language.field_name_for_id(number) for number in range(1, language.field_count + 1)]
    links = tuple(NodeLink(str(name), (ANY,), optional=True, multiple=True) for name in (*fields, CHILDREN))
    values = (
        ValueLink(TEXT, ValueKind.SYMBOL, optional=True, doc="The text of a node with nothing below it"),
        ValueLink(WORDS, ValueKind.SYMBOL, optional=True, doc="The words in it that are not nodes"),
    )
    above = _supertypes(language)
    types = [
        file_type,
        NodeType(TOKEN, (), (), (ValueLink(TEXT, ValueKind.SYMBOL, doc="The text"),), "A token in a field."),
    ]
    types += [NodeType(kind, above.get(kind, ()), links, values) for kind in named_kinds(language)]
    return Schema(tuple(types))


def named_kinds(language: "Language") -> list[str]:
    """Return the names of the kinds of nodes that trees have."""
    kinds = {
        str(language.node_kind_for_id(number))
        for number in range(language.node_kind_count)
        if language.node_kind_is_named(number) and language.node_kind_is_visible(number)
    }
    return sorted(kinds - {"ERROR", TOKEN})


def grammar_links(language: "Language") -> dict[str, list[str]]:
    """Return the fields that each kind of node can have, and `children` if it can have any node below.

    A query that cannot match is refused when it is made, and that tells what can occur. It takes some
    seconds for a large grammar.
    """
    fields = [str(language.field_name_for_id(number)) for number in range(1, language.field_count + 1)]
    found: dict[str, list[str]] = {}
    for kind in named_kinds(language):
        found[kind] = [field for field in fields if _can_match(language, f"({kind} {field}: _)")]
        if _can_match(language, f"({kind} (_))"):
            found[kind].append(CHILDREN)
    return found


def _can_match(language: "Language", pattern: str) -> bool:
    from tree_sitter import Query, QueryError  # noqa: PLC0415 - an optional package

    try:
        Query(language, pattern)
    except QueryError:
        return False
    return True


def _supertypes(language: "Language") -> dict[str, tuple[str, ...]]:
    """Return the supertypes of each kind, those of supertypes too, without a leading underscore."""
    direct: dict[str, set[str]] = {}
    for number in language.supertypes:
        for below in language.subtypes(number):
            kind = str(language.node_kind_for_id(below))
            direct.setdefault(kind, set()).add(str(language.node_kind_for_id(number)))
    kinds = set(named_kinds(language))
    above: dict[str, tuple[str, ...]] = {}
    for kind in kinds:
        reached: dict[str, None] = {}
        pending = [kind]
        while pending:
            for name in sorted(direct.get(pending.pop(), ())):
                if name not in reached:
                    reached[name] = None
                    pending.append(name)
        names = [name.lstrip("_") for name in reached]
        # A supertype of the name of a kind would be confused with it.
        above[kind] = tuple(dict.fromkeys(name for name in names if name not in kinds))
    return above
