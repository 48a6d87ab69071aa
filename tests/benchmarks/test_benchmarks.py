"""The benchmarks on inputs small enough to check by other means."""

import itertools
import json
import sys
import tarfile
from dataclasses import replace

import numpy as np
import pytest

import tidelog
from benchmarks.__main__ import main
from benchmarks.data import facts_folder, first_lines
from benchmarks.generators import gnp, grid, lubm, rmat, tree, write_arcs
from benchmarks.measure import measure
from benchmarks.overhead import measure_pairs, summary
from benchmarks.peers import PEERS
from benchmarks.peers.rules import NotPlainError, PlainAtom, read_plain_program
from benchmarks.picture import draw
from benchmarks.report import line, markdown, read_json, results_page, write_json
from benchmarks.runner import How, Run, run_peer, run_tidelog
from benchmarks.workload import WORKLOADS, Generated, Published, Workload
from tidelog.program import build_program
from tidelog.source import Source
from tidelog.syntax import parse

LIBRARIES = {"duckdb": "duckdb", "nemo": "nmo_python", "clingo": "clingo", "logica": "logica"}


def closure_of_grid(side: int) -> int:
    """Return how many pairs of distinct vertices of a grid a path connects."""
    along = (side + 1) * (side + 2) // 2
    return along**2 - (side + 1) ** 2


def small_grid(side: int = 4) -> Workload:
    """Return the transitive closure of a small grid."""
    facts = Generated(lambda folder: write_arcs(grid(side), folder / "arc.facts"))
    return Workload(f"small{side}", "tc.dl", facts, "a small grid", {"tc": closure_of_grid(side)})


@pytest.fixture
def grid_facts(tmp_path):
    """Return a folder with the facts of a small grid."""
    folder = tmp_path / "facts"
    folder.mkdir()
    write_arcs(grid(4), folder / "arc.facts")
    return folder


# --- generators ----------------------------------------------------------------------------


@pytest.mark.parametrize("side", [50, 100, 150])
def test_grid_has_the_published_closure(side):
    """The expected sizes of the grid workloads follow from counting paths."""
    published = {workload.name: workload.expected for workload in WORKLOADS}

    assert published[f"tc_grid{side}"]["tc"] == closure_of_grid(side)
    assert len(grid(side)) == 2 * side * (side + 1)


def test_tree_gives_every_vertex_one_parent():
    """A tree has one arc less than vertices, no child twice, and the depth asked for."""
    arcs = tree(5, 2, 4, seed=3)

    parents = dict(zip(arcs[:, 1].tolist(), arcs[:, 0].tolist(), strict=True))
    depth, vertex = 0, int(arcs[-1, 1])
    while vertex:
        depth, vertex = depth + 1, parents[vertex]
    assert sorted(parents) == list(range(1, len(arcs) + 1))
    assert depth == 5


def test_gnp_has_distinct_arcs_without_loops():
    """Random arcs are distinct, join distinct vertices, and are as many as the probability says."""
    arcs = gnp(200, 0.05, seed=1)

    assert len(np.unique(arcs, axis=0)) == len(arcs)
    assert (arcs[:, 0] != arcs[:, 1]).all()
    assert arcs.min() >= 0
    assert arcs.max() < 200
    assert 1500 < len(arcs) < 2500


def test_rmat_prefers_few_vertices():
    """An R-MAT graph has its arcs where the recursion leads: the low half has more than the high half."""
    arcs = rmat(8, 2000, seed=1)

    assert len(np.unique(arcs, axis=0)) == len(arcs)
    assert arcs.max() < 256
    assert (arcs[:, 0] < 128).sum() > 1.5 * (arcs[:, 0] >= 128).sum()


def test_lubm_has_the_size_of_a_university():
    """A university has about 100,000 distinct triples and a schema that only names what it knows."""
    schema, assertions = lubm(1)
    triples = list(assertions)

    assert len(set(triples)) == len(triples)
    assert 70_000 < len(triples) < 180_000
    assert {word for _, word, _ in schema} == {
        "rdfs:subClassOf",
        "rdfs:subPropertyOf",
        "rdfs:domain",
        "rdfs:range",
    }


# --- data ----------------------------------------------------------------------------------


def test_archives_are_unpacked_and_files_renamed(tmp_path):
    """A packed data set is unpacked once into the cache, and its file gets the name the program reads."""
    data, cache = tmp_path / "data", tmp_path / "cache"
    (data / "graphs").mkdir(parents=True)
    (data / "graphs" / "small.facts").write_text("1\t2\n", encoding="utf-8")
    with tarfile.open(data / "graphs.tar.xz", "w:xz") as archive:
        archive.add(data / "graphs", "graphs")
    (data / "graphs" / "small.facts").unlink()
    (data / "graphs").rmdir()
    workload = Workload("small", "tc.dl", Published("graphs", {"small.facts": "arc.facts"}), "")

    folder = facts_folder(workload, data, cache)

    assert folder is not None
    assert (folder / "arc.facts").read_text(encoding="utf-8") == "1\t2\n"


def test_a_missing_data_set_skips_the_workload(tmp_path, capsys):
    """Without its data a workload is skipped with a message, and that is no failure."""
    status = main(["run", "galen", "--data", str(tmp_path), "--cache", str(tmp_path / "cache")])

    assert status == 0
    assert "galen" in (said := capsys.readouterr().out)
    assert "skipped" in said


def test_first_lines_keep_every_file(tmp_path, grid_facts):
    """The facts that go before a measured run are the first lines of the same files."""
    folder = first_lines(grid_facts, tmp_path / "cache", small_grid(), lines=3)

    whole = (grid_facts / "arc.facts").read_text(encoding="utf-8").splitlines()
    assert (folder / "arc.facts").read_text(encoding="utf-8").splitlines() == whole[:3]


# --- measuring -----------------------------------------------------------------------------


def test_measure_counts_the_work_of_the_command():
    """CPU seconds, memory, output and exit status are those of the command."""
    code = "import sys; data = bytearray(64 << 20); print(sum(range(10**6))); sys.exit(3)"

    taken = measure([sys.executable, "-c", code], timeout_seconds=60)

    assert taken.status == 3
    assert taken.output == "499999500000\n"
    assert taken.cpu_seconds > 0
    assert taken.peak_bytes > 64 << 20


def test_measure_stops_a_command_that_takes_too_long():
    """A command is stopped after its time, and that is told apart from a failure."""
    taken = measure([sys.executable, "-c", "import time; time.sleep(60)"], timeout_seconds=0.5)

    assert taken.is_timeout
    assert taken.status < 0


# --- running -------------------------------------------------------------------------------


def test_tidelog_is_measured_on_a_small_grid(tmp_path, grid_facts):
    """A run reports exact sizes, what it took, and the statistics of the command line."""
    run = run_tidelog(small_grid(), grid_facts, tmp_path / "cache", How(engine="local", timeout_seconds=300))

    assert run.message == ""
    assert run.verdict == "exact"
    assert run.sizes == {"tc": closure_of_grid(4)}
    assert run.cpu_seconds > 0
    assert run.statistics


@pytest.mark.parametrize("peer", PEERS)
@pytest.mark.parametrize("program", ["tc.dl", "same_generation.dl", "csda.dl", "cspa.dl"])
def test_peers_agree_with_the_reference_engine(peer, program, tmp_path):
    """A peer finds as many facts as the reference engine for the same rules, where it can run them."""
    pytest.importorskip(LIBRARIES[peer])
    random = np.random.default_rng(5)
    plain = read_plain_program(Workload("", program, Published(""), "").path)
    inputs = {name: random.integers(0, 12, size=(15, 2)).tolist() for name in plain.inputs}
    for name, facts in inputs.items():
        text = "".join(f"{x}\t{y}\n" for x, y in sorted(set(map(tuple, facts))))
        (tmp_path / f"{name}.facts").write_text(text, encoding="utf-8")
    workload = Workload("random", program, Published(""), "")
    with tidelog.open(workload.path, facts=tmp_path, engine="reference") as db:
        expected = {name: len(db[name]) for name in plain.printed}

    run = run_peer(replace(workload, expected=expected), tmp_path, How(engine=peer, timeout_seconds=300))

    if run is None:
        assert (peer, program) == ("duckdb", "cspa.dl")
    else:
        assert run.message == ""
        assert run.sizes == expected


def test_wrong_sizes_fail_the_command(tmp_path, monkeypatch, capsys):
    """A run whose sizes differ from the expected ones is called wrong, and the command fails."""
    workload = replace(small_grid(), expected={"tc": 1})
    monkeypatch.setattr("benchmarks.__main__.WORKLOADS", (workload,))
    (tmp_path / "cache" / "facts" / workload.name).mkdir(parents=True)
    write_arcs(grid(4), tmp_path / "cache" / "facts" / workload.name / "arc.facts")
    report = tmp_path / "out.json"

    status = main(["run", "--cache", str(tmp_path / "cache"), "--engine", "reference", "--json", str(report)])

    assert status == 1
    assert "wrong" in capsys.readouterr().out
    assert json.loads(report.read_text(encoding="utf-8"))["runs"][0]["sizes"] == {"tc": closure_of_grid(4)}


def test_unknown_names_are_refused(capsys):
    """A misspelt workload is a message and the exit status of wrong usage."""
    with pytest.raises(SystemExit) as stopped:
        main(["run", "gallen"])

    assert stopped.value.code == 2
    assert "gallen" in capsys.readouterr().err


# --- reports -------------------------------------------------------------------------------


def test_reports_are_read_back_and_drawn(tmp_path):
    """What was measured survives the file, and becomes a table and a picture."""
    ours = Run("tc", "tidelog", 1, "exact", 1.0, 1.1, 100 << 20, {"tc": 3}, {"tc": 3})
    peer = Run("tc", "duckdb", 1, "exact", 3.0, 3.1, 200 << 20, {"tc": 3}, {"tc": 3})

    write_json([ours, peer], tmp_path / "out.json")

    assert read_json(tmp_path / "out.json") == [ours, peer]
    assert "| tc | duckdb | 1 | 3.00 | 3.10 | 200 | 3.0x | exact |" in markdown([ours, peer])
    assert "exact" in line(ours)
    assert results_page(tmp_path / "out.json").startswith("# Results\n\nMeasured ")
    pytest.importorskip("matplotlib")
    draw([ours, peer], tmp_path / "out.png")
    assert (tmp_path / "out.png").stat().st_size > 1000


# --- programs ------------------------------------------------------------------------------


@pytest.mark.parametrize("program", sorted({workload.program for workload in WORKLOADS}))
def test_programs_are_right(program):
    """Every workload's program passes the checks without a warning, and prints what is expected of it."""
    path = Workload("", program, Published(""), "").path

    checked, warnings = build_program(parse(Source(program, path.read_text(encoding="utf-8"))))

    assert warnings == ()
    printed = {directive.relation for directive in checked.directives if directive.kind == "printsize"}
    for workload in WORKLOADS:
        if workload.program == program:
            assert set(workload.expected) <= printed


def test_plain_programs_are_read_with_constants_and_negation():
    """The peers' reader keeps quoted constants whole and marks negated atoms."""
    program = read_plain_program(Workload("", "doop.dl", Published(""), "").path)

    negated = [atom for rule in program.rules for atom in rule.body if atom.is_negated]
    assert len(program.inputs) == 35
    assert program.inputs["VarType"] == "Var-Type.facts"
    assert PlainAtom("MethodModifier", ('"abstract"', "m"), is_negated=True) in negated


def test_programs_beyond_plain_rules_are_refused():
    """A program with aggregates or arithmetic has no plain form, so no peer is asked to run it."""
    with pytest.raises(NotPlainError):
        read_plain_program(Workload("", "crdt_linear.dl", Published(""), "").path)


Element = tuple[int, int]


def edited_list(random: np.random.Generator, count: int = 40) -> dict[Element, Element]:
    """Return elements with random parents among those before them."""
    elements = [(0, 0)]
    parents = {}
    for counter in range(1, count):
        element = (counter, int(random.integers(0, 3)))
        parents[element] = elements[random.integers(len(elements))]
        elements.append(element)
    return parents


def consecutive(parents: dict[Element, Element], removed: set[Element]) -> set[tuple[int, int]]:
    """Return the counters of consecutive visible elements, by a walk over the tree of insertions."""
    children: dict[Element, list[Element]] = {}
    for element, parent in parents.items():
        children.setdefault(parent, []).append(element)
    walked, waiting = [], [(0, 0)]
    while waiting:
        element = waiting.pop()
        walked.append(element)
        waiting.extend(sorted(children.get(element, [])))
    visible = [element for element in walked[1:] if element not in removed]
    return {(first[0], second[0]) for first, second in itertools.pairwise(visible)}


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("program", ["crdt.dl", "crdt_linear.dl"])
def test_both_list_programs_walk_the_tree(program, seed):
    """The two programs for the edited list give the pairs that a walk over the tree of insertions gives."""
    random = np.random.default_rng(seed)
    parents = edited_list(random)
    removed = {element for element in parents if random.random() < 0.4}
    inserts = [(*element, *parent) for element, parent in parents.items()]

    path = Workload("", program, Published(""), "").path
    with tidelog.open(path, facts={"insert": inserts, "remove": removed}, engine="reference") as db:
        found = {(first, second) for first, second, _ in db["result"]}

    assert found == consecutive(parents, removed)


@pytest.mark.parametrize("program", ["crdt.dl", "crdt_linear.dl"])
def test_both_list_programs_follow_edits(program):
    """After epochs that insert, remove and restore elements, both walk the tree as it is then."""
    random = np.random.default_rng(7)
    parents, removed = edited_list(random, 120), set[Element]()
    known = list(parents)
    path = Workload("", program, Published(""), "").path
    wanted, found = [], []

    with tidelog.open(path, facts={"insert": [(*e, *parents[e]) for e in known[:60]]}) as db:
        for first in range(60, 120, 10):
            inserted = known[first : first + 10]
            turned = {known[number] for number in random.integers(0, first, 12)}
            hidden, shown = turned - removed, turned & removed
            removed = removed ^ turned
            db.apply(
                insert={"insert": [(*e, *parents[e]) for e in inserted], "remove": sorted(hidden)},
                delete={"remove": sorted(shown)},
            )
            wanted.append(consecutive({e: parents[e] for e in known[: first + 10]}, removed))
            found.append({(one, other) for one, other, _ in db["result"]})

    assert found == wanted


def test_the_cost_of_a_profile_is_measured_in_pairs(tmp_path):
    """Every pair has a run without and one with a profile."""
    write_arcs(grid(4), tmp_path / "arc.facts")

    plain, profiled = measure_pairs(small_grid(), tmp_path, 2)

    assert len(plain) == len(profiled) == 2
    assert all(seconds > 0.0 for seconds in (*plain, *profiled))
    assert summary([1.0, 1.0], [1.1, 1.3]).startswith("without 1.00 s, with 1.20 s; ratio of medians 1.200")
