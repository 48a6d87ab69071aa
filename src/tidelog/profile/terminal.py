"""A profile as tables in the terminal."""

from collections.abc import Iterator, Sequence
from io import StringIO
from typing import Final

from rich.console import Console, Group, RenderableType
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from tidelog.engine.profile.record import RuleProfile, StratumProfile, is_wasteful
from tidelog.profile.durations import duration
from tidelog.profile.hot import delta_of, most_expensive, place_of
from tidelog.profile.profile import EpochProfile, Profile
from tidelog.profile.spark_line import spark_line
from tidelog.program.suggest import counted

# As wide as tables are where no terminal says how wide it is.
PLAIN_WIDTH: Final = 120
# So many epochs are listed, the slowest first.
_MOST_EPOCHS: Final = 20
# Rules below this share of the time are counted and not listed.
_SHOWN_SHARE: Final = 0.001


def plain_text(*parts: RenderableType) -> str:
    """Return tables as text without colours."""
    written = StringIO()
    console = Console(file=written, width=PLAIN_WIDTH, color_system=None, force_terminal=False)
    console.print(*parts, sep="\n")
    return "\n".join(line.rstrip() for line in written.getvalue().splitlines())


def profile_report(profile: Profile) -> RenderableType:
    """Return the strata with their rules and iterations, the slowest operators, epochs, and advice."""
    return Group(*_parts(profile))


def _parts(profile: Profile) -> Iterator[RenderableType]:
    yield _heading(profile)
    for stratum in profile.strata:
        if stratum.rules or stratum.iterations:
            yield Text()
            yield from _stratum(stratum, profile.evaluation_seconds)
    hot = most_expensive(profile)
    if hot:
        yield Text()
        yield _hot_operators(profile)
    if profile.epochs:
        yield Text()
        yield from _epochs(profile.epochs)
    for advice in profile.advice:
        where = f"{advice.source.rpartition('/')[2]}:{advice.line}: " if advice.line else ""
        yield Text(
            f"\nadvice[{advice.code}]: {where}{advice.message}\n  hint: {advice.hint}", overflow="fold"
        )


def _heading(profile: Profile) -> Text:
    phases = ", ".join(f"{name} {duration(took)}" for name, took in profile.seconds.items())
    stopped = "" if profile.is_complete else ", stopped before its end"
    where = f"{profile.program or 'program'} on {profile.engine}, {counted(profile.jobs, 'thread')}{stopped}"
    memory = f"{profile.peak_memory_bytes / 2**20:,.0f} MiB at most"
    return Text(f"{where}\n{phases}; {memory}")


def _stratum(stratum: StratumProfile, all_seconds: float) -> Iterator[RenderableType]:
    share = f", {stratum.seconds / all_seconds:.0%} of the evaluation" if all_seconds else ""
    kind = f", {counted(stratum.iterations, 'iteration')}" if stratum.is_recursive else ""
    name = f"stratum {stratum.number}: {stratum.title}"
    yield Text(
        f"{name}: {duration(stratum.seconds)}{share}{kind}, "
        f"{counted(stratum.facts, 'fact')}\n"
        f"  bindings {stratum.bindings:,}, derivations {stratum.derivations:,}; "
        f"planning {duration(stratum.planning_seconds)}, indexes {duration(stratum.index_seconds)}",
        style="bold",
    )
    if stratum.is_recursive and len(stratum.records) > 1:
        records = stratum.records
        for name, values in (
            ("seconds", [(each.seconds, each.iterations) for each in records]),
            ("new facts", [(float(each.new_facts), each.iterations) for each in records]),
        ):
            yield Text(f"  {name:9} {spark_line(values)}")
    if stratum.rules:
        yield _rules(stratum.rules, stratum.seconds)


def _rules(rules: Sequence[RuleProfile], all_seconds: float) -> Table:
    table = Table("seconds", "bindings", "derivations", "new facts", "duplicates", "per", "rule", box=None)
    for column in table.columns[:-1]:
        column.justify = "right"
        column.no_wrap = True
    table.columns[-1].overflow = "fold"
    least = _SHOWN_SHARE * all_seconds
    shown = [rule for rule in rules if rule.total.seconds >= least and rule.total.seconds > 0.0]
    for rule in sorted(shown, key=lambda each: -each.total.seconds):
        total = rule.total
        per = f"{total.bindings / max(total.derivations, 1):,.1f}" if total.bindings else ""
        table.add_row(
            duration(total.seconds),
            f"{total.bindings:,}",
            f"{total.derivations:,}",
            f"{total.new_facts:,}",
            f"{total.duplicates:,}",
            per,
            escape(f"{place_of(rule)} {delta_of(rule)} {rule.text}".replace("  ", " ")),
            style="bold red" if is_wasteful(rule.total) else "",
        )
    if len(shown) < len(rules):
        table.add_row("", "", "", "", "", "", f"and {len(rules) - len(shown)} that took next to nothing")
    return table


def _hot_operators(profile: Profile) -> Table:
    names = ("seconds", "rows in", "rows out", "each", "expected", "operator")
    table = Table(*names, box=None, title="the most expensive operators", title_justify="left")
    for column in table.columns[:-1]:
        column.justify = "right"
        column.no_wrap = True
    table.columns[-1].overflow = "fold"
    for each in most_expensive(profile):
        operator = each.operator
        is_join = operator.expected is not None and operator.rows_in
        rule = f"{place_of(each.rule)} {delta_of(each.rule)} {each.rule.text}".replace("  ", " ")
        table.add_row(
            duration(each.seconds),
            f"{operator.rows_in:,}" if operator.rows_in else "",
            f"{operator.rows_out:,}",
            _rough(operator.rows_out / operator.rows_in) if is_join else "",
            _rough(operator.expected) if operator.expected is not None else "",
            escape(f"{operator.text}\n  {rule}"),
        )
    return table


def _epochs(epochs: Sequence[EpochProfile]) -> Iterator[RenderableType]:
    slowest = sorted(epochs, key=lambda each: -each.seconds)[:_MOST_EPOCHS]
    yield Text(
        f"{counted(len(epochs), 'epoch')}, {duration(sum(each.seconds for each in epochs))}", style="bold"
    )
    names = ("epoch", "seconds", "changes", "facts", "work", "predicted", "budget", "what was done")
    table = Table(*names, box=None)
    for column in table.columns[:-1]:
        column.justify = "right"
        column.no_wrap = True
    for epoch in sorted(slowest, key=lambda each: each.epoch):
        facts = f"+{epoch.inserted:,} -{epoch.deleted:,}"
        table.add_row(str(epoch.epoch), duration(epoch.seconds), f"{epoch.changes:,}", facts)
        for stratum in epoch.strata:
            if stratum.action == "skipped":
                continue
            budget = "" if stratum.budget is None else f"{stratum.budget:,}"
            what = f"{', '.join(stratum.relations)} {stratum.action}: {stratum.reason}"
            work, predicted = f"{stratum.work:,}", f"{stratum.predicted_work:,}"
            table.add_row("", duration(stratum.seconds), "", "", work, predicted, budget, escape(what))
    yield table


def _rough(number: float) -> str:
    return f"{number:,.0f}" if number >= 10 else f"{number:.2g}"
