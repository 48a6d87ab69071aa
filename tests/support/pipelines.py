"""Small jobs for tests of the pipeline: an access-control graph."""

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

PROGRAM = """
.decl member(user: symbol, group: symbol)
.input member
.decl grant(group: symbol, resource: symbol, level: number)
.input grant
.decl can(user: symbol, resource: symbol)
.output can
.decl inside(user: symbol, group: symbol)
inside(u, g) :- member(u, g).
inside(u, h) :- inside(u, g), member(g, h).
can(u, r) :- inside(u, g), grant(g, r, n), n > 0.
"""

JOB = """
[job]
program = "access.dl"
state = "state"

[[source]]
relation = "member"
format = "parquet"
path = "member"

[[source]]
relation = "grant"
format = "csv"
path = "grant"
changes = "op"
columns = { level = "rights" }

[[output]]
relation = "can"
path = "published/can"
feed = "published/can_feed"
"""


def write_job(folder: Path, job: str = JOB, program: str = PROGRAM) -> Path:
    """Write a job and its program, with empty folders for the sources, and return the job's path."""
    (folder / "access.dl").write_text(program, encoding="utf-8")
    (folder / "member").mkdir(exist_ok=True)
    (folder / "grant").mkdir(exist_ok=True)
    path = folder / "job.toml"
    path.write_text(job, encoding="utf-8")
    return path


def write_members(folder: Path, members: list[tuple[str | None, str | None]]) -> None:
    """Write the snapshot of all members."""
    users, groups = zip(*members, strict=True) if members else ((), ())
    table = pa.table({"user": pa.array(users, pa.string()), "group": pa.array(groups, pa.string())})
    pq.write_table(table, folder / "member" / "all.parquet")


def write_grants(folder: Path, name: str, lines: list[str]) -> None:
    """Write a file of changes of grants."""
    text = "\n".join(["op,group,resource,rights", *lines, ""])
    (folder / "grant" / f"{name}.csv").write_text(text, encoding="utf-8")


def feed_of(folder: Path) -> list[tuple[int, str, str, str]]:
    """Return all published changes of `can`: epoch, op, user, resource."""
    rows = []
    for place in sorted((folder / "published" / "can_feed").glob("epoch=*")):
        epoch = int(place.name.removeprefix("epoch="))
        for file in place.glob("*.parquet"):
            found = pq.ParquetFile(file).read().to_pylist()
            rows += [(epoch, row["op"], row["user"], row["resource"]) for row in found]
    return sorted(rows)


def published(folder: Path) -> set[tuple[str, str]]:
    """Return the published facts of `can`."""
    rows = [
        (row["user"], row["resource"])
        for file in (folder / "published" / "can").glob("*.parquet")
        for row in pq.read_table(file).to_pylist()
    ]
    assert len(rows) == len(set(rows))
    return set(rows)


def sum_of_feed(folder: Path) -> set[tuple[str, str]]:
    """Return the facts that the feed adds up to; each step must make sense."""
    facts: set[tuple[str, str]] = set()
    for _, op, user, resource in sorted(feed_of(folder), key=lambda row: row[0]):
        fact = (user, resource)
        assert (fact in facts) == (op == "-")
        facts ^= {fact}
    return facts


def report_of(folder: Path) -> dict[str, object]:
    """Return the last run's report."""
    return json.loads((folder / "state" / "reports" / "report.json").read_text(encoding="utf-8"))
