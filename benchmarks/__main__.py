"""`python -m benchmarks`: list the workloads, run them, draw what was measured.

python -m benchmarks list
python -m benchmarks run tc_grid100 cspa100k --data DIR --jobs 1,2 --peers duckdb --json out.json
python -m benchmarks picture out.json out.png
python -m benchmarks results out.json > benchmarks/RESULTS.md
python -m benchmarks generate rdfs_lubm1 FOLDER
python -m benchmarks epochs cspa100k --data DIR --json out.json --pictures FOLDER
python -m benchmarks elastic cspa100k --data DIR --json out.json --results benchmarks/RESULTS.md
python -m benchmarks joins --json joins.json --pictures FOLDER
python -m benchmarks scale --largest 1e8 --json scale.json --pictures FOLDER
python -m benchmarks threads galen cspa100k tc_grid150 --data DIR
python -m benchmarks aggregates --data DIR --json out.json
python -m benchmarks faults --data DIR --json out.json
python -m benchmarks trees
python -m benchmarks agreement --lines 250000
python -m benchmarks history --repo FOLDER
python -m benchmarks large --lines 1000000 --folder FOLDER
python -m benchmarks editor --lines 50000 --edits 1000
python -m benchmarks review --commits 300
python -m benchmarks past --data DIR
python -m benchmarks demand
python -m benchmarks pipeline --users 50000 --json out.json
python -m benchmarks reasoners --small
python -m benchmarks recursion
"""

import argparse
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from benchmarks.aggregates.command import add_arguments as add_aggregate_arguments
from benchmarks.aggregates.command import run_aggregates
from benchmarks.agreement.command import add_arguments as add_agreement_arguments
from benchmarks.agreement.command import run_agreement
from benchmarks.data import default_cache, facts_folder, generate
from benchmarks.demand import add_arguments as add_demand_arguments
from benchmarks.demand import run_demand
from benchmarks.editor.command import add_arguments as add_editor_arguments
from benchmarks.editor.command import run_editor
from benchmarks.editor.review import add_review_arguments, run_reviews
from benchmarks.elastic.command import add_arguments as add_elastic_arguments
from benchmarks.elastic.command import run_elastic
from benchmarks.epochs.command import add_arguments, run_epochs
from benchmarks.faults.command import add_arguments as add_fault_arguments
from benchmarks.faults.command import run_faults
from benchmarks.history.command import add_arguments as add_history_arguments
from benchmarks.history.command import run_history
from benchmarks.history.large import add_large_arguments, run_large
from benchmarks.joins.command import add_arguments as add_join_arguments
from benchmarks.joins.command import run_joins
from benchmarks.past import add_arguments as add_past_arguments
from benchmarks.past import run_past
from benchmarks.peers import PEERS
from benchmarks.pipeline.command import add_arguments as add_pipeline_arguments
from benchmarks.pipeline.command import run_pipeline
from benchmarks.proofs.command import add_proof_arguments, run_proofs
from benchmarks.reasoners.command import add_arguments as add_reasoner_arguments
from benchmarks.reasoners.command import run_reasoners
from benchmarks.report import line, read_json, results_page, write_json
from benchmarks.runner import How, Run, is_installed, run_peer, run_tidelog
from benchmarks.scale import add_arguments as add_scale_arguments
from benchmarks.scale import run_scale
from benchmarks.spark.command import add_arguments as add_spark_arguments
from benchmarks.spark.command import run_spark
from benchmarks.spark.recursion import add_arguments as add_recursion_arguments
from benchmarks.spark.recursion import run_recursion
from benchmarks.threads.command import add_arguments as add_thread_arguments
from benchmarks.threads.command import run_threads
from benchmarks.trees.command import add_arguments as add_tree_arguments
from benchmarks.trees.command import run_trees
from benchmarks.workload import WORKLOADS, Generated, Workload, workloads_named

# Commands that measure something of their own; each returns the exit status.
_MEASURES: Final[Mapping[str, Callable[[argparse.Namespace], int]]] = {
    "aggregates": run_aggregates,
    "demand": run_demand,
    "editor": run_editor,
    "elastic": run_elastic,
    "agreement": run_agreement,
    "epochs": run_epochs,
    "history": run_history,
    "large": run_large,
    "joins": run_joins,
    "past": run_past,
    "proofs": run_proofs,
    "reasoners": run_reasoners,
    "review": run_reviews,
    "scale": run_scale,
    "faults": run_faults,
    "pipeline": run_pipeline,
    "recursion": run_recursion,
    "spark": run_spark,
    "threads": run_threads,
    "trees": run_trees,
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Return the exit status: 1 if a run failed or gave other sizes than it must."""
    options = _parser().parse_args(arguments)
    match options.command:
        case "list":
            _list()
        case "run":
            return _run(options)
        case "picture":
            from benchmarks.picture import draw  # noqa: PLC0415 - matplotlib only for pictures

            draw(read_json(options.json), options.picture)
        case "results":
            print(results_page(options.json), end="")
        case "generate":
            generate(options.name, options.folder)
        case _:
            return _MEASURES[options.command](options)
    return 0


def _run(options: argparse.Namespace) -> int:
    runs: list[Run] = []
    try:
        for run in _runs(options):
            runs.append(run)
            print(line(run), flush=True)
            if run.message:
                print(f"    {run.message}", flush=True)
    finally:
        # What was measured before Ctrl-C is worth keeping.
        if options.json is not None:
            write_json(runs, options.json)
    if options.picture is not None:
        from benchmarks.picture import draw  # noqa: PLC0415 - matplotlib only for pictures

        draw(runs, options.picture)
    # A peer may fail on what is too large for it; a peer that disagrees puts the sizes in doubt.
    is_bad = any(run.verdict == "wrong" or (not run.is_good and run.engine not in PEERS) for run in runs)
    return 1 if is_bad else 0


def _runs(options: argparse.Namespace) -> Iterator[Run]:
    for workload in _chosen(options.names):
        facts = facts_folder(workload, options.data, options.cache)
        if facts is None:
            print(f"{workload.name:<16}  skipped: its data set was not found; see benchmarks/README.md")
            continue
        for _ in range(options.repeat):
            for jobs in options.jobs:
                if options.engine != "none":
                    how = How(jobs, options.engine, options.timeout)
                    yield run_tidelog(workload, facts, options.cache, how)
                yield from _peer_runs(workload, facts, jobs, options)


def _peer_runs(workload: Workload, facts: Path, jobs: int, options: argparse.Namespace) -> Iterator[Run]:
    for peer in options.peers:
        # A peer with one thread is measured once, not again for every number of jobs.
        if peer != "duckdb" and jobs != options.jobs[0]:
            continue
        if not is_installed(peer):
            print(f"{workload.name:<16}  {peer}: not installed; run bin/set-up bench")
            continue
        run = run_peer(workload, facts, How(jobs, peer, options.timeout))
        if run is None:
            print(f"{workload.name:<16}  {peer}: cannot express these rules")
        else:
            yield run


def _chosen(names: Sequence[str]) -> list[Workload]:
    if not names:
        return [workload for workload in WORKLOADS if not workload.is_heavy]
    chosen = workloads_named([name for name in names if name != "all"])
    return list(WORKLOADS) if "all" in names else chosen


def _list() -> None:
    for workload in WORKLOADS:
        source = "generated" if isinstance(workload.facts, Generated) else workload.facts.folder
        heavy = ", only by name" if workload.is_heavy else ""
        print(f"{workload.name:<16}  {workload.about} ({source}{heavy})")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", description="Measure Tidelog and its peers."
    )
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("list", help="show the workloads")
    run = commands.add_parser("run", help="run workloads; without names all that are not heavy")
    run.add_argument("names", nargs="*", help="workloads, or `all`")
    data = os.environ.get("TIDELOG_DATA")
    run.add_argument(
        "--data", type=Path, default=Path(data) if data else None, help="folder of the data sets"
    )
    run.add_argument(
        "--cache", type=Path, default=default_cache(), help="folder for unpacked and generated facts"
    )
    run.add_argument("--jobs", type=_numbers, default=[1], help="threads; several as 1,2")
    run.add_argument(
        "--engine", choices=["local", "reference", "none"], default="local", help="none: peers alone"
    )
    run.add_argument("--peers", type=_peers, default=[], help=f"some of {','.join(PEERS)}, or all")
    run.add_argument("--repeat", type=int, default=1, help="how often to run each")
    run.add_argument("--timeout", type=float, default=3600, help="seconds after which a run is stopped")
    run.add_argument("--json", type=Path, help="write the measurements here")
    run.add_argument("--picture", type=Path, help="draw the measurements here")
    picture = commands.add_parser("picture", help="draw a report")
    picture.add_argument("json", type=Path)
    picture.add_argument("picture", type=Path)
    results = commands.add_parser("results", help="print a report as the page RESULTS.md")
    results.add_argument("json", type=Path)
    make = commands.add_parser("generate", help="write the facts of a generated workload")
    make.add_argument("name", choices=[w.name for w in WORKLOADS if isinstance(w.facts, Generated)])
    make.add_argument("folder", type=Path)
    add_arguments(commands.add_parser("epochs", help="measure what changes of the facts cost"))
    add_elastic_arguments(commands.add_parser("elastic", help="draw the elastic study for all strategies"))
    add_thread_arguments(commands.add_parser("threads", help="measure threads, and what they cannot share"))
    add_scale_arguments(commands.add_parser("scale", help="measure time and memory against facts"))
    add_demand_arguments(commands.add_parser("demand", help="measure a question against the closure"))
    add_past_arguments(commands.add_parser("past", help="measure what old epochs cost"))
    add_join_arguments(commands.add_parser("joins", help="measure cyclic joins and following traces"))
    add_aggregate_arguments(commands.add_parser("aggregates", help="measure aggregates and best paths"))
    add_agreement_arguments(commands.add_parser("agreement", help="compare analyses with other tools"))
    add_fault_arguments(
        commands.add_parser("faults", help="measure blame and repair against delta debugging")
    )
    add_tree_arguments(commands.add_parser("trees", help="measure the comparison of trees"))
    add_history_arguments(commands.add_parser("history", help="measure analyses that follow commits"))
    add_large_arguments(commands.add_parser("large", help="measure an analysis that is saved and reopened"))
    add_review_arguments(commands.add_parser("review", help="measure reviews of commits"))
    add_editor_arguments(commands.add_parser("editor", help="measure edits through the language server"))
    add_pipeline_arguments(commands.add_parser("pipeline", help="measure jobs from sources to tables"))
    add_reasoner_arguments(commands.add_parser("reasoners", help="measure reasoners side by side"))
    recursion = commands.add_parser("recursion", help="measure recursion over data frames beside Spark's own")
    add_recursion_arguments(recursion)
    add_spark_arguments(commands.add_parser("spark", help="measure the engine on Spark"))
    add_proof_arguments(commands.add_parser("proofs", help="measure what proofs cost"))
    return parser


def _numbers(text: str) -> list[int]:
    return [int(number) for number in text.split(",")]


def _peers(text: str) -> list[str]:
    names = list(PEERS) if text == "all" else text.split(",")
    for name in names:
        if name not in PEERS:
            raise argparse.ArgumentTypeError(f"no peer is called {name}; there are {', '.join(PEERS)}")
    return names


if __name__ == "__main__":
    raise SystemExit(main())
