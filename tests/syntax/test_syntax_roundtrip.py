"""Trees survive printing, and texts survive formatting."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tidelog.errors import TidelogError
from tidelog.source import Source, Span
from tidelog.syntax import format_text, parse, parse_atom, print_node, print_tree
from tidelog.syntax import tree as t
from tidelog.syntax.cursor import RESERVED
from tidelog.syntax.declarations import LATTICE_OPERATORS, QUALIFIERS
from tidelog.syntax.scanner import scan
from tidelog.syntax.terms import BINARY_LEVEL

SPAN = Span(Source("made", ""), 0, 0)
NOT_NAMES = RESERVED | QUALIFIERS | {"input", "output", "printsize", "stateful", "not", "choice-domain"}


NAMES = st.from_regex(r"[?A-Za-z_][?A-Za-z_0-9]{0,3}", fullmatch=True).filter(
    lambda name: name not in NOT_NAMES
)
TEXTS = st.text(st.characters(codec="utf-8"), max_size=6)
NUMBERS = st.integers(0, 2**63 - 1) | st.just(-(2**63)) | st.integers(0, 9)
FLOATS = st.floats(0, allow_infinity=False, allow_nan=False).map(abs)
COMPARISONS = ["=", "!=", "<", "<=", ">", ">=", "match", "contains"]


class Maker:
    """Draws nodes; `depth` is how many more levels of terms and elements may be nested."""

    def __init__(self, draw):
        self.draw = draw

    def chance(self, *options):
        """Return one of the options."""
        return self.draw(st.sampled_from(options))

    def many(self, make, smallest=0, largest=3):
        """Return a short tuple of what `make` makes."""
        return tuple(make() for _ in range(self.draw(st.integers(smallest, largest))))

    def name(self):
        """Return a name."""
        return self.draw(NAMES)

    def qualified(self):
        """Return a name that may have a qualifier."""
        return ".".join(self.many(self.name, 1, 2))

    def text(self):
        """Return any text."""
        return self.draw(TEXTS)

    def term(self, depth=2):
        """Return a term of any kind."""
        if depth == 0 or self.chance(True, False):
            return self.simple_term()
        inner = lambda: self.term(depth - 1)  # noqa: E731 - handed on as it is
        match self.chance(*range(11)):
            case 0:
                return t.RecordTerm(self.many(inner), span=SPAN)
            case 1:
                return t.BranchTerm(self.qualified(), self.many(inner), span=SPAN)
            case 2 | 3:
                return t.Application(self.chance(*BINARY_LEVEL, "^"), (inner(), inner()), span=SPAN)
            case 4:
                return t.Application(self.chance("neg", "bnot", "lnot"), (inner(),), span=SPAN)
            case 5:
                functor = self.chance("cat", "range", "substr", "ord", "min", "max")
                return t.Application(functor, self.many(inner, 2), span=SPAN)
            case 6:
                return t.UserApplication(self.name(), self.many(inner), span=SPAN)
            case 7:
                return t.Cast(inner(), self.qualified(), span=SPAN)
            case 8:
                return t.Lookup(self.qualified(), self.many(inner), span=SPAN)
            case _:
                return self.aggregate(depth)

    def simple_term(self):
        """Return a term without parts."""
        match self.chance(*range(8)):
            case 0:
                return t.NumberLiteral(self.draw(NUMBERS), span=SPAN)
            case 1:
                return t.UnsignedLiteral(self.draw(st.integers(0, 2**64 - 1)), span=SPAN)
            case 2:
                return t.FloatLiteral(self.draw(FLOATS), span=SPAN)
            case 3:
                return t.StringLiteral(self.text(), span=SPAN)
            case 4:
                return self.chance(t.NilLiteral, t.Wildcard, t.Counter)(span=SPAN)
            case _:
                return t.Variable(self.name(), span=SPAN)

    def aggregate(self, depth):
        """Return an aggregate, perhaps of the user."""
        body = self.body(depth - 1)
        functor = self.chance("count", "sum", "min", "max", "mean", "@")
        if functor == "count":
            return t.Aggregate(functor, None, body, span=SPAN)
        target = self.term(depth - 1)
        if functor != "@":
            return t.Aggregate(functor, target, body, span=SPAN)
        return t.Aggregate(
            "@" + self.name(), self.chance(None, target), body, self.term(depth - 1), span=SPAN
        )

    def atom(self, depth=2):
        """Return an atom."""
        return t.Atom(self.qualified(), self.many(lambda: self.term(depth)), span=SPAN)

    def body(self, depth=2):
        """Return a body, also used for disjunctions inside one."""
        conjunction = lambda: t.Conjunction(self.many(lambda: self.element(depth), 1, 2), span=SPAN)  # noqa: E731
        return t.Disjunction(self.many(conjunction, 1, 2), span=SPAN)

    def element(self, depth):
        """Return what may stand between the commas of a body."""
        match self.chance(*range(6)):
            case 0 if depth > 0:
                return t.Negation(self.element(depth - 1), span=SPAN)
            case 1 if depth > 0:
                return self.body(depth - 1)
            case 2:
                return t.Truth(self.chance(True, False), span=SPAN)
            case 3 | 4:
                return t.Constraint(self.chance(*COMPARISONS), self.term(depth), self.term(depth), span=SPAN)
            case _:
                return self.atom(depth)

    def field(self):
        """Return a column or field."""
        return t.Field(self.name(), self.qualified(), self.chance(True, False), span=SPAN)

    def plan(self):
        """Return a plan or none."""
        number = st.integers(0, 9)
        order = lambda: (self.draw(number), self.many(lambda: self.draw(number)))  # noqa: E731
        return self.chance(None, t.PlanOrder(self.many(order, 1, 2), span=SPAN))

    def reference(self):
        """Return a component with what it is applied to."""
        return t.ComponentReference(self.name(), self.many(self.qualified, 0, 2), span=SPAN)

    def rule(self):
        """Return a fact, a rule or a subsumption."""
        if self.chance(True, False, False):
            return t.Subsumption(self.atom(), self.atom(), self.body(), self.plan(), span=SPAN)
        body = self.chance(None, self.body())
        return t.Rule(self.many(self.atom, 1, 2), body, self.plan(), span=SPAN)

    def type_declaration(self):
        """Return one of the forms of `.type`."""
        match self.chance(*range(4)):
            case 0:
                return t.SubtypeDeclaration(self.name(), self.qualified(), span=SPAN)
            case 1:
                return t.UnionDeclaration(self.name(), self.many(self.qualified, 1), span=SPAN)
            case 2:
                return t.RecordDeclaration(self.name(), self.many(self.field), span=SPAN)
            case _:
                branch = lambda: t.BranchDeclaration(self.name(), self.many(self.field), span=SPAN)  # noqa: E731
                return t.AlgebraicDeclaration(self.name(), self.many(branch, 1), span=SPAN)

    def declaration(self):
        """Return a declaration or directive of any other kind."""
        match self.chance(*range(6)):
            case 0:
                structures = ("brie", "btree", "btree_delete", "eqrel")
                others = tuple(sorted(QUALIFIERS.difference(structures)))
                qualifiers = tuple(
                    self.chance(*some) for some in (structures, others) if self.chance(True, False)
                )
                choices = self.many(lambda: self.many(self.name, 1, 2), 0, 2)
                return t.RelationDeclaration(
                    self.name(), self.many(self.field), qualifiers, choices, span=SPAN
                )
            case 1:
                unnamed = lambda: t.Field("", self.qualified(), span=SPAN)  # noqa: E731
                parameters = self.many(self.chance(self.field, unnamed))
                return t.FunctorDeclaration(
                    self.name(), parameters, self.qualified(), self.chance(True, False), span=SPAN
                )
            case 2:
                operator = lambda: (self.chance(*LATTICE_OPERATORS), self.term())  # noqa: E731
                return t.LatticeDeclaration(self.name(), self.many(operator, 1), span=SPAN)
            case 3:
                pairs = self.many(lambda: (self.name(), self.text()), 0, 2)
                return t.Directive(self.chance(*t.DirectiveKind), self.qualified(), pairs, span=SPAN)
            case 4:
                return t.Pragma(self.text(), self.text(), span=SPAN)
            case _:
                return t.Instance(self.name(), self.reference(), span=SPAN)

    def item(self, depth=1):
        """Return an item; a component has items inside while `depth` lasts."""
        match self.chance(*range(7)):
            case 0 if depth > 0:
                inside = self.many(lambda: self.item(depth - 1))
                bases = self.many(self.reference, 0, 2)
                parameters, overrides = self.many(self.name, 0, 2), self.many(self.name, 0, 2)
                return t.Component(self.name(), parameters, bases, inside, overrides, span=SPAN)
            case 1 | 2:
                return self.type_declaration()
            case 3 | 4:
                return self.declaration()
            case _:
                return self.rule()


@st.composite
def trees(draw):
    """Return any tree."""
    maker = Maker(draw)
    return t.SyntaxTree(maker.many(maker.item))


@st.composite
def atoms(draw):
    """Return any atom."""
    return Maker(draw).atom()


@given(trees())
@settings(deadline=None, max_examples=120)
def test_printed_trees_are_read_back_equal(tree):
    """`parse(print_tree(tree))` is the tree, whatever it holds."""
    text = print_tree(tree)

    assert parse(Source("printed", text)) == tree


@given(atoms())
@settings(deadline=None, max_examples=60)
def test_printed_atoms_are_read_back_equal(atom):
    """`parse_atom` reads what `print_node` writes."""
    assert parse_atom(print_node(atom)) == atom


@given(trees())
@settings(deadline=None, max_examples=60)
def test_canonical_layout_is_what_the_formatter_makes(tree):
    """The printer's layout is a fixed point of `format_text`."""
    text = print_tree(tree)

    assert format_text(Source("printed", text)) == text


def comments(text):
    """Return the comments of a text, in order."""
    tokens = scan(Source("text", text), keep_comments=True)
    return [token.text.rstrip() for token in tokens if token.kind == "comment"]


def disturbed(text, seed):
    """Return the text with spaces, newlines and comments thrown between its tokens."""
    chance = random.Random(seed)  # noqa: S311 - no secret
    parts = []
    source = Source("printed", text)
    for token in scan(source):
        if token.is_spaced:
            between = [
                " ",
                "  ",
                "\n",
                "\n\n\n",
                " // note, (x\n",
                "/* a. */",
                "\n// own line\n",
                "\t/* b\n c */ ",
            ]
            if chance.random() < 0.2:
                between.append("\n#define UNUSED(x) x y \\\n  z // why\n")
            gap = chance.choice(between) if chance.random() < 0.4 else " "
            # Behind a division a comment needs a space, or the two slashes begin another comment.
            parts.append(" " + gap if gap.startswith("/") and parts[-1:] == ["/"] else gap)
        parts.append(token.text)
    return "".join(parts)


@given(trees(), st.integers(0, 2**32))
@settings(deadline=None, max_examples=120)
def test_formatting_keeps_tree_and_comments_and_is_idempotent(tree, seed):
    """Formatted text has the same tree and the same comments, and formatting it again changes nothing."""
    text = disturbed(print_tree(tree), seed)

    once = format_text(Source("disturbed", text))
    twice = format_text(Source("disturbed", once))

    assert parse(Source("disturbed", once)) == tree
    assert comments(once) == comments(text)
    assert twice == once
    assert not any(line != line.rstrip() for line in once.split("\n") if "/*" not in text)


def test_a_comment_behind_a_division_stays_there():
    """The space that keeps a division and a comment apart is not lost."""
    text = ".decl a(x: number)\na(6 / /* a. */ 2).\n"

    once = format_text(Source("division", text))

    assert "/* a. */" in once
    assert parse(Source("division", once)) == parse(Source("division", text))


def test_mistakes_are_not_formatted():
    """A text that does not parse is refused with its diagnostics."""
    with pytest.raises(TidelogError) as caught:
        format_text(Source("bad", "edge(1, ."))

    assert [diagnostic.code for diagnostic in caught.value.diagnostics] == ["syntax"]
