"""The analysis of a commit in a folder, so that a review costs by the change.

The folder has a store with the facts, a file with the trees, and `review.json`: the commit that the trees are
of, and the commits that were followed since. The trees follow those commits again, which costs by the change,
and are checked to be those that the facts are about.
"""

import hashlib
import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Final

from tidelog.analysis.follow import Follow
from tidelog.analysis.review import Reviewer, start_reviewer
from tidelog.analysis.saved_follow import digest_of_ids
from tidelog.analysis.saved_forest import load_forest, save_forest
from tidelog.dataclass import dataclass
from tidelog.errors import Diagnostic, TidelogError
from tidelog.io.staging import Staging
from tidelog.options import OpenOptions
from tidelog.session.open import open_session
from tidelog.syntax import parse
from tidelog.syntax.find_source import find_source
from tidelog.trees.git_history import GitHistory
from tidelog.version import own_version

_STATE: Final = "state"
_FOREST: Final = "trees.npz"
_ABOUT: Final = "review.json"
# After so many commits the trees are written again.
_MOST_STEPS: Final = 20


@dataclass(frozen=True, slots=True)
class ReviewRequest:
    """A program, how it is read, and the files that it looks at."""

    program: Path
    options: OpenOptions
    language: str = "python"
    below: str = ""
    functions: tuple[Path, ...] = ()

    def fingerprint(self) -> str:
        """Return what tells two analyses apart: texts of the program, fact files, functions, settings."""
        items = parse(
            find_source(self.program), include_path=self.options.include_folders, defines=self.options.defines
        ).items
        texts = {item.span.source.name: item.span.source.text for item in items}
        parts: list[object] = [own_version(), self.language, self.below, sorted(texts.values())]
        facts = self.options.facts
        if isinstance(facts, (str, Path)) and Path(facts).is_dir():
            parts += [(each.name, _digest(each)) for each in sorted(Path(facts).glob("*.facts"))]
        parts += [_digest(each) for each in self.functions]
        return hashlib.sha256(repr(parts).encode(errors="surrogatepass")).hexdigest()


class ReviewStore:
    """A folder with the analysis of some commit; if it is of no use it is made again."""

    def __init__(self, folder: Path, request: ReviewRequest) -> None:
        self.folder = folder
        self._request = request
        self._fingerprint = request.fingerprint()
        self._first: str | None = None
        self._steps: list[str] = []
        self.was_reused = False

    def open(self, history: GitHistory, base: str) -> Reviewer:
        """Return a reviewer at a commit."""
        reviewer = self._resume(history)
        if reviewer is None:
            reviewer = self._create(history, base)
        elif reviewer.commit != base:
            reviewer.go_to(base)
            self._steps.append(base)
        return reviewer

    def save(self, reviewer: Reviewer) -> None:
        """Note at which commit the analysis is."""
        commit = reviewer.commit
        assert commit is not None, "a review ends at a commit"
        if commit != (self._steps[-1] if self._steps else self._first):
            self._steps.append(commit)
        forest = reviewer.follow.forest
        if len(self._steps) > _MOST_STEPS or self._first is None:
            save_forest(self.folder / _FOREST, forest)
            reviewer.follow.db.checkpoint()
            self._first, self._steps = commit, []
        about = {
            "fingerprint": self._fingerprint,
            "first": self._first,
            "steps": self._steps,
            "epoch": reviewer.follow.db.epoch,
            "ids": digest_of_ids(forest),
        }
        with Staging() as staging:
            staging.path_for(self.folder / _ABOUT).write_text(json.dumps(about), encoding="utf-8")

    # --- going on ---

    def _resume(self, history: GitHistory) -> Reviewer | None:
        about = self._read_about()
        if about is None or about.get("fingerprint") != self._fingerprint:
            return None
        forest = load_forest(self.folder / _FOREST)
        if forest is None:
            return None
        first, steps = str(about["first"]), [str(each) for each in about.get("steps", [])]  # type: ignore[attr-defined]
        try:
            for before, after in zip([first, *steps], steps, strict=False):
                changes = history.changes_between(before, after)
                chosen = {
                    path: text for path, text in changes.items() if path.startswith(self._request.below)
                }
                forest = forest.update(chosen).forest if chosen else forest
            if digest_of_ids(forest) != about.get("ids"):
                return None
            options = replace(self._request.options, facts=None, store=self.folder / _STATE)
            db = open_session(None, options=options)
        except TidelogError:
            # A commit that is not in this clone, or a store that cannot be read.
            return None
        if db.epoch != about.get("epoch"):
            db.close()
            return None
        self._first, self._steps, self.was_reused = first, steps, True
        commit = steps[-1] if steps else first
        return Reviewer(Follow.resumed(db, forest), history, commit, self._request.below)

    def _read_about(self) -> dict[str, object] | None:
        try:
            about = json.loads((self.folder / _ABOUT).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        return about if isinstance(about, dict) else None

    def _create(self, history: GitHistory, base: str) -> Reviewer:
        self._clear()
        request = self._request
        reviewer = start_reviewer(
            request.program,
            history,
            base,
            language=request.language,
            below=request.below,
            options=replace(request.options, store=self.folder / _STATE),
        )
        self.save(reviewer)
        return reviewer

    def _clear(self) -> None:
        """Delete what an earlier review left; a folder with anything else in it is refused."""
        if self.folder.is_dir():
            others = sorted({each.name for each in self.folder.iterdir()} - {_STATE, _FOREST, _ABOUT})
            if others:
                message = f"`{self.folder}` is not the store of a review: it has `{others[0]}` in it"
                hint = "name a folder that is empty, or that there is not yet"
                raise TidelogError([Diagnostic(code="store-exists", message=message, hint=hint)])
            (self.folder / _ABOUT).unlink(missing_ok=True)
            (self.folder / _FOREST).unlink(missing_ok=True)
            shutil.rmtree(self.folder / _STATE, ignore_errors=True)
        self.folder.mkdir(parents=True, exist_ok=True)


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
