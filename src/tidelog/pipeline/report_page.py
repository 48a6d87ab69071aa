"""A report as one page of HTML that needs nothing else."""

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Final

from tidelog.pipeline.report import EpochRow, Report
from tidelog.program.suggest import counted

_STYLE: Final = """
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 70rem; padding: 0 1rem;
       color: #1c2430; background: #fff; }
h1 { font-size: 1.5rem; margin: 0 0 .2rem; } h2 { font-size: 1.1rem; margin: 2rem 0 .4rem; }
p { margin: .2rem 0; color: #51606f; } .failure { color: #a11; white-space: pre-wrap; }
table { border-collapse: collapse; width: 100%; margin: .4rem 0; }
th, td { text-align: left; padding: .25rem .6rem; border-bottom: 1px solid #e2e7ec; vertical-align: top; }
th { color: #51606f; font-weight: 600; } td.n, th.n { text-align: right; font-variant-numeric: tabular-nums; }
.bar { display: flex; height: .8rem; border-radius: .2rem; overflow: hidden; background: #e2e7ec; }
.bar i { display: block; height: 100%; }
details { border-bottom: 1px solid #e2e7ec; padding: .4rem 0; } summary { cursor: pointer; }
.read { background: #4c78a8; } .compare { background: #72b7b2; } .quarantine { background: #e45756; }
.derive { background: #54a24b; } .write { background: #eeca3b; } .commit { background: #b279a2; }
.publish { background: #ff9da6; } .order { background: #9d755d; }
.key { display: inline-block; width: .8rem; height: .8rem; border-radius: .2rem;
margin: 0 .3rem 0 1rem; vertical-align: -1px; }
@media (prefers-color-scheme: dark) { body { background: #14181d; color: #dfe6ee; }
p, th { color: #93a3b3; } th, td, details { border-color: #2b333c; } .bar { background: #2b333c; } }
"""
_STAGES: Final = ("read", "compare", "order", "quarantine", "derive", "write", "commit", "publish")


def report_page(report: Report) -> str:
    """Return the page: totals, quarantine, and every epoch with its stages, strata and outputs."""
    title = f"{report.job}: {counted(report.epoch_count, 'epoch')}"
    totals = (
        f"<p>{escape(report.engine)} engine, {escape(report.started)} to {escape(report.ended or 'now')},"
        f" {counted(report.rows, 'row')} read, {report.quarantined_count:,} quarantined,"
        f" {report.late_count:,} late, {report.skipped:,} micro-batches delivered again</p>"
    )
    parts = [f"<h1>{escape(title)}</h1>", totals]
    parts += [f"<p>{escape(warning)}</p>" for warning in report.warnings]
    if report.failure is not None:
        parts.append(f'<p class="failure">{escape(report.failure)}</p>')
    parts += ["<h2>Stages</h2>", _bar(report.seconds), _key(report.seconds)]
    if report.quarantined_count:
        rows = [
            (source, reason, count)
            for source, by_reason in report.quarantined.items()
            for reason, count in by_reason.items()
        ]
        parts += ["<h2>Quarantine</h2>", _table(("source", "reason", "rows"), rows)]
    parts.append("<h2>Epochs</h2>")
    parts += [_epoch(row) for row in reversed(report.epochs)]
    if report.epoch_count > len(report.epochs):
        parts.append(f"<p>and {report.epoch_count - len(report.epochs):,} before them</p>")
    body = "\n".join(parts)
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{_STYLE}</style></head><body>\n{body}\n</body></html>\n"
    )


def _epoch(row: EpochRow) -> str:
    total = sum(row.seconds.values())
    changed = ", ".join(
        f"{each.relation} +{each.inserted:,} −{each.deleted:,}"  # noqa: RUF001 - a minus sign
        for each in row.outputs
        if each.inserted or each.deleted
    )
    batch = "" if row.batch is None else f", micro-batch {row.batch}"
    head = f"epoch {row.epoch} ({row.cause}{batch}), {total:.3f} s: {changed or 'no output changed'}"
    sources = [
        (each.source, each.relation, each.rows, sum(each.quarantined.values()), each.late)
        for each in row.sources
    ]
    inputs = [(each.relation, each.inserted, each.deleted) for each in row.inputs]
    strata = [
        (", ".join(each.relations), each.action, each.strategy, each.reason, each.work, f"{each.seconds:.4f}")
        for each in row.strata
    ]
    outputs = [(each.relation, each.rows, each.inserted, each.deleted) for each in row.outputs]
    return "\n".join(
        [
            f"<details><summary>{escape(head)}</summary>",
            _bar(row.seconds),
            _key(row.seconds),
            _table(("source", "relation", "rows", "quarantined", "late"), sources),
            _table(("input relation", "inserted", "deleted"), inputs),
            _table(("stratum", "action", "strategy", "reason", "work", "seconds"), strata),
            _table(("output", "facts", "inserted", "deleted"), outputs),
            "</details>",
        ]
    )


def _bar(seconds: Mapping[str, float]) -> str:
    total = sum(seconds.values()) or 1.0
    pieces = "".join(
        f'<i class="{stage}" style="width:{100 * seconds[stage] / total:.2f}%"></i>'
        for stage in _STAGES
        if stage in seconds
    )
    return f'<div class="bar">{pieces}</div>'


def _key(seconds: Mapping[str, float]) -> str:
    pieces = "".join(
        f'<span class="key {stage}"></span>{stage} {seconds[stage]:.3f} s'
        for stage in _STAGES
        if stage in seconds
    )
    return f"<p>{pieces}</p>"


def _table(heads: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    lines = ["".join(_cell(each) for each in row) for row in rows]
    if not lines:
        return ""
    top = "".join(f"<th>{escape(head)}</th>" for head in heads)
    return f"<table><tr>{top}</tr>{''.join(f'<tr>{line}</tr>' for line in lines)}</table>"


def _cell(value: object) -> str:
    if isinstance(value, int):
        return f'<td class="n">{value:,}</td>'
    return f"<td>{escape(str(value))}</td>"
