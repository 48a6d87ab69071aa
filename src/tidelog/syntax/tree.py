"""The tree of a program as it was written: nothing resolved, nothing checked.

Every node carries its span; spans do not take part in equality, so that
`parse(print(tree)) == tree`. Names may be qualified (`inst.edge`).
"""

from dataclasses import field
from enum import Enum

from tidelog.dataclass import dataclass
from tidelog.source import Span


def _span() -> Span:
    return field(compare=False, repr=False, kw_only=True)  # type: ignore[no-any-return]


# --- terms ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Variable:
    """`x`"""

    name: str
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Wildcard:
    """`_`"""

    span: Span = _span()


@dataclass(frozen=True, slots=True)
class NumberLiteral:
    """`12`, `0x1f`, `0b101`; the value is not negative: `-1` is a unary application.

    The one exception is `-9223372036854775808`, whose positive counterpart does not fit.
    """

    value: int
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class UnsignedLiteral:
    """`12u`"""

    value: int
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class FloatLiteral:
    """`1.5`, `1e9`"""

    value: float
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class StringLiteral:
    """`"text"`, with its escapes resolved."""

    value: str
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class NilLiteral:
    """`nil`"""

    span: Span = _span()


@dataclass(frozen=True, slots=True)
class RecordTerm:
    """`[a, b]`"""

    terms: tuple["Term", ...]
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class BranchTerm:
    """`$Name(a, b)` or `$Name`; the name may be qualified."""

    name: str
    terms: tuple["Term", ...]
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Application:
    """An intrinsic functor applied to terms.

    Operators use their symbol (`+ - * / % ^`), unary minus is `neg`, and words are
    themselves: `band bor bxor bnot bshl bshr bshru land lor lnot lxor max min cat strlen substr
    ord to_number to_string to_float to_unsigned ftoi ftou itof itou utof utoi range ...`.
    """

    functor: str
    terms: tuple["Term", ...]
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class UserApplication:
    """`@name(a, b)`"""

    name: str
    terms: tuple["Term", ...]
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Cast:
    """`as(term, type)`"""

    term: "Term"
    type: str
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Counter:
    """`autoinc()` or `$`"""

    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Lookup:
    """`price[item]`: the last column of the fact whose other columns are these terms."""

    relation: str
    terms: tuple["Term", ...]
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Aggregate:
    """`sum x : { body }`; `target` is None for count.

    A user aggregate `@@name x : init, { body }` has the functor `@name` and its `init`.
    """

    functor: str
    target: "Term | None"
    body: "Body"
    init: "Term | None" = None
    span: Span = _span()


Term = (
    Variable
    | Wildcard
    | NumberLiteral
    | UnsignedLiteral
    | FloatLiteral
    | StringLiteral
    | NilLiteral
    | RecordTerm
    | BranchTerm
    | Application
    | UserApplication
    | Cast
    | Counter
    | Lookup
    | Aggregate
)


# --- bodies --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Atom:
    """`edge(x, y)`; written `price[x] = y`, as a head or a fact may be, it `is_keyed`."""

    relation: str
    terms: tuple[Term, ...]
    is_keyed: bool = False
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Constraint:
    """`left op right` with op one of `= != < <= > >= match contains`."""

    op: str
    left: Term
    right: Term
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Truth:
    """`true` or `false`"""

    value: bool
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Negation:
    """`!element`: an atom, a constraint, a disjunction in parentheses."""

    element: "Element"
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Disjunction:
    """`(a, b ; c)` inside a body."""

    alternatives: tuple["Conjunction", ...]
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Conjunction:
    """`a, b, c`"""

    elements: tuple["Element", ...]
    span: Span = _span()


Element = Atom | Constraint | Truth | Negation | Disjunction
Body = Disjunction


# --- items ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Field:
    """`name: type`; a lattice column `name: type<>` has `is_lattice`."""

    name: str
    type: str
    is_lattice: bool = False
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class BranchDeclaration:
    """`Name {a: T, b: U}` of an algebraic type."""

    name: str
    fields: tuple[Field, ...]
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class SubtypeDeclaration:
    """`.type name <: base`; the old `.number_type n` and `.symbol_type s` are read as this."""

    name: str
    base: str
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class UnionDeclaration:
    """`.type name = A | B`; with one member and no bar it is an alias."""

    name: str
    members: tuple[str, ...]
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class RecordDeclaration:
    """`.type name = [a: T, b: U]`"""

    name: str
    fields: tuple[Field, ...]
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class AlgebraicDeclaration:
    """`.type name = A {x: T} | B {}`"""

    name: str
    branches: tuple[BranchDeclaration, ...]
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class RelationDeclaration:
    """`.decl name(columns) qualifiers choice-domain (a, b), c keys a, b`.

    One node per declared name: `.decl a, b(x: number)` gives two nodes.
    Qualifiers are words in the order written: inline, magic, brie, btree, eqrel, overridable ...
    """

    name: str
    columns: tuple[Field, ...]
    qualifiers: tuple[str, ...] = ()
    choices: tuple[tuple[str, ...], ...] = ()
    keys: tuple[str, ...] = ()
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class FunctorDeclaration:
    """`.functor name(a: T, b: U): R stateful`; an unnamed parameter has an empty name."""

    name: str
    parameters: tuple[Field, ...]
    result: str
    is_stateful: bool = False
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class LatticeDeclaration:
    """`.lattice T<> { Bottom -> term, Lub -> @f(_, _), Glb -> @g(_, _) }`"""

    type: str
    operators: tuple[tuple[str, Term], ...]
    span: Span = _span()


class DirectiveKind(Enum):
    """The words of a directive."""

    INPUT = "input"
    OUTPUT = "output"
    PRINTSIZE = "printsize"
    LIMITSIZE = "limitsize"
    PROOFS = "proofs"


@dataclass(frozen=True, slots=True)
class Directive:
    """`.input name(key="value", ...)`: one node per relation named; `limitsize` has `n`."""

    kind: DirectiveKind
    relation: str
    parameters: tuple[tuple[str, str], ...] = ()
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Pragma:
    """`.pragma "key" "value"`"""

    key: str
    value: str
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class PlanOrder:
    """`.plan 0:(3,1,2)`: for the delta rule numbered 0, atoms in this order, from 1.

    `.plan leapfrog` asks for a leapfrog join of all atoms at once.
    """

    orders: tuple[tuple[int, tuple[int, ...]], ...]
    is_leapfrog: bool = False
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Rule:
    """`head, head :- body. .plan ...`; a fact has no body."""

    heads: tuple[Atom, ...]
    body: Body | None = None
    plan: PlanOrder | None = None
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Subsumption:
    """`less <= greater :- body.`: `less` is deleted where `greater` holds too."""

    less: Atom
    greater: Atom
    body: Body
    plan: PlanOrder | None = None
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class ComponentReference:
    """`Name<A, B>`"""

    name: str
    parameters: tuple[str, ...] = ()
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Component:
    """`.comp Name<T> : Base<T> { items }`; `overrides` are the `.override` names."""

    name: str
    parameters: tuple[str, ...]
    bases: tuple[ComponentReference, ...]
    items: tuple["Item", ...]
    overrides: tuple[str, ...] = ()
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Instance:
    """`.init name = Component<A>`"""

    name: str
    component: ComponentReference
    span: Span = _span()


Item = (
    SubtypeDeclaration
    | UnionDeclaration
    | RecordDeclaration
    | AlgebraicDeclaration
    | RelationDeclaration
    | FunctorDeclaration
    | LatticeDeclaration
    | Directive
    | Pragma
    | Rule
    | Subsumption
    | Component
    | Instance
)


@dataclass(frozen=True, slots=True)
class SyntaxTree:
    """A whole program as written, includes and macros resolved."""

    items: tuple[Item, ...]
