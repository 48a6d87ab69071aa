"""Edits of single statements, and a history made of them, for source that has none at hand."""

import ast
import random
from collections.abc import Iterator

Texts = dict[str, str]
Changes = dict[str, str | None]


def edit_statement(text: str, chance: random.Random) -> str | None:
    """Return the text with one statement inserted, deleted or changed; None if none can be."""
    found = _statements(text)
    if not found:
        return None
    statement = chance.choice(found)
    lines = text.split("\n")
    at, indent = statement.lineno - 1, " " * statement.col_offset
    match chance.choice(("insert", "insert", "delete", "change")):
        case "insert":
            name = f"value_{chance.randrange(1000)}"
            lines.insert(at, f"{indent}{name} = len({chance.choice(_names(statement))})")
        case "delete":
            lines[at] = f"{indent}pass"
        case _:
            lines[at] = f"{indent}print({chance.choice(_names(statement))})"
    changed = "\n".join(lines)
    try:
        ast.parse(changed)
    except (SyntaxError, ValueError):
        return None
    return changed


def made_history(texts: Texts, count: int, seed: int = 1) -> Iterator[Changes]:
    """Yield commits: in one to four files, one to six statements each."""
    chance = random.Random(seed)  # noqa: S311 - not for secrets
    now, paths = dict(texts), sorted(texts)
    for _ in range(count):
        changes: Changes = {}
        for path in chance.sample(paths, chance.randint(1, 4)):
            text = now[path]
            for _ in range(chance.randint(1, 6)):
                text = edit_statement(text, chance) or text
            if text != now[path]:
                changes[path] = now[path] = text
        yield changes


def _statements(text: str) -> list[ast.stmt]:
    """Return the statements that have a line of their own."""
    lines = text.split("\n")
    return [
        node
        for node in ast.walk(ast.parse(text))
        if isinstance(node, (ast.Assign, ast.Expr, ast.Return, ast.AugAssign))
        and node.lineno == node.end_lineno
        and not lines[node.lineno - 1][: node.col_offset].strip()
        and ";" not in lines[node.lineno - 1]
    ]


def _names(statement: ast.stmt) -> list[str]:
    """Return names that the statement reads, or one that is always there."""
    found = [node.id for node in ast.walk(statement) if isinstance(node, ast.Name)]
    return found or ["str"]
