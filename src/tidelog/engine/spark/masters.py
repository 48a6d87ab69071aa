"""Whether a Spark master answers, which Spark itself finds out after a minute."""

import re
import socket
from collections.abc import Iterator
from typing import Final

from tidelog.errors import Diagnostic
from tidelog.source import Span

_WAIT_SECONDS: Final = 3.0
_ADDRESS: Final = re.compile(r"(?:https?://)?(?P<host>\[[^\]]+\]|[^:/,]+):(?P<port>\d+)")


def against_unreachable(master: str | None, span: Span | None = None) -> Iterator[Diagnostic]:
    """Yield a diagnostic if no machine of a standalone or Kubernetes master answers."""
    scheme, _, rest = (master or "").partition("://")
    if scheme not in ("spark", "k8s"):
        return
    reasons = []
    for match in _ADDRESS.finditer(rest):
        reason = _reason_against(match["host"].strip("[]"), int(match["port"]))
        if reason is None:
            return
        reasons.append(f"{match['host']}:{match['port']}: {reason}")
    if reasons:
        yield Diagnostic(
            code="spark-unreachable",
            message=f"the master `{master}` does not answer ({'; '.join(reasons)})",
            span=span,
            hint="check that it is running, and that the address and the port are right",
        )


def _reason_against(host: str, port: int) -> str | None:
    try:
        socket.create_connection((host, port), _WAIT_SECONDS).close()
    except (OSError, OverflowError) as error:
        return str(getattr(error, "strerror", None) or error).lower()
    return None
