"""`tidelog shell`: changes, queries and rules, typed one after the other."""

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final, NoReturn

import typer

from tidelog.cli.completion import Completion
from tidelog.cli.guard import MISTAKE, report_internal, show, system_failure
from tidelog.cli.prompt import Prompt
from tidelog.cli.sessions import SessionOptions, open_target
from tidelog.cli.shell_blame import BlameCommands
from tidelog.cli.shell_help import help_for
from tidelog.cli.shell_output import ShellOutput, mistake, say
from tidelog.cli.shell_past import PastCommands
from tidelog.cli.shell_proofs import ProofCommands
from tidelog.cli.start import spare_pandas
from tidelog.errors import Diagnostic, TidelogError
from tidelog.program.suggest import counted, did_you_mean
from tidelog.session import Session
from tidelog.source import Source
from tidelog.syntax.changes import WrittenChange, WrittenTransaction, parse_changes
from tidelog.syntax.scanner import DIRECTIVES, Token, scan
from tidelog.syntax.statements import is_unfinished
from tidelog.views import Delta

_SQL: Final = frozenset({"select", "with", "create", "update", "drop", "from"})


def run_shell(options: SessionOptions) -> None:
    """Read lines until the end and do what they say; mistakes are shown and the shell goes on.

    Where nobody types, a mistake makes the exit status 1.
    """
    spare_pandas()
    with open_target(options) as session:
        talk(session)


def talk(session: Session) -> None:
    """Read lines about a session until the end."""
    shell = Shell(session)
    prompt = Prompt(shell.complete)
    if prompt.is_interactive:
        say(f"{counted(len(session), 'relation')}, epoch {session.epoch}; :help lists the commands")
    with prompt:
        for line in prompt.lines(lambda: shell.prompt, shell.is_unfinished):
            if not shell.obey(line):
                break
            sys.stdout.flush()
    shell.leave()
    if shell.mistake_count and not prompt.is_interactive:
        raise typer.Exit(MISTAKE)


class Shell:
    """What the lines of a shell do to a session; `run` is given one at a time."""

    def __init__(self, session: Session) -> None:
        self.mistake_count = 0
        self._session = session
        self._pending: list[WrittenChange] = []
        self._reading: list[Path] = []
        self._strategy = "there was no epoch yet"
        self._output = ShellOutput()
        proofs = ProofCommands(session)
        self._commands: dict[str, Callable[[str], None]] = {
            **proofs.commands,
            **BlameCommands(session, self._print).commands,
            **PastCommands(session, self._output, proofs).commands,
            **self._output.commands,
            ".read": self._read,
            "explain": self._explain,
            "strategy": lambda _: say(self._strategy),
            "insert": lambda rest: self._apply_now(rest, is_insert=True),
            "delete": lambda rest: self._apply_now(rest, is_insert=False),
            "relations": self._relations,
            "facts": self._show,
            "show": self._show,
            "rules": self._rules,
            "remove": self._remove,
            "query": self._query,
            ":help": lambda rest: say(help_for(rest)),
            ".help": lambda rest: say(help_for(rest)),
            "help": lambda rest: say(help_for(rest)),
            "rollback": self._roll_back,
        }
        self.complete = Completion(session, (*self._commands, "commit.", "rollback.", ":quit"))

    @property
    def prompt(self) -> str:
        """Return the text before the cursor; it tells how many changes wait for a commit."""
        return f"tidelog [{len(self._pending)}]> " if self._pending else "tidelog> "

    def is_unfinished(self, text: str) -> bool:
        """Say whether a rule or a query goes on in the next line; commands and changes do not."""
        is_line = text.lstrip().startswith(("+", "-")) or self._command(text)
        return not is_line and is_unfinished(text)

    def obey(self, line: str) -> bool:
        """Do what a line says, and tell what went wrong; False ends the shell."""
        try:
            with self._output.timed():
                return self.run(line)
        except TidelogError as error:
            show(error.diagnostics)
        except KeyboardInterrupt:
            sys.stderr.write("interrupted: nothing has changed\n")
            return True
        except BrokenPipeError:
            # Nobody reads the answers any more.
            raise
        except OSError as error:
            show([system_failure(error)])
        except Exception as error:  # noqa: BLE001 - the session is as it was, and its owner may go on
            report_internal(error)
        self.mistake_count += 1
        return True

    def run(self, line: str) -> bool:
        """Do what a line says; False ends the shell."""
        text = line.strip()
        word = text.partition(" ")[0]
        command = self._command(text)
        *tokens, _ = scan(Source("shell", text), single_quotes=True)
        if not tokens:
            return True
        if text.rstrip(".") in (":quit", ":q", ":exit", "quit", "exit", ".quit", ".exit"):
            return False
        if text.startswith(("+", "-")) or text in ("commit", "commit."):
            self._change(text)
        elif command:
            self._commands[command](text[len(word) :].strip())
        elif tokens[0].kind == "directive" or _has_arrow(tokens):
            self._print(lambda: self._session.add_rules(text))
        elif text.startswith((":", ".")) or _is_like_command(tokens):
            self._no_command(word)
        else:
            self._query(text)
        return True

    def _command(self, text: str) -> str:
        """Return the command that a line begins with, none for a relation or a rule of that name."""
        word, _, rest = text.strip().partition(" ")
        name = word.rstrip(".")
        return name if name in self._commands and not rest.lstrip().startswith(("(", ":-")) else ""

    def _no_command(self, word: str) -> NoReturn:
        name = word.rstrip(".") or word
        if name in self._session:
            hint = f"`facts {name}` shows its facts; a query has terms: {name}(...)"
            raise mistake("unknown-command", f"`{name}` is a relation, not a command", hint)
        if name.lower() in _SQL:
            raise mistake("unknown-command", "this is SQL", "a query is written path(1, x), x > 3")
        known = [*self._commands, "commit", ":quit", *(f".{directive}" for directive in DIRECTIVES)]
        raise mistake(
            "unknown-command",
            f"there is no command `{name}`",
            did_you_mean(name, known, ":help lists the commands"),
        )

    def leave(self) -> None:
        """Say what is lost."""
        if self._pending:
            sys.stderr.write(f"{counted(len(self._pending), 'change')} without a commit: forgotten\n")

    def _read(self, rest: str) -> None:
        """Do what the lines of a file say, as if they were typed."""
        from tidelog.cli.apply import script_lines  # noqa: PLC0415 - few read files

        path = Path(rest.strip("\"'"))
        if not rest:
            raise mistake("unreadable-script", "there is no file to read", "name one: .read FILE")
        if path.resolve() in self._reading:
            raise mistake("unreadable-script", f"{path} reads itself", "remove the line `.read` from it")
        self._reading.append(path.resolve())
        try:
            for number, line in self._joined(script_lines(path, str(path))):
                before = self.mistake_count
                if not self.obey(line):
                    return
                if self.mistake_count > before:
                    sys.stderr.write(f"  in line {number} of {path}\n")
        finally:
            self._reading.pop()

    def _joined(self, lines: Iterable[str]) -> Iterator[tuple[int, str]]:
        """Yield statements with the numbers of the lines they begin in."""
        held, start = "", 1
        for number, line in enumerate(lines, start=1):
            held, start = (held + line, start) if held else (line, number)
            if not self.is_unfinished(held):
                yield start, held
                held = ""
        if held:
            yield start, held

    # --- changes ---------------------------------------------------------------------------------

    def _change(self, text: str) -> None:
        if not text.endswith("."):
            text += "."
        for transaction in parse_changes(Source("shell", text)):
            if transaction.diagnostics:
                raise TidelogError(transaction.diagnostics)
            self._check(transaction)
            self._pending += transaction.changes
            if transaction.is_committed and not self._pending:
                say("nothing to commit: `+edge(1, 2).` is a change")
            elif transaction.is_committed:
                self._print(lambda: self._session.apply(WrittenTransaction(tuple(self._pending))))
                self._pending = []

    def _check(self, transaction: WrittenTransaction) -> None:
        """Raise the mistakes of changes when they are typed, not when they are committed."""
        trial = self._session.transaction()
        for change in transaction.changes:
            trial.written(change)
        mistakes = trial.mistakes
        trial.rollback()
        if mistakes:
            raise TidelogError(mistakes)

    def _roll_back(self, _: str) -> None:
        say(f"{counted(len(self._pending), 'change')} forgotten")
        self._pending = []

    def _print(self, work: Callable[[], Delta]) -> None:
        delta = work()
        self._strategy = delta.explain_strategy()
        self._output.delta(delta, self._session.relations)

    def _apply_now(self, rest: str, *, is_insert: bool) -> None:
        """Apply one epoch; changes that wait for a commit go on waiting."""
        facts = rest.strip().removesuffix(".")
        if not facts:
            command = "insert" if is_insert else "delete"
            raise mistake(
                "not-a-fact", f"there is nothing to {command}", f"for example: {command} edge(1, 2)"
            )
        if is_insert:
            self._print(lambda: self._session.apply(insert=facts))
        else:
            self._print(lambda: self._session.apply(delete=facts))

    def _explain(self, rest: str) -> None:
        """Show a proof, as Soufflé's `explain` does; without a fact, how the last epoch came about."""
        if rest:
            self._commands["why"](rest)
        else:
            say(self._strategy)

    # --- looking -----------------------------------------------------------------------------------

    def _query(self, text: str) -> None:
        if not text:
            raise mistake("bad-query", "there is no query", "for example: query path(1, x)")
        try:
            answer = self._session.query(text)
        except TidelogError as error:
            raise TidelogError(map(_with_hint, error.diagnostics)) from None
        self._output.answer(answer)

    def _relations(self, _: str) -> None:
        self._output.relations([self._session[name] for name in self._session.relations])

    def _show(self, rest: str) -> None:
        name, _, count = rest.partition(" ")
        if not name:
            self._relations("")
            return
        view = self._session[name.rstrip(".")]
        most = count.strip().rstrip(".")
        if most and not most.isdecimal():
            hint = f"for example: facts {view.name} 20"
            raise mistake("bad-argument", f"`{most}` is not a number of facts", hint)
        self._output.facts(view, int(most) if most else None)

    def _rules(self, rest: str) -> None:
        name = rest.rstrip(".")
        if not name:
            for rule in self._session.rules:
                say(str(rule))
            return
        # Raises the diagnostic that names the relations there are.
        _ = self._session[name]
        own = {rule.span for rule in self._session.program.rules if rule.head.relation == name}
        shown = [rule for rule in self._session.rules if rule.span in own]
        for rule in shown:
            say(str(rule))
        if not shown:
            say(f"no rule derives {name}: it has only input facts")

    def _remove(self, rest: str) -> None:
        if not rest.isdecimal() and "(" not in rest:
            what = f"`{rest}` is not the number of a rule" if rest else "there is no rule to remove"
            raise mistake("no-such-rule", what, "`rules` lists them; for example: remove 3")
        rules: int | str = int(rest) if rest.isdecimal() else rest
        self._print(lambda: self._session.remove_rules(rules))


def _has_arrow(tokens: Sequence[Token]) -> bool:
    """Say whether a line is a rule, perhaps with another arrow than `:-` behind its head."""
    kinds = " ".join(token.kind for token in tokens)
    return ":-" in kinds or ") < - word" in kinds


def _with_hint(found: Diagnostic) -> Diagnostic:
    """Return a mistake in a query, which says how one is written if nothing better is known."""
    if found.code != "syntax" or found.hint is not None:
        return found
    return replace(found, hint="write for example path(1, x); :help lists the commands")


def _is_like_command(tokens: Sequence[Token]) -> bool:
    """Say whether a line is a word alone, two words, or SQL: no query is."""
    first, *others = [token for token in tokens if token.kind != "."] or tokens
    if first.text.lower() in _SQL and others and others[0].kind != "(":
        return True
    return (
        first.kind == "word"
        and first.text not in {"?", "true", "false"}
        and all(token.kind == "word" for token in others[:1])
    )
