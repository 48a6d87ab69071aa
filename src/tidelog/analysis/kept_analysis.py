"""An analysis that is kept in a folder between runs: a start costs by what changed since the last one.

A start reopens what is in the folder, follows the files that differ, writes the result and leaves the folder:
later edits happen in memory. What is of no use, because the program, its facts or this version changed, or a
process was killed while it wrote, is made again.
"""

import logging
import shutil
from collections.abc import Collection, Mapping
from dataclasses import replace
from pathlib import Path

from tidelog.analysis.follow import Follow
from tidelog.analysis.request import AnalysisRequest
from tidelog.analysis.saved_follow import FILES, STATE, read_about, reopen_follow, save_follow
from tidelog.dataclass import dataclass
from tidelog.errors import Diagnostic, TidelogError
from tidelog.trees.forest import Forest

_LOGGER = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class StartedAnalysis:
    """An analysis of some texts, and what is wrong with those that have no tree."""

    follow: Follow
    mistakes: tuple[Diagnostic, ...]


def start_analysis(
    request: AnalysisRequest, texts: Mapping[str, str], folder: Path | None = None
) -> StartedAnalysis:
    """Return an analysis of texts by file; with a folder, from what an earlier one left there.

    What is found is the same with a folder and without one.
    """
    if folder is None:
        return _start(request, texts, None)
    fingerprint = request.fingerprint()
    try:
        started = _resume(request, texts, folder, fingerprint)
        if started is None:
            clear_folder(folder, FILES)
            started = _start(request, texts, folder)
            save_follow(started.follow, folder, fingerprint)
    except TidelogError as error:
        if error.diagnostics[0].code != "store-in-use":
            raise
        _LOGGER.warning("%s; the analysis starts without it", error.diagnostics[0].message)
        return _start(request, texts, None)
    started.follow.db.leave_store()
    return started


def clear_folder(folder: Path, own: Collection[str]) -> None:
    """Delete what an earlier analysis left; a folder with anything else in it is refused."""
    if folder.is_dir():
        others = sorted({each.name for each in folder.iterdir()} - set(own))
        if others:
            message = f"`{folder}` is not the store of an analysis: it has `{others[0]}` in it"
            hint = "name a folder that is empty, or that does not exist yet"
            raise TidelogError([Diagnostic(code="store-exists", message=message, hint=hint)])
        for name in own:
            if (folder / name).is_dir():
                shutil.rmtree(folder / name, ignore_errors=True)
            else:
                (folder / name).unlink(missing_ok=True)
    folder.mkdir(parents=True, exist_ok=True)


def _start(request: AnalysisRequest, texts: Mapping[str, str], folder: Path | None) -> StartedAnalysis:
    start = Forest.of(request.language).update(dict(texts))
    options = request.options if folder is None else replace(request.options, store=folder / STATE)
    return StartedAnalysis(Follow(request.program, start.forest, options=options), start.mistakes)


def _resume(
    request: AnalysisRequest, texts: Mapping[str, str], folder: Path, fingerprint: str
) -> StartedAnalysis | None:
    """Return what the folder has, brought to these texts; None if it is of no use."""
    about = read_about(folder)
    if about is None or about.get("fingerprint") != fingerprint:
        return None
    try:
        follow = reopen_follow(folder, options=replace(request.options, facts=None))
    except TidelogError as error:
        if error.diagnostics[0].code == "store-in-use":
            raise
        return None
    mistakes, is_changed = _catch_up(follow, texts)
    if is_changed:
        save_follow(follow, folder, fingerprint)
    return StartedAnalysis(follow, mistakes)


def _catch_up(follow: Follow, texts: Mapping[str, str]) -> tuple[tuple[Diagnostic, ...], bool]:
    """Follow the files that differ; return the mistakes in them, and whether facts changed."""
    known = {path: tree.places.source.text for path, tree in follow.forest.files.items() if tree.places}
    changes: dict[str, str | None] = {path: text for path, text in texts.items() if known.get(path) != text}
    changes |= dict.fromkeys(known.keys() - texts.keys())
    if not changes:
        return (), False
    step = follow.forest.update(changes)
    # In a new analysis a text with mistakes has no tree, whatever it was before.
    broken = {each.span.source.name for each in step.mistakes if each.span is not None} & known.keys()
    if step.script:
        follow.take(step, tuple(changes))
    else:
        # Nodes may stand elsewhere, and facts know nothing of that.
        follow.forest = step.forest
    if broken:
        follow.update(dict.fromkeys(broken))
    return step.mistakes, bool(step.script) or bool(broken)
