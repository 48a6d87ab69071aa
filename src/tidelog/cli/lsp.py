"""`tidelog lsp`: the language server."""

import typer

from tidelog.cli.guard import guarded
from tidelog.errors import Diagnostic, TidelogError


@guarded
def lsp() -> None:
    """Serve an editor on standard input and output: programs, and findings while you type."""
    try:
        from tidelog.lsp.server import serve  # noqa: PLC0415 - an optional package
    except ModuleNotFoundError as cause:
        if cause.name is None or cause.name.split(".")[0] not in ("pygls", "lsprotocol", "cattrs", "attrs"):
            raise
        raise TidelogError(
            [
                Diagnostic(
                    code="missing-package",
                    message="the language server needs pygls",
                    hint='pip install "tidelog[lsp]"',
                )
            ]
        ) from cause
    raise typer.Exit(serve())
