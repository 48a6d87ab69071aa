"""Orders of atoms: the best of all where there are few, one that is found quickly where there are many."""

from collections import Counter
from dataclasses import field
from itertools import permutations

from hypothesis import given
from hypothesis import strategies as st

from support.programs import build
from tidelog.dataclass import dataclass
from tidelog.plan import plan_stratum
from tidelog.plan.body import Body
from tidelog.plan.chain import build_chain
from tidelog.plan.flatten import flatten_rule
from tidelog.plan.maintenance import chain_variants
from tidelog.plan.operators import Check, IndexJoin, View
from tidelog.plan.order import best_chain, best_chain_in_pairs
from tidelog.plan.statistics import KnownSizes
from tidelog.program.nodes import Program

DECLARATIONS = """
.decl a(x: number, y: number)
.decl b(x: number, y: number)
.decl t(x: number, y: number, z: number)
.decl r(x: number, y: number)
"""
SIZES = (1.0, 50.0, 1e3, 1e5)
LONG = 14


@dataclass(frozen=True)
class CountedSizes(KnownSizes):
    """Sizes that count how often they are asked for the keys of a relation."""

    asked: Counter[tuple[str, tuple[int, ...]]] = field(default_factory=Counter)

    def distinct(self, relation: str, columns: tuple[int, ...]) -> float | None:
        """Return the given number of keys."""
        self.asked[relation, columns] += 1
        return super().distinct(relation, columns)


def body_of(program: Program, sizes: KnownSizes, *, counting: bool) -> Body:
    """Return the body of the only rule of `r`."""
    (rule,) = (rule for rule in program.rules if rule.head.relation == "r")
    views = tuple(View.FULL for _ in rule.body)
    return Body(rule.body, views, ("x0",), program, sizes, counting=counting)


@st.composite
def short_bodies(draw):
    """Draw the atoms of a body, connected or not, with constants, wildcards and repeated variables."""
    atoms = []
    for number in range(draw(st.integers(1, 4))):
        relation = draw(st.sampled_from(["a", "b", "t"]))
        terms = draw(
            st.lists(
                st.sampled_from(["x0", "x1", "x2", "x3", "_", "1"]),
                min_size=2 + (relation == "t"),
                max_size=2 + (relation == "t"),
            )
        )
        if not number:
            terms[0] = "x0"
        atoms.append(f"{relation}({', '.join(terms)})")
    return atoms


@given(
    atoms=short_bodies(),
    sizes=st.fixed_dictionaries(dict.fromkeys(("a", "b", "t"), st.sampled_from(SIZES))),
    counting=st.booleans(),
)
def test_few_atoms_are_joined_in_the_best_of_all_orders(atoms, sizes, counting):
    """Giving up orders early loses none: the chain is that of the first order with the least work."""
    body = body_of(
        build(DECLARATIONS + f"r(x0, 0) :- {', '.join(atoms)}."), KnownSizes(sizes), counting=counting
    )

    found = best_chain_in_pairs(body)

    orders = permutations(range(len(atoms)))
    best = min((build_chain(body, order, best_chain) for order in orders), key=lambda chain: chain.work)
    assert (found.operators, found.work) == (best.operators, best.work)


def long_rule() -> Program:
    """Return a program whose rule joins a long path of three relations."""
    atoms = [f"{'ab'[n % 2]}(x{n}, x{n + 1})" for n in range(LONG)]
    return build(DECLARATIONS + f"r(x0, x{LONG}) :- {', '.join(atoms)}.")


def test_what_is_known_of_a_key_is_asked_once_for_all_orders():
    """A long body is tried in many orders; each atom asks for a key once."""
    program = long_rule()
    sizes = CountedSizes({"a": 1e4, "b": 1e4})

    best_chain_in_pairs(body_of(program, sizes, counting=True))

    assert set(sizes.asked) == {(name, (column,)) for name in "ab" for column in (0, 1)}
    assert max(sizes.asked.values()) <= LONG // 2


def test_chains_from_every_atom_of_a_long_body_follow_its_variables():
    """Maintenance begins a chain at each atom and at the head; none of them makes a cross product."""
    program = long_rule()
    (rule,) = program.rules
    maintained = flatten_rule(rule, program)

    starts = (*maintained.literals, None)
    chains = [chain_variants(maintained, start, program, KnownSizes())[0] for start in starts]

    joins = [x for chain in chains for x in chain if isinstance(x, IndexJoin | Check)]
    assert joins
    assert all(join.key for join in joins)


def test_a_relation_that_grows_is_not_taken_for_small():
    """However few facts a relation of the stratum has now, no binding is paired with all of them."""
    program = build(DECLARATIONS + "r(x, y) :- r(x, _), r(y, _), t(x, y, _). r(x, y) :- a(x, y).")
    stratum = next(stratum for stratum in program.strata if "r" in stratum.relations)

    plan = plan_stratum(stratum, program, KnownSizes({"r": 3.0, "t": 1e5}))

    keys = [x.key for rule in plan.repeated for x in rule.operators if isinstance(x, IndexJoin | Check)]
    assert keys
    assert all(keys)


def test_plans_are_the_same_every_time():
    """Planning a program twice gives equal plans, whatever was planned in between."""
    text = DECLARATIONS + "r(x, z) :- r(x, y), a(y, w), b(w, z), t(x, w, z), !a(z, x). r(x, y) :- a(x, y)."

    def planned() -> object:
        program = build(text)
        return [plan_stratum(stratum, program, KnownSizes({"a": 1e4})) for stratum in program.strata]

    first = planned()
    best_chain_in_pairs(body_of(long_rule(), KnownSizes(), counting=False))

    assert planned() == first
