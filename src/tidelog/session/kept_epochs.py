"""The history of a session, to its store and back."""

from collections.abc import Sequence

from tidelog.engine.epoch import EpochResult, RelationChange
from tidelog.program import build_program
from tidelog.program.text import ProgramText
from tidelog.session.changes import NetChange
from tidelog.session.deltas import make_delta, rule_delta
from tidelog.session.prepare import Prepared
from tidelog.source import Source
from tidelog.store.kept_epochs import KeptEpoch, KeptEpochs
from tidelog.values import Codec
from tidelog.views.delta import NO_RULES, RelationDeltas, fact_count
from tidelog.views.history import History


def kept_epochs(history: History, after: int) -> KeptEpochs:
    """Return what a store keeps of the epochs after one."""
    deltas = [delta for delta in history.deltas if delta.epoch > after]
    if not deltas:
        return KeptEpochs((), ())
    epochs = (
        KeptEpoch(delta.epoch, delta.seconds, _changes(delta), _changes(delta.changes)) for delta in deltas
    )
    texts = history.texts_since(deltas[0].epoch - 1)
    return KeptEpochs(tuple(epochs), tuple((epoch, text.sources) for epoch, text in texts))


def recall_epochs(past: Sequence[KeptEpochs], history: History, prepared: Prepared, codec: Codec) -> None:
    """Add epochs of a store to a history; `prepared` is the program after them."""
    last, program = prepared.text, prepared.program

    def read(sources: Sequence[Source]) -> ProgramText:
        # One text is one object: whoever asks whether rules changed compares no others.
        return last if sources == last.sources else ProgramText.read(sources)

    text: ProgramText | None = None
    for kept in past:
        sources = dict(kept.texts)
        if text is None:
            text = read(sources[min(sources)])
            history.note_text(min(sources), text)
        derived = _derived(text)
        for epoch in kept.epochs:
            before = text
            if epoch.epoch in sources:
                text = read(sources[epoch.epoch])
                history.note_text(epoch.epoch, text)
                derived = _derived(text)
            result = EpochResult(
                {name: each.inserted for name, each in epoch.facts.items() if fact_count(each.inserted)},
                {name: each.deleted for name, each in epoch.facts.items() if fact_count(each.deleted)},
                (),
            )
            net = NetChange(dict(epoch.inputs), {})
            rules = NO_RULES if before is text else rule_delta(before, text)
            history.add(make_delta(program, codec, derived, epoch.epoch, result, epoch.seconds, net, rules))


def _derived(text: ProgramText) -> frozenset[str]:
    return frozenset(rule.head.relation for rule in build_program(text.tree)[0].rules)


def _changes(deltas: RelationDeltas) -> dict[str, RelationChange]:
    return {name: RelationChange(*deltas.sides(name)) for name in deltas}
