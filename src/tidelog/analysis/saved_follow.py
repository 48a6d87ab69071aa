"""An analysis in a folder, the facts in a store and the trees in a file, to go on without reading again."""

import json
from pathlib import Path
from typing import Any, Final

from tidelog.analysis.follow import Follow
from tidelog.analysis.saved_forest import OLD_NAME, digest_of_ids, load_forest, save_forest
from tidelog.errors import Diagnostic, TidelogError
from tidelog.io.staging import Staging
from tidelog.session.open import open_session
from tidelog.trees.forest import Forest

STATE: Final = "state"
_FOREST: Final = "trees.image"
_ABOUT: Final = "follow.json"
# All that there is in such a folder, or was in earlier versions.
FILES: Final = (STATE, _FOREST, _ABOUT, OLD_NAME)


def start_saved(program: str | Path, forest: Forest, folder: Path | str, **options: Any) -> Follow:
    """Return an analysis of a forest that is saved in a new folder; the options are those of `tidelog.open`.

    Facts are kept in a store and follow every update; `save_follow` writes the trees as well.
    """
    follow = Follow(program, forest, store=Path(folder) / STATE, **options)
    save_follow(follow, folder)
    return follow


def save_follow(follow: Follow, folder: Path | str, fingerprint: str = "") -> None:
    """Write the trees of an analysis that was started or reopened in a folder; its facts get a checkpoint.

    The fingerprint is for callers that ask later which analysis this is.
    """
    place = Path(folder)
    follow.db.checkpoint(indexes=True)
    save_forest(place / _FOREST, follow.forest)
    about = {"epoch": follow.db.epoch, "ids": digest_of_ids(follow.forest), "fingerprint": fingerprint}
    with Staging() as staging:
        staging.path_for(place / _ABOUT).write_text(json.dumps(about), encoding="utf-8")


def reopen_follow(folder: Path | str, **options: Any) -> Follow:
    """Return the analysis of a folder as it was last saved, without parsing or evaluating anything.

    The program is in the store; you can pass options that say how to evaluate.
    """
    place = Path(folder)
    about = read_about(place)
    if about is None:
        raise TidelogError([_refused("no-store", place, "it is not an analysis that was saved")])
    forest = load_forest(place / _FOREST)
    if forest is None or digest_of_ids(forest) != about.get("ids"):
        raise TidelogError([_refused("store-differs", place, "its trees are missing, or of another version")])
    db = open_session(None, store=place / STATE, **options)
    if db.epoch != about.get("epoch"):
        db.close()
        why = f"its facts are of epoch {db.epoch}, its trees of epoch {about.get('epoch')}"
        raise TidelogError([_refused("store-differs", place, why)])
    return Follow.resumed(db, forest)


def read_about(folder: Path) -> dict[str, object] | None:
    """Return what is written about the analysis in a folder; None if there is none."""
    try:
        about = json.loads((folder / _ABOUT).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return about if isinstance(about, dict) else None


def _refused(code: str, folder: Path, why: str) -> Diagnostic:
    hint = "start the analysis again, with `start_saved` in another folder, and save it after its last update"
    return Diagnostic(code=code, message=f"`{folder}` cannot be reopened: {why}", hint=hint)
