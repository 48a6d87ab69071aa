"""A pipeline on Spark, killed while it runs and run again; what it publishes must be as if it never was.

A case is a script, one step to a line: `members` writes the snapshot of one source, `grants` a file of
changes of another, `kill` lets a driver run and kills it with its Java process, at a file operation or
after some seconds, and `run` lets one run to its end. After that the published facts are those that
follow from the sources, and the feed adds up to them.
"""

import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq

import tidelog
from tidelog.pipeline import Pipeline
from torture.fuzzing import FuzzKind
from torture.kill_store import die_at
from torture.kind import KindUnavailableError
from torture.sandbox import Limits
from torture.scratch import own_folder
from torture.shrinking import Parts

PROGRAM: Final = """
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
JOB: Final = """
[job]
program = "access.dl"
state = "state"

[spark]
master = "local[2]"

[spark.conf]
"spark.ui.enabled" = "false"
"spark.driver.host" = "127.0.0.1"
"spark.driver.bindAddress" = "127.0.0.1"
"spark.driver.memory" = "512m"
"spark.driver.extraJavaOptions" = "-XX:TieredStopAtLevel=1"
"spark.sql.shuffle.partitions" = "1"

[[source]]
relation = "member"
format = "parquet"
path = "member"

[[source]]
relation = "grant"
format = "csv"
path = "grant"
changes = "op"

[[output]]
relation = "can"
path = "published/can"
feed = "published/can_feed"
"""
# A driver that nobody waits for any more ends by itself.
LONGEST_LIFE_SECONDS: Final = 1800
_PEOPLE: Final = ("ann", "bob", "eve", "staff", "all", "root")
_RESOURCES: Final = ("wiki", "payroll", "door")
# A driver whose Spark has started does all its work within so many seconds.
_LONGEST_WORK_SECONDS: Final = 8.0


def make(chance: random.Random) -> Parts:
    """Return a script of one or two loads, each with kills before it is through."""
    grants: set[str] = set()
    lines = []
    for _ in range(chance.choice((1, 2))):
        members = {f"{chance.choice(_PEOPLE)}:{chance.choice(_PEOPLE)}" for _ in range(chance.randint(0, 6))}
        lines.append(f"members {' '.join(sorted(members))}")
        deleted = chance.sample(sorted(grants), min(len(grants), chance.randrange(3)))
        drawn = {_grant(chance) for _ in range(4)}
        inserted = sorted(drawn - grants)
        grants = (grants - set(deleted)) | set(inserted)
        changes = [*(f"-,{each}" for each in deleted), *(f"+,{each}" for each in inserted)]
        lines.append(f"grants {' '.join(changes)}")
        lines.extend(f"kill {_moment(chance)}" for _ in range(chance.choice((1, 1, 2))))
        lines.append("run")
    return ("\n".join(lines) + "\n",)


def _grant(chance: random.Random) -> str:
    return f"{chance.choice(_PEOPLE)},{chance.choice(_RESOURCES)},{chance.randrange(3)}"


def _moment(chance: random.Random) -> str:
    if chance.random() < 0.5:
        return f"seconds {chance.uniform(0, _LONGEST_WORK_SECONDS):.2f}"
    return f"{chance.choice(('before', 'after', 'half'))} {chance.randint(1, 60)}"


def attempt(script: str) -> None:
    """Do the steps, and look at what is published after every run to the end."""
    folder = own_folder() / "pipeline"
    (folder / "member").mkdir(parents=True)
    (folder / "grant").mkdir()
    (folder / "access.dl").write_text(PROGRAM, encoding="utf-8")
    (folder / "job.toml").write_text(JOB, encoding="utf-8")
    write_members(folder, [])
    members: list[tuple[str, str]] = []
    grants: dict[str, None] = {}
    touched: set[str] = set()
    try:
        for number, line in enumerate(script.splitlines()):
            word, _, rest = line.partition(" ")
            if word == "members":
                members = [(user, group) for user, _, group in (each.partition(":") for each in rest.split())]
                write_members(folder, members)
            elif word == "grants":
                changes = [(each[:1], each[2:]) for each in rest.split()]
                if any(grant in touched or (sign == "+") == (grant in grants) for sign, grant in changes):
                    return  # Which of two changes of a fact counts in one load, nobody says.
                write_grants(folder, number, changes, grants)
                touched |= {grant for _, grant in changes}
            elif word == "kill":
                drive(folder, rest)
            elif word == "run":
                assert drive(folder, "") == 0, "a driver that nobody kills fails"
                check(folder, members, list(grants))
                touched.clear()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def write_members(folder: Path, members: Sequence[tuple[str, str]]) -> None:
    """Write the snapshot of all members, in the place of the last one."""
    users, groups = ([pair[place] for pair in members] for place in (0, 1))
    columns = {"user": pa.array(users, pa.string()), "group": pa.array(groups, pa.string())}
    pq.write_table(pa.table(columns), folder / "new.parquet")
    (folder / "new.parquet").replace(folder / "member" / "all.parquet")


def write_grants(
    folder: Path, number: int, changes: Sequence[tuple[str, str]], grants: dict[str, None]
) -> None:
    """Write a file of changes, and note what there is after them."""
    lines = ["op,group,resource,level"]
    for sign, grant in changes:
        lines.append(f"{sign},{grant}")
        grants.pop(grant, None)
        if sign == "+":
            grants[grant] = None
    (folder / "new.csv").write_text("\n".join([*lines, ""]), encoding="utf-8")
    (folder / "new.csv").replace(folder / "grant" / f"{number:04}.csv")


def drive(folder: Path, moment: str) -> int:
    """Return the status of a driver that was killed at a moment, or ran to its end if that is empty."""
    reading, writing = os.pipe()
    # A process of its own from the start: one forked from here would talk to the Java process that this
    # one may have.
    driver = subprocess.Popen(
        [sys.executable, "-m", "torture.kill_pipeline", str(writing), moment],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
        pass_fds=(writing,),
        start_new_session=True,
    )
    os.close(writing)
    # One byte when Spark has started; nothing if the driver is dead by then.
    os.read(reading, 1)
    word, _, amount = moment.partition(" ")
    if word == "seconds":
        time.sleep(float(amount))
        driver.kill()
    status = driver.wait()
    os.close(reading)
    with suppress(ProcessLookupError):
        # Java would outlive its driver by a moment.
        os.killpg(driver.pid, signal.SIGKILL)
    return status


def run_driver(moment: str, writing: int) -> None:
    """Run the pipeline of this folder in this process, which may not live to see the end."""
    signal.alarm(LONGEST_LIFE_SECONDS)
    # Java reserves more address space than a process under test is allowed.
    resource.setrlimit(resource.RLIMIT_AS, (resource.getrlimit(resource.RLIMIT_AS)[1],) * 2)
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    os.environ["PYSPARK_PYTHON"] = sys.executable
    pipeline = Pipeline.read(Path("job.toml"))
    _ = pipeline.spark
    os.write(writing, b"s")
    word, _, amount = moment.partition(" ")
    if word in {"before", "after", "half"}:
        die_at(word, int(amount))
    pipeline.run()
    # Nothing of Spark's own end is looked at, and Java ends with the process.
    os._exit(0)


def check(folder: Path, members: Sequence[tuple[str, str]], grants: Sequence[str]) -> None:
    """Check that what is published follows from the sources, and that the feed adds up to it."""
    rows = [tuple(each.split(",")) for each in grants]
    facts = {"member": list(members), "grant": [(group, what, int(level)) for group, what, level in rows]}
    with tidelog.open(PROGRAM, facts=facts, engine="reference") as session:
        right = set(session["can"])
    published = [
        (row["user"], row["resource"])
        for file in (folder / "published" / "can").glob("*.parquet")
        for row in pq.read_table(file).to_pylist()
    ]
    assert len(published) == len(set(published)), "a fact is published twice"
    assert set(published) == right, "other facts are published than follow from the sources"
    summed: set[tuple[str, str]] = set()
    epochs = (folder / "published" / "can_feed").glob("epoch=*")
    for place in sorted(epochs, key=lambda each: int(each.name.removeprefix("epoch="))):
        for row in pq.ParquetFile(place / "part-0.parquet").read().to_pylist():
            fact = (row["user"], row["resource"])
            assert (fact in summed) == (row["op"] == "-"), "the feed tells of a change that is none"
            summed ^= {fact}
    assert summed == right, "the feed does not add up to what is published"


def load() -> None:
    """Look for Java, without which there is nothing to kill."""
    if shutil.which("java") is None:
        raise KindUnavailableError("Spark needs Java 17 or newer, and there is no `java` on PATH")


KIND: Final = FuzzKind("kill-pipeline", make, attempt, load, Limits(seconds=600.0), unit="kills")

if __name__ == "__main__":
    run_driver(moment=sys.argv[2], writing=int(sys.argv[1]))
