"""Failures of partners: diagnostics come out as they went in, and nothing in a text is run."""

import base64
import pickle
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidelog.engine.local.state import NeedsWideCodes
from tidelog.engine.spark.failures import failure_text, is_failure, raise_failure
from tidelog.errors import Diagnostic, Severity, TidelogError
from tidelog.source import Source, Span

PROGRAM = Source("p.dl", ".decl a(x: number)\na(1 / x).\n")


class Harm:
    """Writes a file when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[object, tuple[str]]:
        """Return what a pickle of this calls."""
        return _touch, (str(self.path),)


def _touch(path: str) -> Exception:
    Path(path).touch()
    return RuntimeError("done")


def test_diagnostics_are_raised_as_they_were() -> None:
    """Code, message, place, hint, related places, severity and line stay."""
    span = Span(PROGRAM, 21, 26)
    first = Diagnostic("one-code", "words", span, "try this", (("declared here", Span(PROGRAM, 0, 18)),))
    second = Diagnostic("other-code", "more words", severity=Severity.WARNING, line_offset=7)

    with pytest.raises(TidelogError) as caught:
        raise_failure(failure_text(TidelogError([first, second])))

    assert caught.value.diagnostics == (first, second)
    assert str(caught.value) == str(TidelogError([first, second]))


def test_other_failures_are_raised_in_words() -> None:
    """The type and the message of any exception arrive; its class does not travel."""
    with pytest.raises(RuntimeError, match="ZeroDivisionError: division by zero"):
        raise_failure(failure_text(ZeroDivisionError("division by zero")))


def test_codes_that_need_more_bits_are_asked_for() -> None:
    """The driver catches this signal and runs the stratum again with wide codes."""
    with pytest.raises(NeedsWideCodes):
        raise_failure(failure_text(NeedsWideCodes()))


def test_a_pickle_is_not_run(tmp_path: Path) -> None:
    """A text that is a pickle, as failures once were, is told and not read (issue 18)."""
    text = "failed:" + base64.b64encode(pickle.dumps(Harm(tmp_path / "harm"))).decode()

    with pytest.raises(RuntimeError):
        raise_failure(text)

    assert not (tmp_path / "harm").exists()


@given(st.text() | st.sampled_from(['[{"code": 1}]', "[[]]", "[1]", "{}", '[{"related": 1}]']))
def test_any_text_behind_the_mark_is_a_failure(text: str) -> None:
    """Whatever a stranger sends, it is an exception with words."""
    assert is_failure("failed:" + text)

    with pytest.raises((RuntimeError, TidelogError)):
        raise_failure("failed:" + text)


def test_other_texts_are_replies() -> None:
    """A reply is not a failure."""
    raise_failure('{"files": {}}')

    assert not is_failure("stopped")
