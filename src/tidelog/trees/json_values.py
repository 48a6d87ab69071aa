"""JSON values as trees."""

from collections.abc import Mapping, Sequence

from tidelog.errors import Diagnostic, TidelogError
from tidelog.trees.json_shapes import infer_shapes, read_json_schema
from tidelog.trees.shaped_values import ShapedValues
from tidelog.trees.tree import Tree


def from_json(
    value: object,
    schema: Mapping[str, object] | None = None,
    like: Tree | None = None,
    examples: Sequence[object] = (),
) -> Tree:
    """Return the tree of a JSON value, given as Python has it after `json.loads`.

    Its types come from a JSON Schema, or from another tree, or else from what the value and the
    examples look like.
    """
    if like is not None:
        if not isinstance(like.form, ShapedValues):
            message = f"a {like.form.name} tree has no types for JSON"
            raise TidelogError([Diagnostic(code="tree-types-differ", message=message)])
        return like.form.encode(value)
    shapes = infer_shapes([value, *examples]) if schema is None else read_json_schema(schema)
    return ShapedValues("JSON", shapes.shape, shapes.records, shapes.shapes).encode(value)
