"""Analyses of a code base: sessions over its files, what they find, reviews of commits, fixes, and SARIF."""

from typing import TYPE_CHECKING

from tidelog.lazily import lazily

if TYPE_CHECKING:
    from tidelog.analysis.fixes import Fix, FixEdit, find_fixes
    from tidelog.analysis.follow import Finding, Follow, FollowStep
    from tidelog.analysis.review import Review, ReviewedFinding, Reviewer, ReviewOptions, start_reviewer
    from tidelog.analysis.sarif import write_sarif
    from tidelog.analysis.saved_follow import reopen_follow, save_follow, start_saved
    from tidelog.trees.git_history import GitHistory

__all__ = [
    "Finding",
    "Fix",
    "FixEdit",
    "Follow",
    "FollowStep",
    "GitHistory",
    "Review",
    "ReviewOptions",
    "ReviewedFinding",
    "Reviewer",
    "find_fixes",
    "reopen_follow",
    "save_follow",
    "start_reviewer",
    "start_saved",
    "write_sarif",
]

# `tidelog.open_tree` needs nothing of what follows files.
__getattr__ = lazily(
    __name__,
    {
        **dict.fromkeys(("Finding", "Follow", "FollowStep"), "tidelog.analysis.follow"),
        **dict.fromkeys(("Fix", "FixEdit", "find_fixes"), "tidelog.analysis.fixes"),
        **dict.fromkeys(
            ("Review", "ReviewOptions", "ReviewedFinding", "Reviewer", "start_reviewer"),
            "tidelog.analysis.review",
        ),
        **dict.fromkeys(("reopen_follow", "save_follow", "start_saved"), "tidelog.analysis.saved_follow"),
        "write_sarif": "tidelog.analysis.sarif",
        "GitHistory": "tidelog.trees.git_history",
    },
)
