"""How facts are packed into words, and what decides it."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from support.programs import build
from tidelog.engine.cuda.code_ranges import ANY_CODE, NO_CODE, CodeRange, ranges_of_facts, ranges_of_rules
from tidelog.engine.cuda.layout import make_layout
from tidelog.plan.flatten import flatten_rule
from tidelog.values import Codec

CODE = st.integers(-(2**63), 2**63 - 1) | st.integers(-5, 5)


@given(
    st.integers(0, 5).flatmap(
        lambda width: st.lists(st.lists(CODE, min_size=width, max_size=width), max_size=8)
    )
)
def test_facts_are_the_same_after_packing(rows):
    """Whatever codes a relation has, its facts can be read back from their words."""
    table = np.array(rows, np.int64).reshape(len(rows), len(rows[0]) if rows else 0)
    columns = list(np.ascontiguousarray(table.T))
    layout = make_layout(ranges_of_facts(columns))

    words = layout.pack(columns, len(rows))

    assert [column.tolist() for column in layout.unpack(words)] == [column.tolist() for column in columns]
    assert len({tuple(fact) for fact in words.T.tolist()}) == len({tuple(row) for row in rows})
    assert not layout.is_packed or int(words.max(initial=0)) < 2**63


def test_columns_of_facts_that_are_only_passed_on_keep_their_range():
    """A rule that passes values on widens no column; one that computes a value may give any code."""
    program = build("""
    .decl e(x: number, y: number)
    .input e
    .decl p(x: number, y: number)
    p(x, y) :- e(x, y).
    p(y, z) :- p(x, y), e(y, z).
    p(7, y) :- e(_, y), e(y, _).
    .decl total(x: number)
    total(x + y) :- p(x, y).
    .decl none(x: number)
    none(x) :- p(x, y), none(y).
    """)
    rules = [flatten_rule(rule, program) for stratum in program.strata for rule in stratum.rules]
    known = {name: (NO_CODE,) * relation.arity for name, relation in program.relations.items()}
    known["e"] = (CodeRange(1, 4), CodeRange(2, 6))

    ranges = ranges_of_rules(rules, known, Codec(program.types))

    assert ranges["p"] == (CodeRange(1, 7), CodeRange(2, 6))
    assert ranges["total"] == (ANY_CODE,)
    assert ranges["none"] == (NO_CODE,)
