"""The shell's commands about proofs: why, why not, how deep, and step by step."""

import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final

from tidelog.cli.output import write_result
from tidelog.cli.parameters import ProofForm
from tidelog.cli.shell_output import mistake, say
from tidelog.cli.why import proof_as
from tidelog.errors import TidelogError
from tidelog.explain.proofs.graph import number_nodes
from tidelog.explain.proofs.guided import GuidedRefutation, GuidedRule
from tidelog.explain.proofs.judge import Verdict
from tidelog.explain.proofs.proof import Proof
from tidelog.program.suggest import did_you_mean
from tidelog.program.written_facts import literal_value
from tidelog.session import Session
from tidelog.session.reader import EpochReader
from tidelog.syntax import parse_atom
from tidelog.values import Value
from tidelog.views.fact_text import write_value

Command = Callable[[str], None]

_DEPTH: Final = 4
_MARKS: Final = {Verdict.HOLDS: "holds", Verdict.FAILS: "FAILS", Verdict.OPEN: "open"}


class ProofCommands:
    """Commands that ask a session about one fact at a time."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._depth: int | None = _DEPTH
        # A refutation branches at every rule: deeper ones only for who asks.
        self._refutation_depth = 1
        self._form = ProofForm.TEXT
        self._file: Path | None = None
        self._proof: Proof | None = None
        self._guide: GuidedRefutation | None = None
        self._rule: GuidedRule | None = None
        self.commands: dict[str, Command] = {
            "why": self._why,
            "explain": self._why,
            "whynot": self._why_not,
            # As Python and the command line spell it.
            "why_not": self._why_not,
            "why-not": self._why_not,
            "explainnegation": self._why_not,
            "format": self._set_form,
            "output": self._set_file,
            "subproof": self._subproof,
            "depth": self._set_depth,
            "setdepth": self._set_depth,
            "guide": self._start_guide,
            "choose": self._choose,
            "let": self._let,
            "values": self._values,
            "follow": self._follow,
        }

    def _why(self, text: str) -> None:
        self.why(self._session, text)

    def _why_not(self, text: str) -> None:
        self.why_not(self._session, text)

    def why(self, reader: EpochReader, text: str) -> None:
        """Show the proof that a fact has in an epoch."""
        self._show(reader.why(_fact(text), depth=self._depth))

    def _show(self, proof: Proof) -> None:
        """Print a proof in the form that was chosen, or write it to the file that was named."""
        self._proof = proof
        is_text = self._form is ProofForm.TEXT
        text = proof.text(_width(), self._depth) if is_text else proof_as(proof, self._form)
        if self._file is None:
            say(text)
            return
        write_result(text, self._file)
        say(f"written to {self._file}")

    def _set_form(self, text: str) -> None:
        """Choose the form of proofs."""
        forms = [form.value for form in ProofForm]
        if text and text not in forms:
            hint = did_you_mean(text, forms, f"choose one of {', '.join(forms)}")
            raise mistake("bad-form", f"`{text}` is not a form of proofs", hint)
        self._form = ProofForm(text) if text else self._form
        say(f"format: {self._form.value}")

    def _set_file(self, text: str) -> None:
        """Choose where proofs go: a file, or the terminal."""
        self._file = Path(text.strip("\"'")) if text else None
        say(f"output: {self._file or 'the terminal'}")

    def _subproof(self, text: str) -> None:
        """List the facts at which the last proof was cut, or show the proof of one of them."""
        if self._proof is None:
            raise mistake("no-shown-proof", "there is no proof to continue", "begin with `why FACT`")
        cut = [node.proof for node in number_nodes(self._proof, self._depth) if not node.is_expanded]
        if not text:
            for number, proof in enumerate(cut, start=1):
                say(f"  {number}: {proof.atom}")
            if not cut:
                say("the proof was shown to its end")
            return
        if not text.isdecimal() or not 1 <= int(text) <= len(cut):
            hint = f"give 1 to {len(cut)}; `subproof` lists them" if cut else "the proof was shown to its end"
            raise mistake("no-such-proof", f"`{text}` is not the number of a subproof", hint)
        self._show(cut[int(text) - 1].with_depth(self._depth))

    def why_not(self, reader: EpochReader, text: str) -> None:
        """Show what each rule lacks for a fact in an epoch."""
        say(reader.why_not(_fact(text), depth=self._refutation_depth).text(_width()))

    def _set_depth(self, text: str) -> None:
        if text.isdecimal() and int(text) > 0:
            self._depth = self._refutation_depth = int(text)
        elif text == "all":
            self._depth, self._refutation_depth = None, _DEPTH
        elif text:
            raise mistake(
                "bad-depth", f"`{text}` is not a valid depth", "give a number of 1 or more, or `all`"
            )
        shown = "all the way" if self._depth is None else str(self._depth)
        say(f"depth: {shown}")

    # --- step by step --------------------------------------------------------------------------------

    def _start_guide(self, text: str) -> None:
        """Show the rules that could derive a fact that does not hold."""
        self._go(self._session.why_not(_fact(text), guided=True))

    def _go(self, place: GuidedRefutation | Proof) -> None:
        self._rule = None
        if isinstance(place, Proof):
            self._guide = None
            say(f"{place.atom} holds:")
            say(place.text(_width(), self._depth))
            return
        self._guide = place
        say(f"{place.atom} does not hold; `choose` one of its rules:")
        for number, rule in enumerate(place.rules, start=1):
            say(f"  {number}: {' '.join(rule.text.split())}")
        if not place.rules:
            say("  none: it is not among the input facts, and no rule derives its relation")

    def _choose(self, text: str) -> None:
        if self._guide is None:
            raise _no_guide()
        self._rule = self._guide.choose(int(text) if text.isdecimal() else text)
        self._show_rule()

    def _let(self, text: str) -> None:
        """Give a variable a value: `let x = "a"`."""
        rule = self._chosen()
        name, equals, written = text.partition("=")
        if not equals:
            raise mistake("bad-binding", "set a value with `let x = 1`")
        self._rule = rule.bind(**{name.strip(): _value(written.strip())})
        self._show_rule()

    def _values(self, text: str) -> None:
        """Show values for a variable under which most literals hold."""
        rule = self._chosen()
        if text not in rule.free:
            hint = did_you_mean(text, rule.free, f"free are {', '.join(rule.free) or 'none'}")
            raise mistake("no-such-variable", f"`{text}` is not a free variable of the rule", hint)
        for value in rule.suggest(text):
            say(f"  {text} = {write_value(value)}")

    def _follow(self, text: str) -> None:
        """Go on from a literal of the rule, counted from 1."""
        rule = self._chosen()
        count = len(rule.literals)
        if not text.isdecimal() or not 1 <= int(text) <= count:
            raise mistake("no-such-literal", f"`{text}` is not a literal of the rule", f"give 1 to {count}")
        self._go(rule.follow(int(text) - 1))

    def _chosen(self) -> GuidedRule:
        if self._rule is None:
            raise _no_guide()
        return self._rule

    def _show_rule(self) -> None:
        rule = self._chosen()
        say(f"{rule.rule}")
        for number, literal in enumerate(rule.literals, start=1):
            say(f"  {number}: {_MARKS[literal.verdict]:<5}  {literal}")
        if rule.free:
            say(f"  free: {', '.join(rule.free)} (`let {rule.free[0]} = ...`, `values {rule.free[0]}`)")
        say("  `follow N` goes on from a literal")


def _fact(text: str) -> str:
    fact = text.strip().removesuffix(".").rstrip()
    if not fact:
        raise mistake("not-a-fact", "there is no fact to ask about", "for example: why path(1, 3)")
    return fact


def _value(text: str) -> Value:
    """Return the value of a term, read as the only column of a fact."""
    terms = parse_atom(f"value({text})").terms
    value = literal_value(terms[0]) if len(terms) == 1 else None
    if value is not None:
        return value
    raise mistake("bad-binding", f"`{text}` is neither a number nor a text", "records are not accepted here")


def _no_guide() -> TidelogError:
    return mistake("no-guide", "no fact is being asked about", "begin with `guide FACT`, then `choose N`")


def _width() -> int:
    return shutil.get_terminal_size((100, 24)).columns if sys.stdout.isatty() else 100
