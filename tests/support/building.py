"""Building programs in tests: the program, its warnings, or what is wrong with it."""

import pytest

from tidelog.errors import Diagnostic, TidelogError
from tidelog.program import build_program, print_program
from tidelog.program.nodes import Program
from tidelog.source import Source
from tidelog.syntax import parse


def build(text: str) -> Program:
    """Return the checked program of a text."""
    return build_program(parse(Source("test.dl", text)))[0]


def core(text: str, relation: str) -> list[str]:
    """Return the core rules of a relation as text, one per line."""
    lines = print_program(build(text)).splitlines()
    return [line for line in lines if line.startswith(f"{relation}(")]


def warnings(text: str) -> list[tuple[str, str]]:
    """Return the code of each warning and the text it underlines."""
    return [_told(each) for each in build_program(parse(Source("test.dl", text)))[1]]


def mistakes(text: str) -> list[tuple[str, str]]:
    """Return the code of each error and the text it underlines; there must be one."""
    return [_told(each) for each in diagnostics(text) if each.severity.value == "error"]


def diagnostics(text: str) -> tuple[Diagnostic, ...]:
    """Return everything that is reported about a program that is wrong."""
    with pytest.raises(TidelogError) as caught:
        build_program(parse(Source("test.dl", text)))
    return caught.value.diagnostics


def _told(diagnostic: Diagnostic) -> tuple[str, str]:
    return diagnostic.code, "" if diagnostic.span is None else diagnostic.span.text
