"""What a store promises of epochs: committed or never happened, and the same again when opened."""

import random
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tidelog
from support.storing import PATHS, from_scratch, make, random_change, relations, reopen, store_of
from tidelog.engine.epoch import EngineState
from tidelog.errors import TidelogError
from tidelog.session import open as open_module
from tidelog.store import Store
from tidelog.store import store as store_module
from tidelog.values import Branch, Codec

MORE = ".decl more(x: number)\nmore(x) :- edge(x, _).\n"


@pytest.fixture(autouse=True)
def patient(monkeypatch):
    """However slow the machine is, no snapshot is written but where a test asks for it."""
    monkeypatch.setattr(store_module, "_LEAST_SECONDS", 1e9)


def codes(error):
    """Return the codes of the diagnostics that were raised."""
    return [diagnostic.code for diagnostic in error.value.diagnostics]


def test_an_opened_store_has_every_epoch(tmp_path):
    """Facts, derived texts and records are there again, and so is the number of the epoch."""
    kept = make(tmp_path / "s", facts={"edge": [(1, "a"), (1, "b"), (2, "b")]})
    kept.apply(insert={"edge": [(3, "b"), (1, "new")]}, delete={"edge": [(1, "a")]})
    before = relations(kept)
    kept.close()

    again = reopen(tmp_path / "s")

    assert again.epoch == 1
    assert relations(again) == before == from_scratch(PATHS, {(1, "b"), (2, "b"), (3, "b"), (1, "new")})


@settings(max_examples=15)
@given(st.integers(0, 2**32))
def test_any_life_of_a_store_ends_as_from_scratch(tmp_path_factory, seed):
    """Epochs, snapshots and openings in any order give the relations of the facts they leave."""
    chance = random.Random(seed)  # noqa: S311 - no secret
    folder = tmp_path_factory.mktemp("store") / "s"
    edges = {(1, "a"), (1, "b")}
    kept = make(folder, facts={"edge": sorted(edges)})

    for _ in range(8):
        match chance.randrange(4):
            case 0:
                kept.close()
                kept = reopen(folder)
            case 1:
                kept.checkpoint()
            case _:
                inserted, deleted = random_change(chance, edges)
                kept.apply(insert={"edge": sorted(inserted)}, delete={"edge": sorted(deleted)})
                edges = (edges - deleted) | inserted
    kept.close()

    again = reopen(folder)
    assert relations(again) == from_scratch(PATHS, edges)
    again.close()


def test_codes_keep_their_meaning(tmp_path):
    """A text that an epoch made or used has the same code in the next process."""
    kept = make(tmp_path / "s", facts={"edge": [(1, "a")]})
    kept.snapshot.codec.symbols.code_of("only asked for")
    kept.apply(insert={"edge": [(1, "b"), (2, "ä")]})
    kept.apply(insert={"edge": [(2, "c")]})
    records = len(kept.snapshot.codec.records)
    texts = {
        text: kept.snapshot.codec.symbols.code_of(text)
        for text in ("a", "b", "ä", "c", "ab", "only asked for")
    }
    kept.close()

    again = reopen(tmp_path / "s")

    assert {text: again.snapshot.codec.symbols.find(text) for text in texts} == texts
    assert len(again.snapshot.codec.records) == records


def test_state_is_the_same_with_its_annotations(tmp_path):
    """Levels, counts and input marks come back from a snapshot fact by fact."""
    kept = make(tmp_path / "s", facts={"edge": [(1, "a"), (2, "a"), (3, "a")]})
    before = kept.snapshot.engine.export_state()
    kept.close()

    after = reopen(tmp_path / "s").snapshot.engine.export_state()

    assert annotated(after) == annotated(before)
    assert list(after.stratum_work) == list(before.stratum_work)


def annotated(state: EngineState):
    """Return every fact with its annotations."""
    return {
        name: {
            (tuple(fact), level, count, given)
            for fact, level, count, given in zip(
                np.column_stack(each.columns).tolist(),
                each.levels.tolist(),
                each.counts.tolist(),
                each.is_input.tolist(),
                strict=True,
            )
        }
        for name, each in state.relations.items()
    }


def test_a_change_of_rules_is_an_epoch(tmp_path):
    """A store goes on with the rules of its last epoch, from the log and from a snapshot."""
    kept = make(tmp_path / "s", facts={"edge": [(1, "a")]})
    kept.add_rules(MORE)
    kept.apply(insert={"edge": [(2, "a")]})
    kept.close()

    from_log = reopen(tmp_path / "s")
    assert relations(from_log)["more"] == {(1,), (2,)}
    from_log.checkpoint()
    from_log.close()

    assert relations(reopen(tmp_path / "s")) == from_scratch(PATHS + MORE, {(1, "a"), (2, "a")})


def test_a_state_of_other_rules_is_computed_again(tmp_path, monkeypatch):
    """Annotations by another version are not taken over: the input facts are evaluated."""
    kept = make(tmp_path / "s", facts={"edge": [(1, "a"), (2, "a")]})
    kept.apply(insert={"edge": [(3, "b")]})
    kept.close()
    monkeypatch.setattr(open_module, "fingerprint", lambda program, _kind: f"another {len(program.rules)}")

    again = reopen(tmp_path / "s")

    assert relations(again) == from_scratch(PATHS, {(1, "a"), (2, "a"), (3, "b")})


def test_a_store_can_be_moved(tmp_path):
    """Nothing in a store depends on where it is."""
    kept = make(tmp_path / "s", facts={"edge": [(1, "a")]})
    kept.apply(insert={"edge": [(2, "b")]})
    kept.close()
    shutil.move(tmp_path / "s", tmp_path / "elsewhere")

    assert relations(reopen(tmp_path / "elsewhere")) == from_scratch(PATHS, {(1, "a"), (2, "b")})


def test_included_files_are_part_of_the_store(tmp_path):
    """A program that includes files and needs macros is opened again without them."""
    (tmp_path / "types.dl").write_text(".decl edge(x: number, y: LABEL)\n")
    (tmp_path / "main.dl").write_text('#include "types.dl"\n.input edge\n')
    folder = tmp_path / "s"
    tidelog.open(
        tmp_path / "main.dl", defines={"LABEL": "symbol"}, facts={"edge": [(1, "a")]}, store=folder
    ).close()
    (tmp_path / "types.dl").unlink()
    (tmp_path / "main.dl").unlink()

    again = reopen(folder)

    again.apply(insert="edge(2, 'b')")
    assert set(again["edge"]) == {(1, "a"), (2, "b")}


# --- who may open it ------------------------------------------------------------------------


def test_a_second_writer_is_refused(tmp_path):
    """The message names the process that writes; afterwards the store is free."""
    kept = make(tmp_path / "s")
    attempt = (
        "import sys; from pathlib import Path; from tidelog.store import Store; "
        "Store.open(Path(sys.argv[1])).close(); print('open')"
    )
    command = [sys.executable, "-c", attempt, str(tmp_path / "s")]

    refused = subprocess.run(command, capture_output=True, text=True, check=False)
    with pytest.raises(TidelogError) as error:
        reopen(tmp_path / "s")
    kept.close()
    allowed = subprocess.run(command, capture_output=True, text=True, check=False)

    assert "store-in-use" in refused.stderr
    assert codes(error) == ["store-in-use"]
    assert "process " in error.value.diagnostics[0].message
    assert allowed.stdout == "open\n"


def test_readers_see_the_last_committed_epoch(tmp_path):
    """A reader beside a writer has what was committed when it came, and stays at that."""
    kept = make(tmp_path / "s", facts={"edge": [(1, "a")]})
    kept.apply(insert={"edge": [(2, "b")]})
    store_of(kept).begin({})

    reader = reopen(tmp_path / "s", read_only=True)
    store_of(kept).roll_back()
    kept.apply(insert={"edge": [(3, "c")]})
    kept.checkpoint()

    assert reader.epoch == 1
    assert relations(reader) == from_scratch(PATHS, {(1, "a"), (2, "b")})
    later = reopen(tmp_path / "s", read_only=True)
    assert relations(later) == from_scratch(PATHS, {(1, "a"), (2, "b"), (3, "c")})


def test_a_reader_holds_files_that_a_snapshot_replaces(tmp_path):
    """Between opening and loading the writer may put a new snapshot in place."""
    kept = make(tmp_path / "s", facts={"edge": [(1, "a")]})
    store = Store.open(tmp_path / "s", read_only=True)
    kept.apply(insert={"edge": [(2, "b")]})
    kept.checkpoint()

    loaded = store.load(Codec({}))

    assert store.epoch == 0
    assert loaded.state.relations["edge"].levels.size == 1


def test_a_reader_changes_nothing(tmp_path):
    """A store that is open for reading takes no epoch, and the engine does not advance."""
    make(tmp_path / "s", facts={"edge": [(1, "a")]}).close()
    reader = reopen(tmp_path / "s", read_only=True)
    before = relations(reader)

    with pytest.raises(TidelogError) as error:
        reader.apply(insert={"edge": [(2, "b")]})

    assert codes(error) == ["read-only-store"]
    assert relations(reader) == before


def test_no_store_and_no_room_for_one(tmp_path):
    """A folder without a store cannot be opened, one with other files does not become a store."""
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "letter.txt").write_text("dear")

    with pytest.raises(TidelogError) as missing:
        reopen(tmp_path / "nothing")
    with pytest.raises(TidelogError) as existing:
        make(tmp_path / "full")
    make(tmp_path / "s").close()
    with pytest.raises(TidelogError) as again:
        Store.create(tmp_path / "s", [], Codec({}))

    assert codes(missing) == ["no-store"]
    assert codes(existing) == codes(again) == ["store-exists"]
    assert (tmp_path / "full" / "letter.txt").exists()


# --- snapshots ------------------------------------------------------------------------------


def files(folder: Path):
    """Return the names of a store's files."""
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


def test_a_snapshot_replaces_the_log(tmp_path):
    """After a snapshot there is nothing to replay, and files of the old one are gone."""
    kept = make(tmp_path / "s", facts={"edge": [(1, "a")]})
    kept.apply(insert={"edge": [(2, "b")]})

    kept.checkpoint()

    status = store_of(kept).status()
    assert (status.epoch, status.snapshot_epoch, status.past) == (1, 1, ())
    assert "log.0" not in files(tmp_path / "s")
    assert "log.1" in files(tmp_path / "s")


def test_a_snapshot_leaves_unchanged_relations_alone(tmp_path):
    """The file of a relation that did not change is not written again."""
    text = PATHS + ".decl other(x: number)\n.input other\n"
    kept = make(tmp_path / "s", text, facts={"edge": [(1, "a")], "other": [(1,), (2,)]})
    before = {name for name in files(tmp_path / "s") if "other" in name}
    kept.apply(insert={"edge": [(2, "b")]})

    kept.checkpoint()

    assert {name for name in files(tmp_path / "s") if "other" in name} == before


def test_a_long_log_becomes_a_snapshot(tmp_path, monkeypatch):
    """When replaying the log would take too long, an epoch ends with a snapshot."""
    monkeypatch.setattr(store_module, "_LEAST_LOG_BYTES", 2000)
    kept = make(tmp_path / "s", facts={"edge": [(1, "a")]})

    for number in range(40):
        kept.apply(insert={"edge": [(number, f"text {number}")]})

    assert store_of(kept).status().snapshot_epoch > 0
    assert store_of(kept).status().log_bytes < 6000
    kept.close()
    assert reopen(tmp_path / "s").epoch == 40


def test_relations_are_readable_as_parquet(tmp_path):
    """Numbers are numbers; texts are codes, which the files of symbols explain."""
    kept = make(tmp_path / "s", facts={"edge": [(1, "a"), (2, "ä")]})
    kept.close()
    folder = tmp_path / "s"

    edges = pq.read_table(next((folder / "relations").glob("edge.*"))).to_pylist()
    texts = {row["code"]: row["text"] for row in pq.read_table(folder / "symbols.0.parquet").to_pylist()}

    assert {(row["x"], texts[row["y"]]) for row in edges} == {(1, "a"), (2, "ä")}
    assert all(row["@input"] and row["@level"] == 0 for row in edges)


def test_every_kind_of_value_survives(tmp_path):
    """Extreme numbers, floats without a value, empty texts, nil and branches are stored exactly."""
    text = """
    .type T = A {} | B {x: unsigned, t: T}
    .type R = [a: float, b: R]
    .decl edge(n: number, u: unsigned, f: float, s: symbol, r: R, t: T)
    .input edge
    .decl held()
    held() :- edge(_, _, _, _, _, _).
    .decl copy(n: number, u: unsigned, f: float, s: symbol, r: R, t: T)
    copy(n, u, f, s, r, t) :- edge(n, u, f, s, r, t).
    """
    facts = [
        (-(2**63), 2**64 - 1, float("inf"), "", None, Branch("A")),
        (2**63 - 1, 0, -0.5, "x\0y\n", (1.5, (float("-inf"), None)), Branch("B", (2**63, Branch("A")))),
    ]
    kept = make(tmp_path / "s", text, facts={"edge": facts[:1]})
    kept.apply(insert={"edge": facts[1:]})
    before = relations(kept)
    kept.close()

    replayed = reopen(tmp_path / "s")
    replayed.checkpoint()
    after = relations(replayed)
    replayed.close()

    assert before["copy"] == set(facts)
    assert after == before == relations(reopen(tmp_path / "s"))
