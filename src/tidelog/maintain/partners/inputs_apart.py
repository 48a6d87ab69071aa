"""Pass: give input facts a relation of their own where a law decides which facts stay.

    .decl tree(x: number, y: number) choice-domain y
    .input tree

A choice leaves input facts out, and a join replaces them. So `tree/input` has them all, each with the partner
that owns such a fact of `tree`. No rule reads it: the evaluation of `tree` begins with its facts.

The input facts of an equivalence that rules close are its pairs, a relation of the same stratum: see
`engine.spark.equivalences`.
"""

from collections.abc import Mapping
from dataclasses import replace

from tidelog.engine.spark.laws import decided_relations
from tidelog.program.nodes import Program, Stratum
from tidelog.program.walk_nodes import earlier_relations

# Where the input facts of a relation are, if not in the relation itself.
Apart = Mapping[str, str]


def keep_inputs_apart(program: Program) -> tuple[Program, Apart]:
    """Return the program with these relations, and their names by those of the relations with a law."""
    apart: dict[str, str] = {}
    relations = dict(program.relations)
    strata: list[Stratum] = []
    for stratum in program.strata:
        for name in sorted(decided_relations(stratum, program)):
            made = apart[name] = f"{name}/input"
            relations[made] = replace(program.relations[name].without_law(), name=made)
            strata.append(Stratum((made,), (), (), is_recursive=False))
        strata.append(stratum)
    return replace(program, relations=relations, strata=tuple(strata)), apart


def relations_below(stratum: Stratum, apart: Apart) -> frozenset[str]:
    """Return the relations of earlier strata that the facts of a stratum depend on."""
    inputs = {apart[name] for name in stratum.relations if name in apart}
    return (earlier_relations(stratum) | inputs).difference(stratum.relations)
