"""A proof as JSON; docs/proofs.md describes the schema."""

import json
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from tidelog.explain.proofs.atom import GroundAtom
from tidelog.explain.proofs.derivation import Absence, Aggregation
from tidelog.explain.proofs.graph import GraphNode, number_nodes
from tidelog.explain.proofs.rules import QuotedRule
from tidelog.explain.proofs.steps import Equivalence, LatticeMove
from tidelog.values import Branch, Value

if TYPE_CHECKING:
    from tidelog.explain.proofs.proof import Proof

SCHEMA_VERSION: Final = 1
Json = None | bool | int | float | str | list["Json"] | dict[str, "Json"]


def write_json(proof: "Proof", depth: int | None = None) -> str:
    """Return the proof as JSON text."""
    return json.dumps(proof_value(proof, depth), ensure_ascii=False, indent=1, allow_nan=False)


def proof_value(proof: "Proof", depth: int | None = None) -> dict[str, Json]:
    """Return the proof as values that JSON can write: a list of numbered nodes, the root first."""
    return {
        "form": "tidelog-proof",
        "version": SCHEMA_VERSION,
        "epoch": proof.explorer.epoch,
        "root": 0,
        "nodes": [_node(node) for node in number_nodes(proof, depth)],
    }


def json_value(value: Value) -> Json:
    """Return a value: records as arrays, branches as objects, numbers that JSON lacks as text."""
    match value:
        case Branch():
            return {"branch": value.name, "fields": [json_value(each) for each in value.fields]}
        case tuple():
            return [json_value(each) for each in value]
        case float() if not math.isfinite(value):
            return str(value)
        case _:
            return value


def rule_value(rule: QuotedRule | None) -> Json:
    """Return a rule with its place in the text."""
    if rule is None:
        return None
    return {
        "id": rule.id,
        "name": rule.name,
        "text": rule.text,
        "source": rule.span.source.name,
        "line": rule.span.line,
        "column": rule.span.column,
    }


def bindings_value(bindings: Mapping[str, Value]) -> Json:
    """Return bindings by name."""
    return {name: json_value(value) for name, value in bindings.items()}


def _node(node: GraphNode) -> Json:
    proof = node.proof
    shown: dict[str, Json] = {
        "id": node.number,
        "relation": proof.relation,
        "fact": [json_value(value) for value in proof.fact],
        "text": str(proof.atom),
        "expanded": node.is_expanded,
    }
    if not node.is_expanded:
        return shown
    numbers = {premise.atom: number for premise, number in zip(proof.premises, node.premises, strict=True)}
    shown |= {
        "kind": proof.kind,
        "level": None if proof.level is None else list(proof.level),
        "rule": rule_value(proof.rule),
        "bindings": bindings_value(proof.bindings),
        "premises": list(node.premises),
        "constraints": list(proof.constraints),
        "negated": [_absence(absence) for absence in proof.negated],
        "aggregations": [_aggregation(each, numbers) for each in proof.aggregations],
    }
    if isinstance(proof.step, Equivalence):
        shown["turned"] = list(proof.step.turned)
    if isinstance(proof.step, LatticeMove):
        shown["applied"] = list(map(str, proof.step.applied))
    return shown


def _absence(absence: Absence) -> Json:
    return {
        "text": absence.text,
        "relation": absence.relation,
        "pattern": [json_value(value) for value in absence.pattern],
        "bound": list(absence.bound),
    }


def _aggregation(aggregation: Aggregation, numbers: Mapping[GroundAtom, int]) -> Json:
    return {
        "text": aggregation.text,
        "value": json_value(aggregation.value),
        "group": [numbers[atom] for atom in aggregation.group],
    }
