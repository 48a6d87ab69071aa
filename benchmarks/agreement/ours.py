"""What names.dl finds."""

from collections.abc import Mapping
from pathlib import Path

from benchmarks.agreement.finding import KINDS, Finding
from tidelog.analysis.follow import Follow
from tidelog.trees import Forest

_ANALYSES = Path(__file__).parents[2] / "examples" / "analyses"


def our_findings(texts: Mapping[str, str]) -> tuple[set[Finding], list[str]]:
    """Return the findings in files, and the paths of the files that could be read."""
    forest = Forest.of("python").update(dict(texts)).forest
    follow = Follow(_ANALYSES / "names.dl", forest, facts=_ANALYSES)
    found = set()
    for relation in KINDS:
        for node, name in follow.db[relation]:
            assert isinstance(node, int), "the first column is a node"
            span = forest.place_of(node)
            assert span is not None, "every node of a file has a place"
            assert isinstance(name, str), "the second column is a name"
            found.add(Finding(relation, span.source.name, span.line, name))
    return found, sorted(forest.files)
