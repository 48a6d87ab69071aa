"""`tidelog shell`: changes, queries and rules, typed one after the other."""

import sys
from collections.abc import Callable
from typing import Final

from tidelog.cli.guard import report_internal, show, system_failure
from tidelog.cli.prompt import Prompt
from tidelog.cli.sessions import SessionOptions, open_target
from tidelog.cli.shell_blame import BlameCommands
from tidelog.cli.shell_help import help_for
from tidelog.cli.shell_proofs import ProofCommands
from tidelog.cli.start import spare_pandas
from tidelog.errors import Diagnostic, TidelogError
from tidelog.program.suggest import counted
from tidelog.session import Session
from tidelog.source import Source
from tidelog.syntax.changes import WrittenChange, WrittenTransaction, parse_changes
from tidelog.views import Delta
from tidelog.views.fact_text import write_fact

_SHOWN: Final = 20


def run_shell(options: SessionOptions) -> None:
    """Read lines until the end and do what they say; mistakes are shown and the shell goes on."""
    spare_pandas()
    with open_target(options) as session:
        shell = Shell(session)
        prompt = Prompt(lambda: shell.words)
        if prompt.is_interactive:
            sys.stdout.write(
                f"{counted(len(session), 'relation')}, epoch {session.epoch}; :help lists the commands\n"
            )
        with prompt:
            for line in prompt.lines(lambda: shell.prompt, shell.is_unfinished):
                if not _survive(shell, line):
                    break
                sys.stdout.flush()
        shell.leave()


def _survive(shell: "Shell", line: str) -> bool:
    """Do what a line says, and tell what went wrong; False ends the shell."""
    try:
        return shell.run(line)
    except TidelogError as error:
        show(error.diagnostics)
    except KeyboardInterrupt:
        sys.stderr.write("interrupted: nothing has changed\n")
    except BrokenPipeError:
        # Nobody reads the answers any more.
        raise
    except OSError as error:
        show([system_failure(error)])
    except Exception as error:  # noqa: BLE001 - the session is as it was, and its owner may go on
        report_internal(error)
    return True


class Shell:
    """What the lines of a shell do to a session; `run` is given one at a time."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._pending: list[WrittenChange] = []
        self._strategy = "there was no epoch yet"
        proofs = ProofCommands(session)
        self._commands: dict[str, Callable[[str], None]] = {
            **proofs.commands,
            **BlameCommands(session, self._print).commands,
            "explain": self._explain,
            "strategy": lambda _: _say(self._strategy),
            "insert": lambda rest: self._apply_now(rest, is_insert=True),
            "delete": lambda rest: self._apply_now(rest, is_insert=False),
            "relations": self._relations,
            "facts": self._show,
            "show": self._show,
            "rules": self._rules,
            "remove": self._remove,
            "query": self._query,
            ":help": lambda rest: _say(help_for(rest)),
            "help": lambda rest: _say(help_for(rest)),
            "rollback": self._roll_back,
        }

    @property
    def words(self) -> list[str]:
        """Return what completion offers."""
        return [*self._commands, "commit.", "rollback.", ":quit", *self._session.relations]

    @property
    def prompt(self) -> str:
        """Return the text before the cursor; it tells how many changes wait for a commit."""
        return f"tidelog [{len(self._pending)}]> " if self._pending else "tidelog> "

    @staticmethod
    def is_unfinished(text: str) -> bool:
        """Say whether a rule or declaration goes on in the next line."""
        stripped = text.strip()
        return ":-" in stripped and not stripped.startswith("?-") and not stripped.endswith(".")

    def run(self, line: str) -> bool:
        """Do what a line says; False ends the shell."""
        text = line.strip()
        word, _, rest = text.partition(" ")
        if not text or text.startswith("//"):
            return True
        if text.rstrip(".") in (":quit", ":q", ":exit", "quit", "exit"):
            return False
        if text.startswith(("+", "-")) or text in ("commit", "commit."):
            self._change(text)
        elif text.startswith("?-"):
            self._query(text[2:])
        elif word.rstrip(".") in self._commands and not rest.lstrip().startswith(("(", ":-")):
            self._commands[word.rstrip(".")](rest.strip())
        elif ":-" in text or text.startswith("."):
            self._print(lambda: self._session.add_rules(text))
        elif text.startswith(":"):
            raise TidelogError([_unknown(word)])
        else:
            self._query(text)
        return True

    def leave(self) -> None:
        """Say what is lost."""
        if self._pending:
            sys.stderr.write(f"{counted(len(self._pending), 'change')} without a commit: forgotten\n")

    # --- changes ---------------------------------------------------------------------------------

    def _change(self, text: str) -> None:
        if not text.endswith("."):
            text += "."
        for transaction in parse_changes(Source("shell", text)):
            if transaction.diagnostics:
                raise TidelogError(transaction.diagnostics)
            self._check(transaction)
            self._pending += transaction.changes
            if transaction.is_committed:
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
        _say(f"{counted(len(self._pending), 'change')} forgotten")
        self._pending = []

    def _print(self, work: Callable[[], Delta]) -> None:
        delta = work()
        self._strategy = delta.explain_strategy()
        _say(str(delta))
        for violation in delta.violations:
            _say(str(violation))

    def _apply_now(self, rest: str, *, is_insert: bool) -> None:
        """Apply one epoch; changes that wait for a commit go on waiting."""
        facts = rest.strip().removesuffix(".")
        if not facts:
            raise TidelogError([_no_fact("insert" if is_insert else "delete")])
        if is_insert:
            self._print(lambda: self._session.apply(insert=facts))
        else:
            self._print(lambda: self._session.apply(delete=facts))

    def _explain(self, rest: str) -> None:
        """Show a proof, as Soufflé's `explain` does; without a fact, how the last epoch came about."""
        if rest:
            self._commands["why"](rest)
        else:
            _say(self._strategy)

    # --- looking -----------------------------------------------------------------------------------

    def _query(self, text: str) -> None:
        answer = self._session.query(text.strip().removesuffix("."))
        if not answer.columns:
            _say("true" if answer else "false")
            return
        _say(repr(answer).partition("\n")[2] if len(answer) else "no answer")

    def _relations(self, _: str) -> None:
        for name in self._session.relations:
            view = self._session[name]
            columns = ", ".join(f"{c}: {t}" for c, t in zip(view.columns, view.types, strict=True))
            _say(f"{name}({columns})  {len(view):,}")

    def _show(self, rest: str) -> None:
        name, _, count = rest.partition(" ")
        if not name:
            self._relations("")
            return
        view = self._session[name.rstrip(".")]
        most = int(count) if count.strip().isdecimal() else _SHOWN
        for fact in view.head(most):
            _say(f"{write_fact(view.name, fact)}.")
        if len(view) > most:
            _say(f"// ... and {len(view) - most:,} more")

    def _rules(self, rest: str) -> None:
        name = rest.rstrip(".")
        if not name:
            for rule in self._session.rules:
                _say(str(rule))
            return
        # Raises the diagnostic that names the relations there are.
        _ = self._session[name]
        own = {rule.span for rule in self._session.program.rules if rule.head.relation == name}
        shown = [rule for rule in self._session.rules if rule.span in own]
        for rule in shown:
            _say(str(rule))
        if not shown:
            _say(f"no rule derives {name}: it has only input facts")

    def _remove(self, rest: str) -> None:
        rules: int | str = int(rest) if rest.isdecimal() else rest
        self._print(lambda: self._session.remove_rules(rules))


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")


def _no_fact(command: str) -> Diagnostic:
    return Diagnostic(
        code="not-a-fact", message=f"there is nothing to {command}", hint=f"for example: {command} edge(1, 2)"
    )


def _unknown(word: str) -> Diagnostic:
    return Diagnostic(
        code="unknown-command", message=f"there is no command `{word}`", hint=":help lists the commands"
    )
