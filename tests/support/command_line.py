"""The command line as tests call it."""

import io
import sys
from collections.abc import Callable

import pytest

from tidelog.cli.main import main

Command = Callable[..., tuple[int, str, str]]


def make_command(monkeypatch: pytest.MonkeyPatch, capture: pytest.CaptureFixture[str]) -> Command:
    """Return `tidelog` as a function from arguments to its status, stdout and stderr."""

    def call(*arguments: str, stdin: str = "") -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["tidelog", *arguments])
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin.encode())))
        status = 0
        try:
            main()
        except SystemExit as end:
            status = int(end.code or 0)
        out, err = capture.readouterr()
        return status, out, err

    return call
