"""Sessions with a store in a few lines: a program's text, an engine, and its epochs."""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from programs import Relations, read
from tidelog.engine.epoch import EpochResult, MaintainedEngine, MaintenanceSettings, RelationChange
from tidelog.engine.protocol import Settings, SilentObserver
from tidelog.plan.passes import run_passes
from tidelog.program import build_program
from tidelog.program.nodes import Directive, Program
from tidelog.session.durable import DurableEpochs
from tidelog.session.engines import find_engine
from tidelog.source import Source
from tidelog.store import Store
from tidelog.syntax import parse
from tidelog.values import Codec, Fact

PATHS = """
.decl edge(x: number, y: symbol)
.input edge
.decl named(y: symbol, x: number)
named(y, x) :- edge(x, y).
.decl pair(z: symbol)
pair(cat(y, w)) :- edge(x, y), edge(x, w), y < w.
.type List = [head: number, tail: List]
.decl list(l: List)
list([x, nil]) :- edge(x, _).
list([x, [y, nil]]) :- edge(x, s), edge(y, s), x < y.
"""
Facts = Mapping[str, Sequence[Fact]]


@dataclass
class Kept:
    """An engine whose epochs go to a store."""

    epochs: DurableEpochs
    engine: MaintainedEngine
    codec: Codec
    store: Store

    def apply(self, insert: Facts | None = None, delete: Facts | None = None) -> EpochResult:
        """Insert facts that are not given yet and delete facts that are."""
        names = {**(insert or {}), **(delete or {})}
        changes = {
            name: RelationChange(
                self.encode(name, (insert or {}).get(name, ())),
                self.encode(name, (delete or {}).get(name, ())),
            )
            for name in names
        }
        return self.epochs.apply(changes, MaintenanceSettings(), SilentObserver())

    def change_rules(self, text: str) -> EpochResult:
        """Go on with another program."""
        program = build_text(text)
        self.codec.types = {**self.codec.types, **program.types}
        return self.epochs.change_rules(
            [Source("test.dl", text)], program, MaintenanceSettings(), SilentObserver()
        )

    def encode(self, name: str, facts: Sequence[Fact]) -> list:
        """Return facts as code columns."""
        columns = self.epochs.program.relations[name].columns
        values = list(zip(*facts, strict=True)) or [()] * len(columns)
        return [
            self.codec.encode_column(list(each), column.type)
            for each, column in zip(values, columns, strict=True)
        ]

    def relations(self) -> Relations:
        """Return all facts."""
        return {
            name: read(self.engine, relation, self.codec)
            for name, relation in self.epochs.program.relations.items()
        }

    def close(self) -> None:
        """Let go of the store."""
        self.epochs.close()


def build_text(text: str, inputs: Sequence[str] = ()) -> Program:
    """Return a program as the local engine takes it."""
    program, _ = build_program(parse(Source("test.dl", text)))
    named = tuple(Directive("input", name, {}) for name in inputs)
    return run_passes(replace(program, directives=(*program.directives, *named)))


def make(path: Path, text: str = PATHS, facts: Facts | None = None) -> Kept:
    """Return a new store of a program with these facts."""
    program = build_text(text)
    codec = Codec(program.types)
    store = Store.create(path, [Source("test.dl", text)], codec)
    engine = find_engine("local")(program, codec, Settings(jobs=1), {})
    kept = Kept(DurableEpochs(store, engine, program), engine, codec, store)
    for name, given in (facts or {}).items():
        engine.insert(name, kept.encode(name, given))
    engine.evaluate(SilentObserver())
    DurableEpochs.start(store, engine, program)
    return kept


def reopen(path: Path, *, read_only: bool = False) -> Kept:
    """Return the store as another process would open it."""
    store = Store.open(path, read_only=read_only)
    program = build_text("\n".join(source.text for source in store.snapshot_sources))
    codec = Codec(program.types)
    engine = find_engine("local")(program, codec, Settings(jobs=1), {})

    def build(sources: Sequence[Source]) -> Program:
        other = build_text("\n".join(source.text for source in sources))
        codec.types = {**codec.types, **other.types}
        return other

    return Kept(DurableEpochs.resume(store, engine, program, codec, build), engine, codec, store)


def from_scratch(text: str, edges: set[Fact]) -> Relations:
    """Return all facts that follow from these edges."""
    program = build_text(text)
    codec = Codec(program.types)
    engine = find_engine("local")(program, codec, Settings(jobs=1), {})
    columns = list(zip(*edges, strict=True)) or [(), ()]
    engine.insert(
        "edge", [codec.encode_column(list(c), t) for c, t in zip(columns, ("number", "symbol"), strict=True)]
    )
    engine.evaluate(SilentObserver())
    return {name: read(engine, relation, codec) for name, relation in program.relations.items()}


def random_change(chance: random.Random, edges: set[Fact]) -> tuple[set[Fact], set[Fact]]:
    """Return some edges to insert, with new texts at times, and some to delete."""
    deleted = set(chance.sample(sorted(edges), min(len(edges), chance.randrange(4))))
    inserted = {
        (chance.randrange(6), f"{chance.choice('abcäλ')}{chance.randrange(9)}")
        for _ in range(chance.randrange(5))
    }
    return inserted - edges, deleted
