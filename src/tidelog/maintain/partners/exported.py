"""A state of groups for a store, and back: strata that partners keep are not evaluated again."""

import uuid
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import numpy as np

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


def export_relation(
    home: StratumGroup | None, name: str, inputs: SessionInput, folder: Folder
) -> RelationState:
    """Return the facts of a relation and which of them are input facts.

    Levels and counts are known where partners follow the relation.
    """
    if isinstance(home, PartnerGroup) and home.follows(name):
        content = read_annotated(folder, home.files.get(name, ()), inputs.arity)
        assert content.levels is not None
        assert content.counts is not None
        rows, levels, counts = content.rows, content.levels, content.counts
    else:
        rows = inputs.rows() if home is None else home.stored(name).live_rows()
        rows = rows.astype(np.int64, copy=False)
        levels = np.where(inputs.contain(rows), 0, 1).astype(np.int32)
        counts = np.ones(len(rows), np.int32)
    # Input facts that a law leaves out are in the state, but hold no more.
    left_out = without_rows(inputs.rows(), rows)
    is_input = np.concatenate([inputs.contain(rows), np.ones(len(left_out), np.bool_)])
    return RelationState(
        fact_columns(np.concatenate([rows, left_out])),
        np.concatenate([levels, np.full(len(left_out), ABSENT, np.int32)]),
        np.concatenate([counts, np.ones(len(left_out), np.int32)]),
        is_input,
    )


def exported_work(program: Program, groups: Sequence[StratumGroup]) -> list[int]:
    """Return the work of each stratum's last evaluation, where partners keep levels that others can load."""
    known = {
        _written(stratum, program): work
        for group in groups
        if isinstance(group, PartnerGroup) and not group.is_alone
        for stratum, work in zip(group.program.strata, group.work, strict=True)
        if group.follows(stratum.relations[0]) and not _is_cut(stratum, group, program)
    }
    return [known.get(stratum.relations, _UNKNOWN) for stratum in program.strata]


def keep_exported(
    groups: Sequence[StratumGroup], state: EngineState, program: Program, folder: Folder
) -> None:
    """Let partners load what a state has of their strata, instead of evaluating them.

    What `split_rules` added is derived from the state. Strata in which a law decides are evaluated, as are
    those of which other passes made more: rules are cut where relations are large, so levels depend on sizes.
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


def _is_cut(stratum: Stratum, group: PartnerGroup, program: Program) -> bool:
    """Say whether rules of a stratum may have been cut for large relations."""
    is_divided = any(rule.id in group.spec.dividing for rule in stratum.rules)
    return is_divided and _written(stratum, program) != stratum.relations


def _kept(
    group: PartnerGroup,
    relations: Mapping[str, RelationState],
    work: Mapping[tuple[str, ...], int],
    folder: Folder,
    program: Program,
) -> Iterator[tuple[str, KeptRelation]]:
    for stratum in group.program.strata:
        written = _written(stratum, program)
        done = work.get(written, _UNKNOWN)
        is_known = done != _UNKNOWN and group.follows(stratum.relations[0])
        if not stratum.rules or not is_known or _is_cut(stratum, group, program):
            continue
        contents = {
            name: Annotated(
                fact_rows(relations[name].columns, program.relations[name].arity),
                relations[name].levels,
                relations[name].counts,
            )
            for name in written
        }
        if written != stratum.relations:
            contents |= middle_facts(stratum, group.program, contents, group.spec.known)
        for name, content in contents.items():
            file = folder.write_rows(file_name(name, 0, f"imported-{uuid.uuid4().hex[:12]}"), content)
            yield name, KeptRelation([file], len(content.rows), done, not fits_narrow(content.rows))
