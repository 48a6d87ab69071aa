"""Program texts, whole and damaged: read, printed, formatted, checked, planned, and some of them run."""

import random
from collections.abc import Iterable
from contextlib import suppress
from typing import Final

import tidelog
from tidelog.algebra.plan_report import report_plan
from tidelog.errors import TidelogError
from tidelog.plan.passes import keep_wanted
from tidelog.plan.statistics import KnownSizes
from tidelog.program import build_program
from tidelog.program.nodes import Program
from tidelog.source import Source
from tidelog.syntax import format_text, parse, print_tree
from tidelog.syntax.parser import parse_what_can_be
from tidelog.syntax.statements import is_unfinished, split_statements
from tidelog.syntax.tree import SyntaxTree
from tidelog.values import Fact, Kind, Value
from torture.corpus import program_items, program_words, programs
from torture.fuzzing import FuzzKind
from torture.mutation import mutate
from torture.random_rules import random_rules
from torture.shown import show
from torture.shrinking import Parts

# Longer programs are cut to a few of their items, so that one input takes less than a millisecond.
_LONG: Final = 220
# What is done with a text that parses, beside checking and planning it.
_PRINT, _RUN = "print", "run"
_LINES: Final = (
    *('#include "x.dl"', "#define A B", "#define F(x) x##x", "#define F(x, ...) #x", "#if", "#if 1/0"),
    "#elif x",
    *("#ifdef A", "#ifndef A", "#else", "#endif", "#undef A", "#error no", "#warning w", "#line 3"),
    "#pragma once",
    *("#", "##", "#define", "#define A A A", "#define A F(A", "#if (1 << 70) > 2"),
    *("#if defined(A) && !B", "#x"),
    *("#if 1 ? 2 : 3", "#define B A\n#define A B\nA(B).", "#if 5 % 0", "#if -1 >> 65", '#include "."'),
    "#include <a>",
)


def make(chance: random.Random) -> Parts:
    """Return a text, and what is to be done with it if it is right."""
    drawn = chance.random()
    if drawn < 0.25:
        text = random_rules(chance)
    elif drawn < 0.5:
        text = chance.choice(programs())
        text = text if len(text) <= _LONG else _some_items(chance)
    elif drawn < 0.97:
        text = _some_items(chance)
    else:
        text = " ".join(chance.choices(program_words(), k=chance.randint(1, 30)))
    operations = chance.choice((0, 1, 1, 1, 1, 2, 2, 4, 9))
    text = mutate(chance, text, program_words(), operations)
    if chance.random() < 0.1:
        lines = text.splitlines(keepends=True)
        for _ in range(chance.choice((1, 1, 2, 4))):
            lines.insert(chance.randint(0, len(lines)), chance.choice(_LINES) + "\n")
        text = "".join(lines)
    return text, chance.choices(("", _PRINT, _RUN), (7, 3, 1))[0]


def _some_items(chance: random.Random) -> str:
    """Return some items of one program in a row, or of several programs."""
    kept: list[str] = []
    for _ in range(chance.choice((1, 1, 1, 2))):
        items = chance.choice(program_items())
        begin = chance.choice((0, 0, chance.randrange(len(items))))
        for item in items[begin : begin + chance.randint(1, 8)]:
            if sum(map(len, kept)) + len(item) > _LONG:
                break
            kept.append(item)
    return "".join(kept)


def attempt(text: str, how: str) -> None:
    """Take a text through the stages as far as it goes, and check what comes out of each."""
    source = Source("fuzz.dl", text)
    check_statements(text)
    try:
        tree = parse(source)
    except TidelogError as error:
        show(error)
        check_the_rest(source)
        return
    if how == "print":
        check_texts(source, tree)
    try:
        program, warnings = build_program(tree)
    except TidelogError as error:
        show(error)
        return
    str(TidelogError(warnings))
    report_plan(keep_wanted(program), KnownSizes({}))
    if how == "run":
        run(source, program)


def check_statements(text: str) -> None:
    """Take a text apart as a notebook does; white space stands for all that is in another part."""
    is_unfinished(text)
    for part in split_statements(text):
        assert part.text.split("\n")[-1].strip() in text, "a part has the text of the whole"


def check_the_rest(source: Source) -> None:
    """Check what can be read of a text with mistakes, as `tidelog check` does."""
    with suppress(TidelogError):
        build_program(parse_what_can_be(source).tree)


def check_texts(source: Source, tree: SyntaxTree) -> None:
    """Print and format a tree; both texts must have the same tree, and the second its own layout."""
    assert parse(Source("printed.dl", print_tree(tree))) == tree, "the printed text has another tree"
    once = format_text(source)
    formatted = Source("fuzz.dl", once)
    assert parse(formatted) == tree, "the formatted text has another tree"
    assert format_text(formatted) == once, "formatting again changes the text"


def run(source: Source, program: Program) -> None:
    """Evaluate a program over a few facts, within limits."""
    facts = {name: few_facts(program, name) for name in program.relations if program.is_input(name)}
    try:
        with tidelog.open(source, facts=facts, jobs=1, iteration_limit=30, memory_limit="300M") as session:
            for name in session.relations:
                if len(session[name]) < 1000:
                    list(session[name])
    except TidelogError as error:
        show(error)


def few_facts(program: Program, name: str) -> Iterable[Fact]:
    """Return facts for an input relation, with as many values as its types easily have."""
    columns = program.relations[name].columns
    choices = [few_values(program, column.type) for column in columns]
    return [
        tuple(values[(row * (place + 1)) % len(values)] for place, values in enumerate(choices))
        for row in range(4)
    ]


def few_values(program: Program, type_name: str) -> tuple[Value, ...]:
    """Return some values of a type; records that may be nil are."""
    kinds = {"number": Kind.NUMBER, "unsigned": Kind.UNSIGNED, "float": Kind.FLOAT, "symbol": Kind.SYMBOL}
    kind = kinds.get(type_name) or program.types[type_name].kind
    match kind:
        case Kind.NUMBER:
            return 1, 2, 3, -7
        case Kind.UNSIGNED:
            return 0, 1, 2, 18446744073709551615
        case Kind.FLOAT:
            return 0.5, 1.0, -2.0, 1e300
        case Kind.SYMBOL:
            return "a", "b", "", "ä1"
        case _:
            return (None,)


def load() -> None:
    """Read the corpus and load the kernels that nearly every program needs."""
    program_items()
    run(
        *_built(
            ".decl e(x: number, y: symbol) .input e .decl p(x: number) p(x + 1) :- e(x, y), !e(x, cat(y, y))."
        )
    )


def _built(text: str) -> tuple[Source, Program]:
    source = Source("warm.dl", text)
    return source, build_program(parse(source))[0]


KIND: Final = FuzzKind("fuzz-programs", make, attempt, load)
