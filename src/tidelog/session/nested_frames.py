"""Records and algebraic values of data frames: workers make plain texts of texts, lists and structs.

    [ 1,a ]   (1, "a")   {"n": 1, "s": "a"}      ->  "[1, a]", as in a fact file

Equal values of a type have equal texts, so workers can compare and join them.
"""

import pickle
from typing import TYPE_CHECKING

from tidelog.engine.spark.failures import failure_text
from tidelog.engine.spark.nested_values import nested_places
from tidelog.engine.spark.replies import task_of
from tidelog.errors import Diagnostic, TidelogError
from tidelog.io.arrow import ArrowMistakeError, codes_from_arrow
from tidelog.program.nodes import Column, Relation
from tidelog.values import Codec
from tidelog.values.arrow import pa
from tidelog.values.types import TypeTable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import DataFrame

    Batches = Iterator[pa.RecordBatch]


def with_plain_texts(frame: "DataFrame", relation: Relation, codec: Codec) -> "DataFrame":
    """Return a frame with columns c0, c1, ... and plain texts where it has records and algebraic values.

    What is not a value of the column's type raises a diagnostic in the worker that meets it.
    """
    places = nested_places(relation, codec)
    if not places:
        return frame
    kinds = dict(frame.dtypes) | {f"c{place}": "string" for place in places}
    content = pickle.dumps((relation, dict(codec.types), places))
    schema = ", ".join(f"{name} {kind}" for name, kind in kinds.items())
    return frame.mapInArrow(task_of(write_plain_texts, content), schema)


def write_plain_texts(batches: "Batches", content: bytes) -> "Batches":
    """Yield batches with plain texts in some columns; called in the worker."""
    # From our own driver, over Spark's channels.
    relation, types, places = pickle.loads(content)  # noqa: S301 - see above
    for batch in batches:
        columns = list(batch.columns)
        for place in places:
            columns[place] = _plain_texts(columns[place], relation, relation.columns[place], types)
        yield pa.RecordBatch.from_arrays(columns, names=batch.schema.names)


def _plain_texts(values: "pa.Array", relation: Relation, column: Column, types: TypeTable) -> "pa.Array":
    # Codes given here are seen nowhere else.
    codec = Codec(types)
    try:
        values.validate(full=True)
        codes = codes_from_arrow(pa.chunked_array([values]), column.type, codec)
    except (ArrowMistakeError, pa.ArrowException, TypeError, ValueError) as error:
        is_null = isinstance(error, ArrowMistakeError) and error.is_null
        what = "has a null" if is_null else f"has another value: {error}"
        mistake = Diagnostic(
            code="wrong-value-type",
            message=f"facts of `{relation.name}`: column `{column.name}` of type `{column.type}` {what}",
            hint="leave such rows out of the frame, or replace the value",
        )
        raise RuntimeError(failure_text(TidelogError([mistake]))) from error
    return codec.column_to_arrow(codes, column.type)
