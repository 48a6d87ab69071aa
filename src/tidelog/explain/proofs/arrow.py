"""A proof as relations that can be queried."""

from typing import TYPE_CHECKING

import pyarrow as pa

from tidelog.explain.proofs.graph import number_nodes
from tidelog.views.fact_text import write_value

if TYPE_CHECKING:
    from tidelog.explain.proofs.proof import Proof

_NODE = pa.schema(
    [
        ("node", pa.int64()), ("relation", pa.string()), ("fact", pa.string()), ("kind", pa.string()),
        ("rule", pa.string()), ("rule_id", pa.int64()), ("source", pa.string()), ("line", pa.int64()),
        ("stratum", pa.int64()), ("iteration", pa.int64()),
    ]
)  # fmt: skip
_PREMISE = pa.schema([("node", pa.int64()), ("place", pa.int64()), ("premise", pa.int64())])
_BINDING = pa.schema([("node", pa.int64()), ("variable", pa.string()), ("value", pa.string())])
_TEXT = pa.schema([("node", pa.int64()), ("place", pa.int64()), ("text", pa.string())])


def write_tables(proof: "Proof", depth: int | None = None) -> dict[str, pa.Table]:
    """Return five tables: `node`, `premise`, `binding`, `negated` and `constraint`.

    Nodes are numbered from the root, 0; values are given as the language writes them. The kind of a
    node that was not expanded is null.
    """
    rows: dict[str, list[tuple[object, ...]]] = {
        name: [] for name in ("node", "premise", "binding", "negated", "constraint")
    }
    for node in number_nodes(proof, depth):
        each = node.proof
        rule = each.rule if node.is_expanded else None
        stratum, iteration = (each.level if node.is_expanded else None) or (None, None)
        rows["node"].append(
            (
                node.number, each.relation, str(each.atom), each.kind if node.is_expanded else None,
                rule and rule.name, rule and rule.id, rule and rule.span.source.name,
                rule and rule.span.line, stratum, iteration,
            )
        )  # fmt: skip
        rows["premise"] += [(node.number, place, premise) for place, premise in enumerate(node.premises)]
        if node.is_expanded:
            rows["binding"] += [(node.number, n, write_value(v)) for n, v in each.bindings.items()]
            rows["negated"] += [(node.number, p, str(text)) for p, text in enumerate(each.negated)]
            rows["constraint"] += [(node.number, p, text) for p, text in enumerate(each.constraints)]
    schemas = {"node": _NODE, "premise": _PREMISE, "binding": _BINDING, "negated": _TEXT, "constraint": _TEXT}
    return {name: _table(rows[name], schema) for name, schema in schemas.items()}


def _table(rows: list[tuple[object, ...]], schema: pa.Schema) -> pa.Table:
    columns = list(zip(*rows, strict=True)) or [()] * len(schema)
    arrays = [pa.array(column, field.type) for column, field in zip(columns, schema, strict=True)]
    return pa.Table.from_arrays(arrays, schema=schema)
