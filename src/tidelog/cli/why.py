"""`tidelog why` and `tidelog why-not`: the proof of a fact, or what it lacks."""

from pathlib import Path

from tidelog.cli.output import formed, write_result
from tidelog.cli.parameters import OutputFormat, ProofForm
from tidelog.cli.sessions import SessionOptions, open_target
from tidelog.cli.start import spare_pandas
from tidelog.dataclass import dataclass
from tidelog.errors import Diagnostic, TidelogError
from tidelog.errors.arguments import Arguments
from tidelog.explain.proofs.proof import Proof
from tidelog.session import Session
from tidelog.session.reader import EpochReader


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
    epoch: int | None = None

    def reader(self, session: Session) -> EpochReader:
        """Return what is asked: the session, or an old epoch of it."""
        return session if self.epoch is None else session.at(self.epoch)


def print_why(options: WhyOptions) -> None:
    """Print the proof of a fact, or several of them."""
    spare_pandas()
    with open_target(options.session) as session:
        if options.shows_all:
            if options.form not in {ProofForm.TEXT, ProofForm.HORIZONTAL, ProofForm.JSON}:
                raise TidelogError([_one_proof(options.form)])
            _refuse("--metric", options.metric, "`--all` prints every derivation, not the smallest")
            proofs = options.reader(session).why_all(options.fact, limit=options.limit, depth=options.depth)
            texts = [proof_as(proof, options.form) for proof in proofs]
            is_json = options.form is ProofForm.JSON
            write_result(f"[{', '.join(texts)}]" if is_json else "\n\n".join(texts), options.output)
            return
        _refuse("--limit", options.limit, "it is for `--all`")
        proof = options.reader(session).why(options.fact, depth=options.depth, metric=options.metric)
        write_result(proof_as(proof, options.form), options.output)


def print_why_not(options: WhyOptions) -> None:
    """Print why a fact does not hold."""
    spare_pandas()
    with open_target(options.session) as session:
        limit = 3 if options.limit is None else options.limit
        refutation = options.reader(session).why_not(options.fact, depth=options.depth or 1, limit=limit)
        write_result(formed(refutation, OutputFormat(options.form)), options.output)


def proof_as(proof: Proof, form: ProofForm) -> str:
    """Return a proof in a form."""
    match form:
        case ProofForm.TEXT:
            return proof.text()
        case ProofForm.HORIZONTAL:
            return proof.horizontal()
        case ProofForm.JSON:
            return proof.to_json()
        case ProofForm.DOT:
            return proof.to_dot()
        case ProofForm.MERMAID:
            return proof.to_mermaid()
        case ProofForm.HTML:
            return proof.to_html()


def _refuse(name: str, value: object, because: str) -> None:
    with Arguments() as arguments:
        arguments.refuse(if_any={name: value is not None}, because=because)


def _one_proof(form: ProofForm) -> Diagnostic:
    return Diagnostic(
        code="bad-form",
        message=f"several proofs cannot be printed as {form.value}",
        hint="leave out --all, or print them with --format json",
    )
