"""`python -m benchmarks agreement`: names.dl against pyflakes, over installed source.

python -m benchmarks agreement --lines 250000
"""

import argparse
from collections import Counter
from collections.abc import Iterator

from benchmarks.agreement.finding import KINDS, Finding


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.add_argument("--lines", type=int, default=250_000, help="how much installed source to compare")
    parser.add_argument("--show", type=int, default=0, help="show so many findings of each class")


def run_agreement(options: argparse.Namespace) -> int:
    """Compare and print; return the exit status: 1 if a difference is unexplained."""
    from benchmarks.agreement.classes import UNEXPLAINED, Source, explain  # noqa: PLC0415 - slow to import
    from benchmarks.agreement.ours import our_findings  # noqa: PLC0415 - likewise
    from benchmarks.agreement.theirs import their_findings  # noqa: PLC0415 - likewise
    from benchmarks.trees.sources import read_files  # noqa: PLC0415 - likewise

    texts = read_files(options.lines)
    ours, paths = our_findings(texts)
    theirs = {finding for path in paths for finding in their_findings(path, texts[path])}
    sources: dict[str, Source] = {}
    classes: dict[tuple[str, bool, str], list[Finding]] = {}
    for finding in sorted(ours ^ theirs):
        source = sources.setdefault(finding.path, Source(finding.path, texts[finding.path]))
        is_ours = finding in ours
        key = finding.kind, is_ours, explain(finding, source, is_ours=is_ours)
        classes.setdefault(key, []).append(finding)
    lines = sum(texts[path].count("\n") for path in paths)
    print(f"{len(paths):,} files, {lines:,} lines")
    for line in _table(ours, theirs, classes, options.show):
        print(line)
    return 1 if any(name == UNEXPLAINED for _, _, name in classes) else 0


def _table(
    ours: set[Finding], theirs: set[Finding], classes: dict[tuple[str, bool, str], list[Finding]], show: int
) -> Iterator[str]:
    agreed, only_ours, only_theirs = (
        Counter(finding.kind for finding in part) for part in (ours & theirs, ours - theirs, theirs - ours)
    )
    yield f"{'':<58}{'agreed':>8}{'only ours':>11}{'only theirs':>13}"
    for kind in KINDS:
        yield f"{kind:<58}{agreed[kind]:>8,}{only_ours[kind]:>11,}{only_theirs[kind]:>13,}"
        for (of_kind, is_ours, name), found in sorted(classes.items()):
            if of_kind == kind:
                counts = f"{len(found):>11,}" if is_ours else f"{'':>11}{len(found):>13,}"
                yield f"  {name:<56}{'':>8}{counts}"
                yield from (f"      {each.path}:{each.line} {each.name}" for each in found[:show])
