"""The analysis of a commit in a folder, so that a review costs by the change.

The folder has a store with the facts, a file with the trees, and `review.json`: the commit that the trees are
of, and the commits that were followed since. The trees follow those commits again, which costs by the change,
and are checked to be those that the facts are about.
"""

import json
import time
from dataclasses import replace
from pathlib import Path
from typing import Final

from tidelog.analysis.follow import Follow
from tidelog.analysis.kept_analysis import clear_folder
from tidelog.analysis.request import AnalysisRequest
from tidelog.analysis.review import Reviewer, start_reviewer
from tidelog.analysis.saved_forest import OLD_NAME, digest_of_ids, load_forest, save_forest
from tidelog.errors import TidelogError
from tidelog.io.staging import Staging
from tidelog.session.open import open_session
from tidelog.trees.git_history import GitHistory

_STATE: Final = "state"
_FOREST: Final = "trees.image"
_ABOUT: Final = "review.json"
# After so many commits, or if following them again took the trees alone so long, all is written again.
_MOST_STEPS: Final = 20
_MOST_SECONDS: Final = 0.15


class ReviewStore:
    """A folder with the analysis of some commit; if it is of no use it is made again."""

    def __init__(self, folder: Path, request: AnalysisRequest) -> None:
        self.folder = folder
        self._request = request
        self._fingerprint = request.fingerprint()
        self._first: str | None = None
        self._steps: list[str] = []
        self._seconds = 0.0
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
        is_long = len(self._steps) > _MOST_STEPS or self._seconds > _MOST_SECONDS
        if is_long or self._first is None:
            save_forest(self.folder / _FOREST, forest)
            reviewer.follow.db.checkpoint(indexes=True)
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
        begun = time.process_time()
        try:
            for before, after in zip([first, *steps], steps, strict=False):
                changes = history.changes_between(before, after)
                chosen = {
                    path: text for path, text in changes.items() if path.startswith(self._request.below)
                }
                forest = forest.update(chosen).forest if chosen else forest
            self._seconds = time.process_time() - begun
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
        clear_folder(self.folder, (_STATE, _FOREST, _ABOUT, OLD_NAME))
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
