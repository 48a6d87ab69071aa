"""Running a program's text on an engine, and its relations as readable text."""

import json
from collections.abc import Iterable, Mapping
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tidelog.engine.lattice_tables import with_tables
from tidelog.engine.protocol import Engine, Settings, SilentObserver, UserFunctions
from tidelog.errors import TidelogError
from tidelog.program import build_program
from tidelog.program.nodes import Program, Relation
from tidelog.source import Source
from tidelog.syntax import parse
from tidelog.values import Branch, Codec, Fact, Value
from tidelog.values.functors import canonical_value, order_key

if TYPE_CHECKING:
    from support.strategies import RandomProgram

ENGINES = ("reference", "local")
_CLASSES = {
    "reference": ("tidelog.engine.reference", "ReferenceEngine"),
    "local": ("tidelog.engine.local", "LocalEngine"),
}
Facts = Mapping[str, Iterable[Fact]]
Relations = dict[str, frozenset[Fact]]


def engine_class(name: str) -> type | None:
    """Return the engine's class, or None while there is none."""
    module, attribute = _CLASSES[name]
    return getattr(import_module(module), attribute, None)


def not_yet(engine: str, reason: str) -> pytest.MarkDecorator:
    """Return the marker of a gap: the test must fail, and the marker go once it passes."""
    return pytest.mark.xfail(reason=f"{engine}: {reason}", strict=True)


def each_engine(gaps: Mapping[str, str] | None = None) -> list[object]:
    """Return the engines as parameters of a test; `gaps` has a reason by engine."""
    known = dict(gaps or {})
    for name in ENGINES:
        if engine_class(name) is None:
            known[name] = "the engine does not exist"
    return [
        pytest.param(name, id=name, marks=not_yet(name, known[name]) if name in known else ())
        for name in ENGINES
    ]


def build(text: str, name: str = "test.dl") -> Program:
    """Return the checked program of a text; warnings are of no interest here."""
    program, _ = build_program(parse(Source(name, text)))
    return program


def run(
    text: str,
    *,
    engine: str = "reference",
    inputs: Facts | None = None,
    functions: UserFunctions | None = None,
    settings: Settings | None = None,
) -> Relations:
    """Return every relation after evaluation.

    run(".decl a(x: number) a(1).")["a"] == {(1,)}
    """
    return run_program(build(text), engine=engine, inputs=inputs, functions=functions, settings=settings)


def run_program(
    program: Program,
    *,
    engine: str = "reference",
    inputs: Facts | None = None,
    functions: UserFunctions | None = None,
    settings: Settings | None = None,
) -> Relations:
    """Return every relation of a built program after evaluation."""
    codec = Codec(program.types)
    found = engine_class(engine)
    assert found is not None, f"there is no engine called {engine}"
    running: Engine = found(
        program, codec, settings or Settings(jobs=1), with_tables(program, functions or {})
    )
    for relation, facts in (inputs or {}).items():
        insert(running, program.relations[relation], codec, facts)
    running.evaluate(SilentObserver())
    return {name: read(running, relation, codec) for name, relation in program.relations.items()}


def outcome_of(program: "RandomProgram", jobs: int = 1) -> Relations | list[str]:
    """Return the relations of a random program on the local engine, or the codes of its mistakes."""
    limits = Settings(iteration_limit=200, jobs=jobs)
    try:
        return run_program(build(program.text), engine="local", inputs=program.inputs, settings=limits)
    except TidelogError as error:
        return [diagnostic.code for diagnostic in error.diagnostics]


def insert(engine: Engine, relation: Relation, codec: Codec, facts: Iterable[Fact]) -> None:
    """Give an engine facts as Python values."""
    columns = list(zip(*facts, strict=True)) or [()] * relation.arity
    engine.insert(
        relation.name,
        [
            codec.encode_column(list(values), column.type)
            for values, column in zip(columns, relation.columns, strict=True)
        ],
    )


def read(engine: Engine, relation: Relation, codec: Codec) -> frozenset[Fact]:
    """Return a relation's facts as Python values; each stands there once."""
    if relation.arity == 0:
        return frozenset([()] * engine.size(relation.name))
    columns = [
        map(canonical_value, codec.decode_column(codes, column.type))
        for codes, column in zip(engine.facts(relation.name), relation.columns, strict=True)
    ]
    facts = list(zip(*columns, strict=True))
    assert len(set(facts)) == len(facts) == engine.size(relation.name), f"{relation.name} holds a fact twice"
    return frozenset(facts)


def outputs(program: Program) -> list[str]:
    """Return the names of the output relations, in the order written."""
    return list(dict.fromkeys(d.relation for d in program.directives if d.kind == "output"))


def show(relations: Relations, names: Iterable[str]) -> str:
    """Return facts one per line, in value order; an empty relation says so."""
    lines = []
    for name in names:
        facts = sorted(relations[name], key=order_key)
        lines.extend(f"{name}({', '.join(map(written, fact))})" for fact in facts)
        if not facts:
            lines.append(f"{name} is empty")
    return "\n".join(lines) + "\n"


def written(value: Value) -> str:
    """Return a value as it stands in a program."""
    match value:
        case None:
            return "nil"
        case str():
            return json.dumps(value, ensure_ascii=False)
        case tuple():
            return f"[{', '.join(map(written, value))}]"
        case Branch():
            return f"${value.name}" + (f"({', '.join(map(written, value.fields))})" if value.fields else "")
        case _:
            return repr(value)


def read_inputs(program: Program, folder: Path) -> Facts:
    """Return the facts of a folder's `RELATION.facts` files, columns separated by tabs."""
    codec = Codec(program.types)
    inputs: dict[str, list[Fact]] = {}
    for path in sorted(folder.glob("*.facts")):
        columns = program.relations[path.stem].columns
        inputs[path.stem] = [
            tuple(
                codec.decode(codec.parse(text, column.type), column.type)
                for text, column in zip(line.split("\t"), columns, strict=True)
            )
            for line in path.read_text(encoding="utf-8").splitlines()
        ]
    return inputs
