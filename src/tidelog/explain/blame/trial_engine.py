"""An engine in the newer of two epochs that can look at the worlds between them.

The session's own engine will do if it is the local one and the rules are the same all the way: it is
taken to that epoch and back again, while the session's lock is held. Otherwise another one is made, over
a program in which each rule that was added or removed reads a fact of its own:

    path(x, y) :- edge(x, y), changed_rule(1).

Adding and removing rules are then changes of facts like all others.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import field, replace

import numpy as np

from tidelog.dataclass import dataclass
from tidelog.engine.epoch import RelationChange
from tidelog.engine.protocol import SilentObserver
from tidelog.errors import Diagnostic, TidelogError
from tidelog.explain.epoch_inputs import epoch_inputs
from tidelog.explain.port import Explained, ExplainedProgram, in_epoch
from tidelog.maintain import LocalMaintainedEngine
from tidelog.program import build_program
from tidelog.program.codec_beside import codec_beside
from tidelog.program.inputs import name_inputs
from tidelog.program.text import RuleItem
from tidelog.source import Source, Span
from tidelog.storage.kernel import Int64s
from tidelog.syntax import print_node, tree
from tidelog.values import Codec
from tidelog.views.epoch_diff import EpochDiff, Rows, find_epoch_diff

GUARD = "changed_rule"


@dataclass(frozen=True)
class TrialEngine:
    """The engine, and the rules that were added (True) or removed (False), by the number of their fact."""

    engine: LocalMaintainedEngine
    guard: str = GUARD
    rules: Mapping[int, tuple[bool, str]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    # The values of the engine, None if it shares those of the session.
    codec: Codec | None = None


@contextmanager
def trial_engine_at(epochs: Explained, diff: EpochDiff) -> Iterator[TrialEngine]:
    """Yield the trial engine of an interval of epochs; the caller holds the lock."""
    engine = epochs.handle.port.derivations
    later = find_epoch_diff(epochs.history, diff.after, epochs.epoch, epochs.epoch)
    has_same_rules = diff.old_text.rules == later.new_text.rules == diff.new_text.rules
    if engine is None or not has_same_rules:
        yield make_trial_engine(epochs, diff, later)
        return
    there = as_changes(later.inputs_deleted, later.inputs_inserted)
    try:
        with in_epoch(engine, there) if there else nullcontext():
            yield TrialEngine(engine)
    finally:
        engine.forget_projections()


def as_changes(inserted: Rows, deleted: Rows) -> dict[str, RelationChange]:
    """Return facts to insert and to delete as an engine takes them."""
    found: dict[str, RelationChange] = {}
    for name in dict.fromkeys([*inserted, *deleted]):
        new, old = (side.get(name) for side in (inserted, deleted))
        some = new if new is not None else old
        assert some is not None
        found[name] = RelationChange(
            _columns(some[:0] if new is None else new), _columns(some[:0] if old is None else old)
        )
    return found


def _columns(rows: Int64s) -> list[Int64s]:
    """Return one array per column; a relation without columns has one that tells the number of facts."""
    if not rows.shape[1]:
        return [np.zeros(len(rows), np.int64)]
    return [np.ascontiguousarray(rows[:, place]) for place in range(rows.shape[1])]


# --- an engine of its own ------------------------------------------------------------------------


def make_trial_engine(
    epochs: Explained,
    diff: EpochDiff,
    later: EpochDiff | None = None,
    after: ExplainedProgram | None = None,
) -> TrialEngine:
    """Return a trial engine of its own, evaluated over the inputs of the newer epoch.

    `later` is what happened since then, `after` the program of an epoch that is still to come.
    """
    handle, prepared = epochs.handle, after or epochs.prepared
    guard = GUARD
    while guard in prepared.program.relations:
        guard += "_"
    union = _Union(diff, guard)
    try:
        program, _ = build_program(union.tree)
    except TidelogError as error:
        raise TidelogError([_apart(error)]) from error
    program = name_inputs(program, [name for name in prepared.inputs if name in program.relations])
    from tidelog.plan.passes import run_passes  # noqa: PLC0415 - the local engine is loaded here at last

    codec = codec_beside(handle.codec, program.types)
    functions = {**epochs.prepared.functions, **prepared.functions}
    numbering = handle.engine.numbering.copy()
    engine = LocalMaintainedEngine(run_passes(program), codec, handle.settings, functions, numbering)
    for name, rows in epoch_inputs(epochs, program, later).items():
        engine.insert(name, _columns(rows) if rows.shape[1] else [])
    numbers = [number for number, (is_added, _) in union.rules.items() if is_added]
    if numbers:
        engine.insert(guard, [np.array(numbers, np.int64)])
    engine.evaluate(SilentObserver())
    has_derivations = handle.port.derivations is not None
    reason = "rules changed" if has_derivations else "the session's engine keeps no derivations"
    notes = (f"the program was evaluated once more, because {reason}",)
    return TrialEngine(engine, guard, union.rules, notes, codec)


class _Union:
    """The programs of both epochs in one; rules that only one of them has read a fact each."""

    def __init__(self, diff: EpochDiff, guard: str) -> None:
        self.rules: dict[int, tuple[bool, str]] = {}
        self._guard = guard
        self._old = _rules_by_place(diff.old_text.tree.items)
        self._new = _rules_by_place(diff.new_text.tree.items)
        self._span = Span(Source("changed rules", ""), 0, 0)
        items = tuple(self._merged(diff.new_text.tree.items, ()))
        self.tree = tree.SyntaxTree((*self._declared(), *items) if self.rules else items)

    def _merged(self, items: tuple[tree.Item, ...], place: tuple[str, ...]) -> Iterator[tree.Item]:
        old, new = self._old.get(place, []), self._new.get(place, [])
        for item in items:
            if isinstance(item, tree.Component):
                yield replace(item, items=tuple(self._merged(item.items, (*place, item.name))))
            elif isinstance(item, RuleItem) and item not in old:
                yield self._guarded(item, is_added=True)
            else:
                yield item
        for item in old:
            if item not in new:
                yield self._guarded(item, is_added=False)

    def _guarded(self, item: RuleItem, *, is_added: bool) -> RuleItem:
        number = len(self.rules) + 1
        self.rules[number] = is_added, print_node(item)
        atom = tree.Atom(self._guard, (tree.NumberLiteral(number, span=item.span),), span=item.span)
        body = item.body or tree.Disjunction((tree.Conjunction((), span=item.span),), span=item.span)
        guarded = tuple(replace(each, elements=(*each.elements, atom)) for each in body.alternatives)
        # An order that a plan asks for does not know the new atom.
        return replace(item, body=replace(body, alternatives=guarded), plan=None)

    def _declared(self) -> tuple[tree.Item, ...]:
        field_ = tree.Field("number", "number", span=self._span)
        return (
            tree.RelationDeclaration(self._guard, (field_,), span=self._span),
            tree.Directive(tree.DirectiveKind.INPUT, self._guard, span=self._span),
        )


def _rules_by_place(items: tuple[tree.Item, ...]) -> dict[tuple[str, ...], list[RuleItem]]:
    """Return the rules at the top and inside each component, by the names that lead there."""
    found: dict[tuple[str, ...], list[RuleItem]] = {}
    waiting: list[tuple[tuple[str, ...], tuple[tree.Item, ...]]] = [((), items)]
    while waiting:
        place, inner = waiting.pop()
        for item in inner:
            if isinstance(item, tree.Component):
                waiting.append(((*place, item.name), item.items))
            elif isinstance(item, RuleItem):
                found.setdefault(place, []).append(item)
    return found


def _apart(error: TidelogError) -> Diagnostic:
    return Diagnostic(
        code="rules-apart",
        message=f"the rules of both epochs cannot be in one program: {error.diagnostics[0].message}",
        hint="ask about epochs with the same rules, or take rules back with add_rules and remove_rules",
    )
