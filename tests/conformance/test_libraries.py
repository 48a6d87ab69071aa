"""Functors from C libraries: programs with the relations they must give, on every engine and by epochs.

A case is `libraries/NAME.dl` as in `cases`; the libraries lie beside it as sources.
"""

import pytest

import tidelog
from support.compiled import SOURCES, library, needs_compiler
from support.programs import build, outputs, read_inputs, show
from tidelog.values.functors import canonical_value

pytestmark = needs_compiler
NAMES = sorted(path.stem for path in SOURCES.glob("*.dl"))
LIBRARIES = ("functors", "tables", "ported")


def _read(name: str) -> tuple[str, dict[str, list[tuple[object, ...]]]]:
    text = (SOURCES / f"{name}.dl").read_text(encoding="utf-8")
    return text, dict(read_inputs(build(text, f"{name}.dl"), SOURCES / f"{name}.facts"))


def _open(name: str, **options: object) -> tidelog.Session:
    libraries = [library(each) for each in LIBRARIES]
    return tidelog.open(SOURCES / f"{name}.dl", libraries=libraries, **options)


def _shown(db: tidelog.Session, names: list[str]) -> str:
    facts = {name: frozenset(tuple(map(canonical_value, fact)) for fact in db[name]) for name in names}
    return show(facts, names)


@pytest.mark.parametrize("engine", ["reference", "local"])
@pytest.mark.parametrize("name", NAMES)
def test_case_gives_its_relations(name: str, engine: str):
    """The engine derives exactly the facts that stand beside the program."""
    text, inputs = _read(name)

    db = _open(name, engine=engine, facts=inputs)

    assert _shown(db, outputs(build(text))) == (SOURCES / f"{name}.expected").read_text(encoding="utf-8")


@pytest.mark.parametrize("strategy", ["auto", "update"])
@pytest.mark.parametrize("name", NAMES)
def test_case_follows_its_facts(name: str, strategy: str):
    """Facts that are inserted and then deleted one by one give in every epoch what the oracle gives."""
    text, inputs = _read(name)
    names = outputs(build(text))
    changes = [(relation, fact) for relation, facts in inputs.items() for fact in facts]
    db = _open(name, strategy=strategy, facts={relation: [] for relation in inputs})

    for count, (relation, fact) in enumerate(changes, 1):
        db.apply(insert={relation: [fact]})
        assert _shown(db, names) == _oracle(name, names, inputs, changes[:count])
    assert _shown(db, names) == (SOURCES / f"{name}.expected").read_text(encoding="utf-8")
    for left in range(len(changes) - 1, -1, -1):
        relation, fact = changes[left]
        db.apply(delete={relation: [fact]})
        assert _shown(db, names) == _oracle(name, names, inputs, changes[:left])


def _oracle(name: str, names: list[str], inputs: dict, present: list) -> str:
    facts = {each: [fact for relation, fact in present if relation == each] for each in inputs}
    return _shown(_open(name, engine="reference", facts=facts), names)


@pytest.mark.parametrize("name", NAMES)
def test_case_has_proofs(name: str):
    """Every fact has a proof, which calls the library again."""
    text, inputs = _read(name)
    db = _open(name, facts=inputs)

    for relation in outputs(build(text)):
        for fact in db[relation]:
            assert db.why((relation, fact)).atom.relation == relation


def test_every_case_is_complete():
    """Every program has its expected relations and its facts."""
    assert {path.stem for path in SOURCES.glob("*.expected")} == set(NAMES)
    assert {path.stem for path in SOURCES.glob("*.facts")} == set(NAMES)
