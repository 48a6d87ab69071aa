"""`tidelog review`: what changes between two commits."""

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import typer

from tidelog.analysis.request import AnalysisRequest
from tidelog.analysis.review import Review, Reviewer, ReviewOptions, start_reviewer
from tidelog.analysis.review_forms import review_json, review_markdown, review_text
from tidelog.analysis.review_store import ReviewStore
from tidelog.analysis.sarif import review_sarif
from tidelog.cli.guard import GUARD_BROKEN, show
from tidelog.cli.review_command import ReviewForm
from tidelog.cli.start import spare_pandas
from tidelog.dataclass import dataclass
from tidelog.errors import Diagnostic, TidelogError
from tidelog.io.staging import Staging
from tidelog.options import OpenOptions
from tidelog.progress import activity
from tidelog.trees.git_history import Commit, GitHistory
from tidelog.trees.languages import find_language


@dataclass(frozen=True, slots=True)
class ReviewRun:
    """What the command line asks for."""

    program: Path
    options: OpenOptions
    repository: Path
    revisions: str
    language: str
    below: str
    store: Path | None
    review: ReviewOptions
    form: ReviewForm
    output: Path | None
    is_each: bool = False
    exits_with_zero: bool = False


def run_review(run: ReviewRun) -> None:
    """Write the reviews; exit with 3 if something is found anew, or a file cannot be read."""
    spare_pandas()
    with GitHistory(run.repository, find_language(run.language).suffixes) as history:
        reviews = list(_reviews(run, history))
    text = "".join(map(_FORMS[run.form], reviews))
    if run.output is None:
        sys.stdout.write(text)
    else:
        with Staging() as staging:
            staging.path_for(run.output).write_text(text, encoding="utf-8", errors="replace")
    for each in reviews:
        show(each.mistakes)
    if not all(each.is_clean for each in reviews) and not run.exits_with_zero:
        raise typer.Exit(GUARD_BROKEN)


def _reviews(run: ReviewRun, history: GitHistory) -> Iterator[Review]:
    base, heads = _commits(run, history)
    request = AnalysisRequest.of(run.program, run.options, run.language, run.below)
    store = None if run.store is None else ReviewStore(run.store, request)
    with activity("analysing the base"):
        reviewer = _reviewer(run, store, history, base)
    for head in heads:
        with activity(f"reviewing {head.short}"):
            yield reviewer.review(head.id, run.review)
    if store is not None:
        store.save(reviewer)
    reviewer.follow.close()


def _reviewer(run: ReviewRun, store: ReviewStore | None, history: GitHistory, base: str | None) -> Reviewer:
    if store is not None:
        if base is None:
            message = "the first commit has no parent, so there is nothing to keep in a store"
            raise TidelogError([Diagnostic(code="git-failed", message=message, hint="leave out --store")])
        return store.open(history, base)
    return start_reviewer(
        run.program, history, base, language=run.language, below=run.below, options=run.options
    )


def _commits(run: ReviewRun, history: GitHistory) -> tuple[str | None, list[Commit]]:
    """Return the base, and the commits that are reviewed one after another."""
    base, dots, head = run.revisions.partition("...")
    if dots:
        base = history.merge_base(base or "HEAD", head or "HEAD")
    else:
        base, dots, head = run.revisions.partition("..")
        if not dots:
            only = history.commit(base)
            return only.parent, [only]
        base = history.commit(base or "HEAD").id
    last = history.commit(head or "HEAD")
    if not run.is_each:
        return base, [last]
    commits = history.commits(f"{base}..{last.id}")
    return (commits[0].parent if commits else base), commits


def _json_line(review: Review) -> str:
    return json.dumps(review_json(review), ensure_ascii=False) + "\n"


def _sarif_text(review: Review) -> str:
    return json.dumps(review_sarif(review), indent=1, ensure_ascii=False) + "\n"


_FORMS: Final[dict[ReviewForm, Callable[[Review], str]]] = {
    ReviewForm.TEXT: review_text,
    ReviewForm.MARKDOWN: review_markdown,
    ReviewForm.JSON: _json_line,
    ReviewForm.SARIF: _sarif_text,
}
