"""A state of groups for a store, and back: strata that partners keep are not evaluated again."""

import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from tidelog.engine.code_rows import fact_columns, fact_rows
from tidelog.engine.epoch import EngineState, RelationState
from tidelog.engine.local.state import fits_narrow
from tidelog.engine.spark.files import Annotated, Folder, file_name
from tidelog.engine.spark.skew import frequent_among
from tidelog.maintain.partners.groups import KeptRelation, PartnerGroup, StratumGroup
from tidelog.maintain.partners.middle_facts import middle_facts
from tidelog.maintain.partners.session_inputs import SessionInput
from tidelog.maintain.partners.state_files import read_annotated, without_rows
from tidelog.program.nodes import Program, Stratum
from tidelog.storage.annotations import ABSENT

# The work of a stratum whose levels and counts are not in the state.
_UNKNOWN: Final = -1


def export_relations(
    program: Program, groups: Sequence[StratumGroup], inputs: Mapping[str, SessionInput], folder: Folder
) -> dict[str, RelationState]:
    """Return the state of all relations, and of those that passes made where a state must have them."""
    homes = {name: group for group in groups for name in group.own}
    found = {name: _exported(homes.get(name), name, inputs[name], folder) for name in program.relations}
    for group in groups:
        if isinstance(group, PartnerGroup) and not group.is_alone:
            for stratum in group.program.strata:
                for name in _made(stratum, program) if _needs_all(stratum, group, program) else ():
                    content = _annotated(group, name, folder)
                    found[name] = _state(content, np.zeros(len(content.rows), np.bool_))
    return found


def _exported(home: StratumGroup | None, name: str, inputs: SessionInput, folder: Folder) -> RelationState:
    """Return the facts of a relation and which of them are input facts.

    Levels and counts are known where partners divide the relation among them.
    """
    if isinstance(home, PartnerGroup) and not home.is_alone:
        content = _annotated(home, name, folder)
    else:
        rows = inputs.rows() if home is None else home.stored(name).live_rows()
        rows = rows.astype(np.int64, copy=False)
        levels = np.where(inputs.contain(rows), 0, 1).astype(np.int32)
        content = Annotated(rows, levels, np.ones(len(rows), np.int32))
    # Input facts that a law leaves out are in the state, but hold no more.
    left_out = without_rows(inputs.rows(), content.rows)
    is_input = np.concatenate([inputs.contain(content.rows), np.ones(len(left_out), np.bool_)])
    absent = np.full(len(left_out), ABSENT, np.int32)
    sides = (content, Annotated(left_out, absent, np.ones(len(left_out), np.int32)))
    return _state(_joined(sides), is_input)


def exported_work(program: Program, groups: Sequence[StratumGroup]) -> list[int]:
    """Return the work of each stratum's last evaluation, where partners keep levels that others can load."""
    known = {
        _written(stratum, program): work
        for group in groups
        if isinstance(group, PartnerGroup) and not group.is_alone
        for stratum, work in zip(group.program.strata, group.work, strict=True)
    }
    return [known.get(stratum.relations, _UNKNOWN) for stratum in program.strata]


def keep_exported(
    groups: Sequence[StratumGroup], state: EngineState, program: Program, folder: Folder
) -> None:
    """Let partners load what a state has of their strata, instead of evaluating them.

    What `split_rules` added is derived from the state. It has what other passes made of a stratum, by names
    that tell which rules they are from: rules are cut where relations are large, so levels depend on sizes.
    """
    if len(state.stratum_work) != len(program.strata):
        return
    work = {stratum.relations: each for stratum, each in zip(program.strata, state.stratum_work, strict=True)}
    for group in groups:
        if isinstance(group, PartnerGroup) and not group.is_alone:
            group.kept = dict(_kept(group, state.relations, work, folder, program))
            rows = {
                name: fact_rows(state.relations[name].columns, relation.arity)
                for name, relation in group.program.relations.items()
                if name in state.relations
            }
            # These values are spread if nothing of the group is evaluated.
            group.heavy = frequent_among(group.spec.dividing_columns(), rows, group.partners)


def _written(stratum: Stratum, program: Program) -> tuple[str, ...]:
    """Return the relations of a stratum that no pass made."""
    return tuple(name for name in stratum.relations if name in program.relations)


def _made(stratum: Stratum, program: Program) -> tuple[str, ...]:
    """Return the relations of a stratum that passes made."""
    return tuple(name for name in stratum.relations if name not in program.relations)


def _needs_all(stratum: Stratum, group: PartnerGroup, program: Program) -> bool:
    """Say whether a state must have what passes made of a stratum.

    Rules may have been cut for large relations, whose halves read earlier strata, or close an equivalence.
    """
    is_divided = any(rule.id in group.spec.dividing for rule in stratum.rules)
    is_closed = not group.apart.keys().isdisjoint(stratum.relations)
    written = _written(stratum, program)
    return bool(written) and written != stratum.relations and (is_divided or is_closed)


def _kept(
    group: PartnerGroup,
    relations: Mapping[str, RelationState],
    work: Mapping[tuple[str, ...], int],
    folder: Folder,
    program: Program,
) -> Iterator[tuple[str, KeptRelation]]:
    stored = {name for name in relations if name not in program.relations}
    for stratum in group.program.strata:
        written, made = _written(stratum, program), set(_made(stratum, program))
        done = work.get(written, _UNKNOWN)
        has_work = stratum.rules or group.program.law_of(stratum) is not None
        known = {name for name in stored if name.startswith(tuple(f"{each}/" for each in written))}
        is_derived = not known and not _needs_all(stratum, group, program)
        if not has_work or done == _UNKNOWN or (known != made and not is_derived):
            continue
        contents = {
            name: _content(relations[name], group.program.relations[name].arity)
            for name in (*written, *known)
        }
        if known != made:
            contents |= middle_facts(stratum, group.program, contents, group.spec.known)
        for name, content in contents.items():
            file = folder.write_rows(file_name(name, 0, f"imported-{uuid.uuid4().hex[:12]}"), content)
            yield name, KeptRelation([file], len(content.rows), done, not fits_narrow(content.rows))


# --- facts with their levels and counts --------------------------------------------------------------


def _annotated(group: PartnerGroup, name: str, folder: Folder) -> Annotated:
    """Return the facts of a relation that partners keep."""
    return read_annotated(folder, group.files.get(name, ()), group.program.relations[name].arity)


def _joined(contents: Iterable[Annotated]) -> Annotated:
    rows, levels, counts = zip(*((each.rows, each.levels, each.counts) for each in contents), strict=True)
    return Annotated(np.concatenate(rows), np.concatenate(levels), np.concatenate(counts))


def _state(content: Annotated, is_input: npt.NDArray[np.bool_]) -> RelationState:
    assert content.levels is not None
    assert content.counts is not None
    return RelationState(fact_columns(content.rows), content.levels, content.counts, is_input)


def _content(state: RelationState, arity: int) -> Annotated:
    """Return the facts of a state, without input facts that a law leaves out."""
    rows, is_fact = fact_rows(state.columns, arity), state.levels != ABSENT
    return Annotated(rows[is_fact], state.levels[is_fact], state.counts[is_fact])
