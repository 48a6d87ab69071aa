"""What our analyses find."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from benchmarks.agreement.finding import Finding
from tidelog.analysis.follow import Follow
from tidelog.trees import Forest

_ANALYSES = Path(__file__).parents[2] / "examples" / "analyses"


def our_findings(
    texts: Mapping[str, str], programs: Mapping[str, tuple[str, ...]]
) -> tuple[set[Finding], list[str]]:
    """Return the findings in files, and the paths of the files that could be read."""
    forest = Forest.of("python").update(dict(texts)).forest
    found: set[Finding] = set()
    for program, kinds in programs.items():
        follow = Follow(_ANALYSES / program, forest, facts=_ANALYSES)
        found.update(_findings(follow, kinds))
        follow.close()
    return found, sorted(forest.files)


def _findings(follow: Follow, kinds: tuple[str, ...]) -> Iterator[Finding]:
    for relation in kinds:
        for node, *names in follow.db[relation]:
            assert isinstance(node, int), "the first column is a node"
            span = follow.forest.place_of(node)
            assert span is not None, "every node of a file has a place"
            yield Finding(relation, span.source.name, span.line, str(names[0]) if names else "")
