"""`python -m benchmarks agreement`: our analyses against pyflakes and vulture, over installed source.

python -m benchmarks agreement --lines 250000 --tools pyflakes vulture
"""

import argparse
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from benchmarks.agreement.finding import Finding

if TYPE_CHECKING:
    from benchmarks.agreement.comparison import Comparison

_TOOLS = ("pyflakes", "vulture")
_Classes = dict[tuple[str, bool, str], list[Finding]]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.add_argument("--lines", type=int, default=250_000, help="how much installed source to compare")
    parser.add_argument("--tools", nargs="*", choices=_TOOLS, default=_TOOLS, help="what to compare with")
    parser.add_argument("--show", type=int, default=0, help="show so many findings of each class")


def run_agreement(options: argparse.Namespace) -> int:
    """Compare and print; return the exit status: 1 if a difference is unexplained."""
    from benchmarks.agreement.comparisons import COMPARISONS  # noqa: PLC0415 - slow to import
    from benchmarks.trees.sources import read_files  # noqa: PLC0415 - likewise

    texts = read_files(options.lines)
    return max(_compare(each, texts, options.show) for each in COMPARISONS if each.tool in options.tools)


def _compare(comparison: "Comparison", texts: Mapping[str, str], show: int) -> int:
    """Print how far two tools agree; return 1 if a difference is unexplained."""
    from benchmarks.agreement.difference import UNEXPLAINED, explain  # noqa: PLC0415 - slow to import
    from benchmarks.agreement.ours import our_findings  # noqa: PLC0415 - likewise
    from benchmarks.agreement.source import Project  # noqa: PLC0415 - likewise

    ours, paths = our_findings(texts, comparison.programs)
    readable = {path: texts[path] for path in paths}
    theirs = set(comparison.find(readable))
    project = Project(readable, ours)
    classes: _Classes = {}
    for finding in sorted(ours ^ theirs):
        is_ours = finding in ours
        name = explain(finding, project.source(finding.path), comparison.classes, is_ours=is_ours)
        classes.setdefault((finding.kind, is_ours, name), []).append(finding)
    lines = sum(text.count("\n") for text in readable.values())
    print(f"{comparison.tool}: {len(paths):,} files, {lines:,} lines")
    for line in _table(comparison.kinds, ours, theirs, classes, show):
        print(line, flush=True)
    return 1 if any(name == UNEXPLAINED for _, _, name in classes) else 0


def _table(
    kinds: tuple[str, ...], ours: set[Finding], theirs: set[Finding], classes: _Classes, show: int
) -> Iterator[str]:
    agreed, only_ours, only_theirs = (
        Counter(finding.kind for finding in part) for part in (ours & theirs, ours - theirs, theirs - ours)
    )
    yield f"{'':<58}{'agreed':>8}{'only ours':>11}{'only theirs':>13}"
    for kind in kinds:
        yield f"{kind:<58}{agreed[kind]:>8,}{only_ours[kind]:>11,}{only_theirs[kind]:>13,}"
        for (of_kind, is_ours, name), found in sorted(classes.items()):
            if of_kind == kind:
                counts = f"{len(found):>11,}" if is_ours else f"{'':>11}{len(found):>13,}"
                yield f"  {name:<56}{'':>8}{counts}"
                yield from (f"      {each.path}:{each.line} {each.name}" for each in found[:show])
