"""A PostgreSQL server of a test module's own, where Debian's packages are installed."""

import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from subprocess import DEVNULL

from support.processes import started

DRIVER = Path("/usr/share/java/postgresql.jar")


def why_not() -> str | None:
    """Return why there can be no server here; None if there can."""
    if _program("initdb") is None or _program("postgres") is None:
        return "PostgreSQL is not installed; Debian has it in postgresql"
    if not DRIVER.exists():
        return "the JDBC driver of PostgreSQL is not installed; Debian has it in libpostgresql-jdbc-java"
    if os.geteuid() == 0 and _other_user() is None:
        return "PostgreSQL does not run as root, and there is no user `postgres`"
    return None


@dataclass(frozen=True)
class Postgres:
    """A running server."""

    port: int

    @property
    def url(self) -> str:
        """Return the address for JDBC."""
        return f"jdbc:postgresql://127.0.0.1:{self.port}/postgres"

    def run(self, statements: str) -> None:
        """Run SQL statements."""
        psql = _program("psql")
        assert psql is not None
        command = [psql, "-h", "127.0.0.1", "-p", str(self.port), "-U", "tests", "-d", "postgres"]
        options = ["-q", "-v", "ON_ERROR_STOP=1", "-c", statements]
        subprocess.run([*command, *options], check=True, capture_output=True, text=True, timeout=60)


@contextmanager
def serving(time_zone: str) -> Iterator[Postgres]:
    """Run a server whose own time zone is this one, in a folder that is deleted afterwards."""
    user = _other_user() if os.geteuid() == 0 else None
    folder = Path(tempfile.mkdtemp(prefix="tidelog-postgres-"))
    if user is not None:
        shutil.chown(folder, user)
    data = folder / "data"
    initdb, server = _program("initdb"), _program("postgres")
    make = [initdb, "-D", data, "-U", "tests", "-A", "trust", "-E", "UTF8", "--no-sync"]
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    options = ["-h", "127.0.0.1", "-p", str(port), "-k", folder, "-c", f"timezone={time_zone}", "-F"]
    quiet = {"stdin": DEVNULL, "stdout": DEVNULL, "stderr": DEVNULL, "user": user}
    try:
        subprocess.run(make, check=True, capture_output=True, user=user, cwd=folder, timeout=120)
        with started([server, "-D", data, *options], folder, **quiet) as process:
            _await(port, process)
            yield Postgres(port)
            # It ends its own processes at once, whoever is connected.
            process.send_signal(signal.SIGINT)
            process.wait(60)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _await(port: int, process: "subprocess.Popen[str]") -> None:
    """Return once a server answers."""
    asked = [_program("pg_isready"), "-q", "-h", "127.0.0.1", "-p", str(port), "-t", "1"]
    for _ in range(600):
        if subprocess.run(asked, check=False).returncode == 0:
            return
        assert process.poll() is None, "the server ended"
        time.sleep(0.1)
    raise AssertionError("the server does not answer")


def _program(name: str) -> str | None:
    places = sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    return shutil.which(name) or next(
        (found for each in places if (found := shutil.which(name, path=each))), None
    )


def _other_user() -> str | None:
    try:
        return pwd.getpwnam("postgres").pw_name
    except KeyError:
        return None
