"""`tidelog why` and `tidelog why-not`: the proof of a fact, or what it lacks."""

import sys
from enum import StrEnum
from pathlib import Path

from tidelog.cli.sessions import SessionOptions, open_target
from tidelog.cli.start import spare_pandas
from tidelog.dataclass import dataclass
from tidelog.errors import Diagnostic, TidelogError
from tidelog.errors.arguments import Arguments
from tidelog.explain.proofs.proof import Proof
from tidelog.io.staging import Staging, unwritable
from tidelog.session import Session


class ProofForm(StrEnum):
    """The forms in which a proof is printed."""

    TEXT = "text"
    JSON = "json"
    DOT = "dot"
    MERMAID = "mermaid"
    HTML = "html"


@dataclass(frozen=True, slots=True)
class WhyOptions:
    """What the command line asks about a fact."""

    session: SessionOptions
    fact: str
    form: ProofForm = ProofForm.TEXT
    depth: int | None = None
    metric: str | None = None
    shows_all: bool = False
    limit: int | None = None
    output: Path | None = None


def print_why(options: WhyOptions) -> None:
    """Print the proof of a fact, or several of them."""
    spare_pandas()
    with open_target(options.session) as session:
        if options.shows_all:
            if options.form is not ProofForm.TEXT:
                raise TidelogError([_one_proof(options.form)])
            _refuse("--metric", options.metric, "`--all` prints every derivation, not the smallest")
            proofs = session.why_all(options.fact, limit=options.limit, depth=options.depth)
            _write("\n\n".join(proof.text() for proof in proofs), options.output)
            return
        _refuse("--limit", options.limit, "it is for `--all`")
        proof = session.why(options.fact, depth=options.depth, metric=options.metric)
        _write(_formed(proof, options.form), options.output)


def print_why_not(options: WhyOptions) -> None:
    """Print why a fact does not hold."""
    spare_pandas()
    with open_target(options.session) as session:
        _write(_refuted(session, options), options.output)


def _refuted(session: Session, options: WhyOptions) -> str:
    limit = 3 if options.limit is None else options.limit
    refutation = session.why_not(options.fact, depth=options.depth or 1, limit=limit)
    return refutation.to_json() if options.form is ProofForm.JSON else refutation.text()


def _formed(proof: Proof, form: ProofForm) -> str:
    match form:
        case ProofForm.TEXT:
            return proof.text()
        case ProofForm.JSON:
            return proof.to_json()
        case ProofForm.DOT:
            return proof.to_dot()
        case ProofForm.MERMAID:
            return proof.to_mermaid()
        case ProofForm.HTML:
            return proof.to_html()


def _write(text: str, output: Path | None) -> None:
    whole = text if text.endswith("\n") else text + "\n"
    if output is None:
        sys.stdout.write(whole)
        return
    with Staging() as staging:
        staged = staging.path_for(output)
        try:
            staged.write_text(whole, encoding="utf-8")
        except OSError as cause:
            raise unwritable(output, cause) from cause


def _refuse(name: str, value: object, because: str) -> None:
    with Arguments() as arguments:
        arguments.refuse(if_any={name: value is not None}, because=because)


def _one_proof(form: ProofForm) -> Diagnostic:
    return Diagnostic(
        code="bad-form", message=f"several proofs cannot be printed as {form.value}", hint="leave out --all"
    )
