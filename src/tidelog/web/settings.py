"""What the explorer is allowed to do, and for whom."""

from dataclasses import field
from ipaddress import ip_address
from typing import Final

from tidelog.dataclass import dataclass
from tidelog.errors import Diagnostic, TidelogError

_SHORTEST_TOKEN: Final = 16


@dataclass(frozen=True, slots=True)
class Limits:
    """How much one request may ask for.

    A request that takes longer than `wait_seconds` is answered with a diagnostic; `threads` limits
    how many run at once and `waiting_requests` how many may wait.
    """

    body_bytes: int = 1 << 20
    page_rows: int = 1000
    cell_characters: int = 4000
    fact_characters: int = 100_000
    suggestions: int = 50
    proof_depth: int = 32
    proof_nodes: int = 2000
    wait_seconds: float = 60.0
    threads: int = 4
    waiting_requests: int = 64
    cache_bytes: int = 1 << 30


@dataclass(frozen=True, slots=True)
class WebSettings:
    """Where the explorer listens and what it requires.

    Without `may_write` nothing can be changed. `allowed_hosts` are further names by which the
    machine is reached, for example through a proxy.
    """

    host: str = "127.0.0.1"
    port: int = 8421
    token: str | None = None
    may_write: bool = False
    allowed_hosts: tuple[str, ...] = ()
    limits: Limits = field(default_factory=Limits)

    @property
    def is_loopback(self) -> bool:
        """Say whether only this machine can reach the explorer."""
        return is_loopback(self.host)


def is_loopback(host: str) -> bool:
    """Say whether a host is this machine and reachable from it alone."""
    if host == "localhost":
        return True
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def check_settings(settings: WebSettings) -> None:
    """Raise `TidelogError` if other machines could reach the explorer without a token."""
    if settings.token is None:
        if not settings.is_loopback:
            raise TidelogError([_token_required(settings.host)])
    elif len(settings.token) < _SHORTEST_TOKEN or not settings.token.isascii():
        raise TidelogError([_weak_token()])


def _token_required(host: str) -> Diagnostic:
    return Diagnostic(
        code="token-required",
        message=f"on `{host}` other machines could read every fact",
        hint=f"give --token, {_SHORTEST_TOKEN} characters or more, or set TIDELOG_TOKEN;"
        " without --host only this machine is served",
    )


def _weak_token() -> Diagnostic:
    return Diagnostic(
        code="weak-token",
        message=f"a token has {_SHORTEST_TOKEN} ASCII characters or more",
        hint="python -c 'import secrets; print(secrets.token_urlsafe())' prints a good one",
    )
