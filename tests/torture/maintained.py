"""Epochs of the maintained engine: every strategy, with one thread and two, giving up included.

After each epoch every relation is the reference engine's, the delta is the difference, and levels and
counts are those of brute force.
"""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from support.epochs import LIMIT, Maintained, check_reports, difference
from support.programs import build
from tidelog.engine.epoch import Strategy
from tidelog.engine.protocol import Settings
from tidelog.errors import TidelogError
from torture.histories import History, histories, write_script
from torture.searching import RandomKind


def replay(history: History) -> int:
    """Take the engine through the history, checking everything after each epoch."""
    settings = Settings(jobs=history.jobs, iteration_limit=LIMIT.iteration_limit)
    run = Maintained(build(history.text), history.functions, settings).start(history.inputs)
    before = run.check()
    present = history.text
    checked = 1
    for step, text in zip(history.steps, history.texts(), strict=True):
        if step.is_reopened:
            run = _reopened(run, is_mapped=step.is_mapped)
        strategy = Strategy(step.strategy)
        if text != present:
            try:
                program = build(text)
            except TidelogError:
                # Without these rules it is not a valid program: the rules stay as they are.
                program = run.program
            found = run.change_rules(program, strategy=strategy)
            after = run.check()
            # A relation made for a part of a rule goes with the rule, and is in no delta.
            before = {name: facts for name, facts in before.items() if name in after}
            assert found == difference(before, after), "the delta of the change of rules"
            before, present = after, text
        found = run.change(step.inserts, step.deletes, strategy=strategy, switch=step.switch)
        after = run.check()
        assert found == difference(before, after), "the delta"
        check_reports(run, found, strategy)
        before = after
        checked += 1
    return checked


def _reopened(run: Maintained, *, is_mapped: bool) -> Maintained:
    """Return an engine that took over the state, exported or as an image."""
    if not is_mapped:
        return run.moved()
    with TemporaryDirectory(prefix="tidelog-torture-") as folder:
        return run.mapped(Path(folder) / "image")


EPOCHS: Final = RandomKind(
    "epochs", "epochs", histories, replay, lambda history: write_script("torture.maintained.replay", history)
)
