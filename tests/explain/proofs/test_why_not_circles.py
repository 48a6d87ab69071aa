"""Refutations are never circular: no fact is missing because it is missing."""

import tidelog
from support.explanations_oracle import assert_not_circular
from tidelog.session import Session

PATHS = """
.decl e(x: number, y: number)
.input e
.decl p(x: number, y: number)
p(x, y) :- p(x, z), e(z, y).
p(x, y) :- e(x, y).
"""


def _missing(db: Session, asked: str) -> list[list[str]]:
    """Return the facts that each near miss lacks, nearest first."""
    return [
        [str(literal.missing) for literal in miss.failing] for miss in db.why_not(asked, limit=9).near_misses
    ]


def test_the_asked_fact_is_not_what_is_missing() -> None:
    """A loop would derive p(1, 2) from itself; what is told are the edges that would derive it."""
    with tidelog.open(PATHS, facts={"e": [(2, 2), (1, 1)]}) as db:
        assert _missing(db, "p(1, 2)") == [["e(1, 2)"], ["e(1, 2)"]]


def test_a_rule_that_needs_the_asked_fact_says_so() -> None:
    """A rule with no other way to the fact has no near miss, and a note."""
    with tidelog.open(PATHS + "p(x, y) :- p(x, y), e(y, _).", facts={"e": [(2, 3)]}) as db:
        refutation = db.why_not("p(1, 2)")

    last = refutation.rules[-1]
    assert (last.near_misses, last.note) == ((), "it needs this fact itself")
    assert "[it needs this fact itself]" in str(refutation)


def test_circles_through_other_facts() -> None:
    """Facts that derive one another are each asked about once on the way down."""
    program = """
    .decl e(x: number)
    .input e
    .decl a(x: number)
    .decl b(x: number)
    .decl c(x: number)
    a(x) :- b(x).
    b(x) :- c(x).
    c(x) :- a(x).
    c(x) :- b(x).
    c(x) :- e(x).
    """
    with tidelog.open(program, facts={"e": [(1,)]}) as db:
        refutation = db.why_not("a(7)", depth=6)

    assert_not_circular(refutation)
    (below,) = refutation.deeper.values()
    (lowest,) = below.deeper.values()
    assert [str(each) for each in lowest.missing] == ["e(7)"]
    assert [rule.note for rule in lowest.rules[1:]] == ["it needs a fact that is asked about above"] * 2


def test_a_pair_of_an_equivalence_is_the_same_as_its_mirror() -> None:
    """That same(2, 1) is missing does not tell why same(1, 2) is."""
    program = """
    .decl e(x: number, y: number)
    .input e
    .decl same(x: number, y: number) eqrel
    same(x, y) :- same(y, x).
    same(x, y) :- e(x, y).
    """
    with tidelog.open(program, facts={"e": [(1, 3)]}) as db:
        assert _missing(db, "same(1, 2)") == [["e(1, 2)"]]
