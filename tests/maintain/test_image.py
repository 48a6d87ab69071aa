"""An image is all that another engine needs to go on, and it builds nothing for that."""

import random
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.epochs import STRATEGIES, Maintained, difference, examples
from support.epochs_programs import AGGREGATES, FUNCTIONS, SPECIAL, tangled_epochs, tangled_programs
from support.programs import build
from tidelog.engine.epoch import Strategy
from tidelog.storage import Index, StoredRelation
from tidelog.storage.direct import DirectIndex

TREE = """
.decl parent(x: number, y: number)
.input parent
.decl name(x: number, n: symbol)
.input name
.decl above(x: number, y: number)
above(x, y) :- parent(x, y).
above(x, z) :- above(x, y), parent(y, z).
.decl same(x: number, y: number)
same(x, y) :- parent(x, z), parent(y, z), name(x, n), name(y, n), x != y.
.decl lonely(x: number)
lonely(x) :- parent(x, _), !same(x, _).
.decl quoted(q: symbol)
quoted(cat("'", n)) :- name(_, n).
.decl siblings(y: number, n: number)
siblings(y, n) :- parent(_, y), n = count : { parent(_, y) }.
"""


@settings(max_examples=examples(12))
@given(data=st.data(), strategy=st.sampled_from(STRATEGIES))
def test_an_engine_goes_on_from_an_image(tmp_path_factory, data: st.DataObject, strategy: Strategy):
    """An engine that took over an image holds the same, and follows epochs as if it had been there."""
    drawn = data.draw(
        tangled_programs(
            special=data.draw(st.sampled_from([(), SPECIAL, ("lattice",)])),
            aggregates=data.draw(st.sampled_from([("count",), AGGREGATES])),
        )
    )
    run = Maintained(build(drawn.text), FUNCTIONS).start(drawn.inputs)
    before = run.check()
    folder = tmp_path_factory.mktemp("images")

    for number, epoch in enumerate(data.draw(tangled_epochs(drawn, max_epochs=3))):
        annotations = run.annotations()
        run = run.mapped(folder / str(number))

        assert run.annotations() == annotations
        run.check()
        found = run.change(epoch.inserts, epoch.deletes, strategy=strategy)
        after = run.check()
        assert found == difference(before, after)
        before = after


def _tree(nodes: int, *, wide: bool = False) -> dict[str, list[tuple[object, ...]]]:
    """Return a tree of nodes with few names."""
    chance = random.Random(1)  # noqa: S311 - test data
    base = 1 << 40 if wide else 0
    return {
        "parent": [(base + node, base + chance.randrange(node)) for node in range(1, nodes)],
        "name": [(base + node, f"n{chance.randrange(9)}") for node in range(nodes)],
    }


@pytest.mark.parametrize("is_wide", [False, True])
def test_many_epochs_after_an_image(tmp_path: Path, *, is_wide: bool):
    """More rows come than an image has room for, codes of 32 and of 64 bits."""
    facts = _tree(300, wide=is_wide)
    run = Maintained(build(TREE)).start(facts).mapped(tmp_path / "image")
    base = facts["name"][0][0]

    for number in range(3):
        first = base + 300 + number * 3000
        new = [(first + node, base + node % 7) for node in range(3000)]
        run.change({"parent": new, "name": [(x, f"m{x % 5}") for x, _ in new]}, {"parent": new[:0]})
        run.change({}, {"parent": new[1::2], "name": [(x, f"m{x % 5}") for x, _ in new[1::2]]})

    again = run.again()
    assert run.relations() == again.relations()


def test_an_image_has_all_that_small_epochs_need(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """The first epoch after an image builds no table of rows and no index."""
    # What is made of the groups of an aggregate is not in an image.
    program = build(TREE.partition(".decl siblings")[0])
    run = Maintained(program).start(_tree(5000)).mapped(tmp_path / "image")
    built = []
    for kind, name in (Index, "_add_at_once"), (Index, "_add_first_rows"), (StoredRelation, "_build_slots"):
        monkeypatch.setattr(kind, name, lambda *_, name=name, **__: built.append(name))
    rows_entered = []
    add_rows = DirectIndex.add_rows
    monkeypatch.setattr(
        DirectIndex,
        "add_rows",
        lambda index, rows, count: (
            rows_entered.append(count - index.rows_indexed),
            add_rows(index, rows, count),
        ),
    )

    run.change({"parent": [(9000, 3)], "name": [(9000, "n1")]}, {"parent": [(4000, 1)]})

    assert not built
    assert sum(rows_entered) < 100


def test_tables_of_an_image_have_room(tmp_path: Path):
    """The first rows after an image are entered into the tables that it has: none is made again."""
    # What is made of the groups of an aggregate is not in an image.
    program = build(TREE.partition(".decl siblings")[0])
    run = Maintained(program).start(_tree(20_000)).mapped(tmp_path / "image")
    relations = run.engine.relations

    def tables() -> dict[object, int]:
        """Return how many slots each table has."""
        found: dict[object, int] = {name: len(relations[name].slots) for name in relations}
        for name in relations:
            found |= {(name, key): len(index.slots) for key, index in relations[name].indexes.items()}
        return found

    before = tables()
    # They come in codes of their own, so that indexes get new keys, too.
    new = [(20_000 + node, node) for node in range(1500)]
    run.change({"parent": new, "name": [(x, f"new{x}") for x, _ in new]}, {})

    after = tables()
    assert {name: after[name] for name in before} == before


def test_an_image_of_another_program_is_refused(tmp_path: Path):
    """Relations must be the same; the engine is as before."""
    run = Maintained(build(TREE)).start(_tree(20))
    run.mapped(tmp_path / "image")
    other = Maintained(build(".decl p(x: number)\n.input p\n"))
    relations = {"parent": {}}

    is_taken = other.engine.import_image(
        other.engine.export_state(), {"relations": relations}, lambda _: pytest.fail("nothing is read")
    )

    assert not is_taken
    other.start({"p": [(1,)]}).check()
