"""The plain part of a workload's program, read into a form that every peer can be told in its own words.

The peers run the very rules of the `.dl` file. Read here are relations of numbers and symbols, and rules
of atoms, negated atoms, `!=`, variables and constants; a program that uses more has no plain form.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_TOKEN = re.compile(r'\s+|(?P<token>"[^"]*"|:-|!=|\w+|[(),!])|(?P<other>.)', re.DOTALL)
_DECLARATION = re.compile(r"\.decl\s+(\w+)\s*\((.*)\)")
_DIRECTIVE = re.compile(r"\.(input|printsize)\s+(.*)")
_NAME = re.compile(r'(\w+)(?:\(filename="([^"]*)"\))?')


class NotPlainError(Exception):
    """The program uses more than plain rules."""


@dataclass(frozen=True, slots=True)
class PlainAtom:
    """A relation applied to terms; a term is a variable, `_`, a number or a text in double quotes."""

    relation: str
    terms: tuple[str, ...]
    is_negated: bool = False


@dataclass(frozen=True, slots=True)
class PlainRule:
    """`head :- body, unequal`"""

    head: PlainAtom
    body: tuple[PlainAtom, ...]
    unequal: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class PlainProgram:
    """Relations with their columns' kinds (`number` or `symbol`), inputs with their files, and rules."""

    columns: dict[str, tuple[str, ...]]
    inputs: dict[str, str]
    printed: tuple[str, ...]
    rules: tuple[PlainRule, ...]

    @property
    def derived(self) -> tuple[str, ...]:
        """Return the relations that stand at a rule's head, each once."""
        return tuple(dict.fromkeys(rule.head.relation for rule in self.rules))


def is_variable(term: str) -> bool:
    """Return whether the term is a variable; `_` is none."""
    return term != "_" and not term.startswith('"') and not term[0].isdigit()


def read_plain_program(path: Path) -> PlainProgram:
    """Return the program; raise `NotPlainError` if it uses more than plain rules."""
    text = re.sub(r"//.*", "", path.read_text(encoding="utf-8"))
    types: dict[str, str] = {"number": "number", "symbol": "symbol"}
    columns: dict[str, tuple[str, ...]] = {}
    inputs: dict[str, str] = {}
    printed: list[str] = []
    rules: list[str] = []
    for line in text.splitlines():
        if subtype := re.match(r"\.type\s+(\w+)\s*<:\s*(\w+)", line):
            types[subtype[1]] = types[subtype[2]]
        elif declaration := _DECLARATION.match(line):
            written = (column.split(":")[1].strip() for column in declaration[2].split(","))
            columns[declaration[1]] = tuple(types[kind] for kind in written)
        elif directive := _DIRECTIVE.match(line):
            for name, filename in _NAME.findall(directive[2]):
                if directive[1] == "input":
                    inputs[name] = filename or f"{name}.facts"
                else:
                    printed.append(name)
        elif line.startswith((".", "#")):
            raise NotPlainError(line)
        else:
            rules.append(line)
    statements = re.split(r"\.(?=\s)", "\n".join([*rules, ""]))
    parsed = tuple(_rule(statement) for statement in statements if statement.strip())
    return PlainProgram(columns, inputs, tuple(printed), parsed)


def _rule(statement: str) -> PlainRule:
    tokens: list[str] = []
    for match in _TOKEN.finditer(statement):
        if match["other"]:
            raise NotPlainError(statement.strip())
        if match["token"]:
            tokens.append(match["token"])
    rest = iter([*tokens, ""])
    head = _atom(next(rest), rest)
    body: list[PlainAtom] = []
    unequal: list[tuple[str, str]] = []
    if next(rest) == ":-":
        following = ","
        while following == ",":
            word = next(rest)
            if word == "!":
                body.append(_atom(next(rest), rest, is_negated=True))
                following = next(rest)
                continue
            operator = next(rest)
            if operator == "!=":
                unequal.append((word, next(rest)))
            elif operator == "(":
                body.append(PlainAtom(word, tuple(_terms(rest))))
            else:
                raise NotPlainError(statement.strip())
            following = next(rest)
    return PlainRule(head, tuple(body), tuple(unequal))


def _atom(relation: str, rest: Iterator[str], *, is_negated: bool = False) -> PlainAtom:
    if next(rest) != "(":
        raise NotPlainError(relation)
    return PlainAtom(relation, tuple(_terms(rest)), is_negated)


def _terms(rest: Iterator[str]) -> Iterator[str]:
    while True:
        yield next(rest)
        after = next(rest)
        if after == ")":
            return
        if after != ",":
            raise NotPlainError(after)
