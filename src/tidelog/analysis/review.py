"""A review: what an analysis finds anew between two commits, what vanishes, and which hunks are to blame."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any, Final

from tidelog.analysis.follow import Finding, Follow, FollowStep, node_columns
from tidelog.analysis.follow_why import WhyStep, why_steps, written_steps
from tidelog.dataclass import dataclass
from tidelog.errors import Diagnostic, TidelogError
from tidelog.explain.blame.answers import InputChange
from tidelog.progress import activity
from tidelog.source import Span
from tidelog.trees.forest import Forest
from tidelog.trees.git_history import GitHistory
from tidelog.trees.hunks import Hunk

# Smallest proofs are those with the fewest facts.
_METRIC: Final = "nodes"
# In larger changes it takes longer to find the hunks to blame than to analyse everything: then the lines of a
# proof tell, this many rules deep.
_MOST_EDITS: Final = 2_000
_LINES_DEPTH: Final = 4


@dataclass(frozen=True, slots=True)
class ReviewOptions:
    """What a review contains: how deep proofs go, and how many findings get the hunks to blame."""

    why_depth: int = 2
    blame_limit: int = 20


@dataclass(frozen=True, slots=True)
class ReviewedFinding:
    """A finding that appeared or vanished, the hunks to blame for that, and its shortest proof.

    The proof of a finding that vanished is its proof in the base.
    """

    finding: Finding
    is_new: bool
    hunks: tuple[Hunk, ...]
    why: str


@dataclass(frozen=True, slots=True)
class Review:
    """What changes between two commits; `mistakes` are files of the head that could not be read."""

    base: str
    head: str
    subject: str
    new: tuple[ReviewedFinding, ...]
    fixed: tuple[ReviewedFinding, ...]
    mistakes: tuple[Diagnostic, ...]

    @property
    def is_clean(self) -> bool:
        """Say whether nothing is found anew, and all files could be read."""
        return not self.new and not self.mistakes


class Reviewer:
    """An analysis at some commit of a repository, which can move to any other.

    Only files whose paths begin with `below` are analysed.

        with GitHistory("repo", (".py",)) as history:
            reviewer = start_reviewer(Path("names.dl"), history, base)
            review = reviewer.review("HEAD")
    """

    def __init__(self, follow: Follow, history: GitHistory, commit: str | None, below: str = "") -> None:
        self.follow = follow
        self.history = history
        self.commit = commit
        self.below = below

    def go_to(self, commit: str) -> FollowStep | None:
        """Follow the files to another commit; None if none of them differs."""
        changes = self._chosen(self.history.changes_between(self.commit, commit))
        step = self.follow.update(changes) if changes else None
        self.commit = commit
        return step

    def review(self, head: str, options: ReviewOptions | None = None) -> Review:
        """Return what changes from the current commit to another, which then becomes the current one."""
        asked = options or ReviewOptions()
        base, before = self.commit, self.follow.forest
        after = self.history.commit(head)
        step = self.go_to(after.id)
        name = base or "nothing"
        if step is None:
            return Review(name, after.id, after.subject, (), (), ())
        new, fixed = _without_moved(step)
        hunks = self.history.hunks(base, after.id, step.paths) if new or fixed else ()
        limit = asked.blame_limit if len(step.script) <= _MOST_EDITS else 0
        blamer = _Blamer(self.follow, before, hunks, limit)
        # The epoch is the last one only before it is taken back.
        blamed = [[blamer.hunks(each, is_new=several is new) for each in several] for several in (new, fixed)]
        appeared = [self._tell(*each, hunks, asked, is_new=True) for each in zip(new, blamed[0], strict=True)]
        with self._at_base(step, before) if fixed else nullcontext():
            vanished = [
                self._tell(*each, hunks, asked, is_new=False) for each in zip(fixed, blamed[1], strict=True)
            ]
        return Review(name, after.id, after.subject, tuple(appeared), tuple(vanished), step.mistakes)

    def _tell(
        self,
        finding: Finding,
        blamed: tuple[Hunk, ...],
        hunks: Sequence[Hunk],
        options: ReviewOptions,
        *,
        is_new: bool,
    ) -> ReviewedFinding:
        """Return a finding with its proof; without hunks to blame, those that the proof's lines are in."""
        if not options.why_depth and not hunks:
            return ReviewedFinding(finding, is_new, blamed, "")
        steps = self._steps(finding, max(options.why_depth, _LINES_DEPTH))
        shown = "\n".join(written_steps(each for each in steps if each.depth <= options.why_depth))
        spans = [each.span for each in steps if each.span is not None]
        near = [hunk for hunk in hunks if any(_is_in(span, hunk, is_new=is_new) for span in spans)]
        return ReviewedFinding(finding, is_new, blamed or tuple(near), shown if options.why_depth else "")

    def _steps(self, finding: Finding, depth: int) -> list[WhyStep]:
        try:
            return list(why_steps(self.follow, finding, depth, _METRIC))
        except TidelogError:
            # Too many derivations to find the shortest proof: any will do.
            return list(why_steps(self.follow, finding, depth))

    @contextmanager
    def _at_base(self, step: FollowStep, before: Forest) -> Iterator[None]:
        """Take an epoch back for as long as the block lasts."""
        after = self.follow.forest
        self.follow.db.apply(step.script.inverse())
        self.follow.forest = before
        try:
            yield
        finally:
            self.follow.db.apply(step.script)
            self.follow.forest = after

    def _chosen(self, changes: Mapping[str, str | None]) -> dict[str, str | None]:
        return {path: text for path, text in changes.items() if path.startswith(self.below)}


def start_reviewer(
    program: Path,
    history: GitHistory,
    base: str | None,
    *,
    language: str = "python",
    below: str = "",
    **options: Any,
) -> Reviewer:
    """Return a reviewer at a commit, all of whose files are read; the options are those of `tidelog.open`."""
    texts = {} if base is None else history.files(base)
    chosen: dict[str, str | None] = {path: text for path, text in texts.items() if path.startswith(below)}
    with activity("reading files"):
        forest = Forest.of(language).update(chosen).forest
    return Reviewer(Follow(program, forest, **options), history, base, below)


def _without_moved(step: FollowStep) -> tuple[list[Finding], list[Finding]]:
    """Return what appeared and what vanished, without what only moved within its file."""
    moved = Counter(map(_essence, step.inserted)) & Counter(map(_essence, step.deleted))
    return _left(step.inserted, Counter(moved)), _left(step.deleted, Counter(moved))


def _essence(finding: Finding) -> tuple[str, str, str]:
    """Return what a finding says, wherever in its file it is."""
    return finding.relation, finding.text, "" if finding.span is None else finding.span.source.name


def _left(findings: Iterable[Finding], moved: Counter[tuple[str, str, str]]) -> list[Finding]:
    left = []
    for finding in findings:
        essence = _essence(finding)
        if moved[essence]:
            moved[essence] -= 1
        else:
            left.append(finding)
    return left


@dataclass
class _Blamer:
    """Finds the hunks that cause a finding, by way of the input changes that `db.blame` names."""

    follow: Follow
    before: Forest
    all_hunks: Sequence[Hunk]
    left: int

    def hunks(self, finding: Finding, *, is_new: bool) -> tuple[Hunk, ...]:
        """Return the hunks to blame for a finding that appeared, or vanished."""
        if len(self.all_hunks) <= 1:
            return tuple(self.all_hunks)
        if self.left <= 0:
            return ()
        self.left -= 1
        faults = {finding.relation: [finding.fact]}
        try:
            unwanted, missing = (faults, None) if is_new else (None, faults)
            found = self.follow.db.blame(unwanted, missing, proofs=False)
        except TidelogError:
            return ()
        blamed = {hunk: None for change in found.changes for hunk in self._of_change(change)}
        return tuple(hunk for hunk in self.all_hunks if hunk in blamed)

    def _of_change(self, change: InputChange) -> Iterable[Hunk]:
        """Return the hunks that the smallest node of a changed fact stands in."""
        relation = self.follow.db.program.relations.get(change.relation)
        if relation is None:
            return ()
        forest = self.follow.forest if change.is_insert else self.before
        nodes = [change.fact[place] for place in node_columns(relation, self.follow.db.program)]
        spans = [forest.place_of(node) for node in nodes if isinstance(node, int)]
        for span in sorted(
            (each for each in spans if each is not None), key=lambda each: each.end - each.start
        ):
            touched = [hunk for hunk in self.all_hunks if _is_in(span, hunk, is_new=change.is_insert)]
            if touched:
                return touched
        return ()


def _is_in(span: Span, hunk: Hunk, *, is_new: bool) -> bool:
    last = span.source.line_of(max(span.start, span.end - 1))
    return hunk.path == span.source.name and hunk.touches(span.line, last, is_new=is_new)
