"""How the shell prints: the form of its tables, and how long each line took."""

import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import Final

from tidelog.cli.deltas import delta_json
from tidelog.cli.tables import TableForm, table_lines
from tidelog.errors import Diagnostic, TidelogError
from tidelog.program.suggest import did_you_mean
from tidelog.values import Fact
from tidelog.views import Delta, FactSet
from tidelog.views.fact_text import write_fact

_SHOWN: Final = 20


class ShellOutput:
    """Prints answers, facts and deltas in the form that `.mode` chose.

    The form `table` shows the first facts, the others all of them: they are for other programs.
    """

    def __init__(self) -> None:
        self._form = TableForm.TABLE
        self._is_timed = False
        self.commands: dict[str, Callable[[str], None]] = {".mode": self._set_form, ".timer": self._set_timer}

    def answer(self, answer: FactSet) -> None:
        """Print the answer to a query."""
        if not answer.columns:
            say("true" if answer else "false")
        elif self._form is not TableForm.TABLE:
            self.table(answer.columns, answer)
        elif not answer:
            say("no answer")
        else:
            self.table(answer.columns, answer.head(_SHOWN))
            if len(answer) > _SHOWN:
                say(f"... and {len(answer) - _SHOWN:,} more")

    def facts(self, facts: FactSet, most: int | None) -> None:
        """Print at most so many facts of a relation; as a table they look as in a program."""
        if self._form is not TableForm.TABLE:
            self.table(facts.columns, islice(facts, most))
            return
        shown = facts.head(_SHOWN if most is None else most)
        for fact in shown:
            say(f"{write_fact(facts.name, fact)}.")
        if len(facts) > len(shown):
            say(f"// ... and {len(facts) - len(shown):,} more")

    def relations(self, relations: Sequence[FactSet]) -> None:
        """Print relations with their columns and sizes."""
        rows: list[Fact] = []
        for each in relations:
            pairs = zip(each.columns, each.types, strict=True)
            rows.append((each.name, ", ".join(f"{column}: {type_}" for column, type_ in pairs), len(each)))
        if self._form is not TableForm.TABLE:
            self.table(("relation", "columns", "facts"), rows)
            return
        for name, columns, size in rows:
            say(f"{name}({columns})  {size:,}")

    def delta(self, delta: Delta, relations: Sequence[str]) -> None:
        """Print what an epoch changed: as JSON on one line, in other forms as a change script."""
        if self._form is TableForm.JSON:
            say(delta_json(delta, frozenset(relations)))
            return
        say(str(delta))
        for violation in delta.violations:
            say(str(violation))

    def table(self, columns: Sequence[str], facts: Iterable[Fact]) -> None:
        """Print a table."""
        for line in table_lines(columns, facts, self._form):
            say(line)

    @contextmanager
    def timed(self) -> Iterator[None]:
        """Write how long the block took to stderr, if `.timer` is on."""
        was_timed, begun = self._is_timed, time.perf_counter()
        yield
        if was_timed and self._is_timed:
            sys.stdout.flush()
            sys.stderr.write(f"{1000 * (time.perf_counter() - begun):.1f} ms\n")

    def _set_form(self, text: str) -> None:
        if text:
            known = [form.value for form in TableForm]
            if text not in known:
                hint = did_you_mean(text, known, f"the modes are {', '.join(known)}")
                raise mistake("bad-argument", f"`{text}` is not a mode", hint)
            self._form = TableForm(text)
        else:
            say(f"mode: {self._form.value}")

    def _set_timer(self, text: str) -> None:
        if text not in ("", "on", "off"):
            raise mistake(
                "bad-argument", f"`{text}` is neither on nor off", "write `.timer on` or `.timer off`"
            )
        if text:
            self._is_timed = text == "on"
        else:
            say(f"timer: {'on' if self._is_timed else 'off'}")


def say(text: str) -> None:
    """Print a line."""
    sys.stdout.write(text + "\n")


def mistake(code: str, message: str, hint: str | None = None) -> TidelogError:
    """Return what is wrong with a line."""
    return TidelogError([Diagnostic(code=code, message=message, hint=hint)])
