"""Analyses of a code base: sessions over its files, what they find, and findings as SARIF."""

from typing import TYPE_CHECKING

from tidelog.lazily import lazily

if TYPE_CHECKING:
    from tidelog.analysis.follow import Finding, Follow, FollowStep
    from tidelog.analysis.sarif import write_sarif

__all__ = ["Finding", "Follow", "FollowStep", "write_sarif"]

# `tidelog.open_tree` needs nothing of what follows files.
__getattr__ = lazily(
    __name__,
    {
        **dict.fromkeys(("Finding", "Follow", "FollowStep"), "tidelog.analysis.follow"),
        "write_sarif": "tidelog.analysis.sarif",
    },
)
