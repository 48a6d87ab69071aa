"""Reading bodies: atoms, constraints, negation, disjunction."""

from typing import Final

from tidelog.errors import Diagnostic
from tidelog.syntax.cursor import RESERVED, ParseError
from tidelog.syntax.terms import BINARY_LEVEL, UNSUPPORTED, TermParser, unsupported
from tidelog.syntax.tree import Atom, Body, Conjunction, Constraint, Disjunction, Element, Negation, Truth

COMPARISONS: Final = frozenset({"=", "!=", "<", "<=", ">", ">="})
# What follows the closing bracket tells `(x + 1) < y` from `(a(x) ; b(x))`.
_AFTER_TERM: Final = COMPARISONS | BINARY_LEVEL.keys() | {"^"}


class BodyParser(TermParser):
    """Reads the part of a rule behind `:-`, and the braces of an aggregate."""

    def body(self) -> Body:
        """Return alternatives between semicolons, each of elements between commas."""
        start = self.token
        alternatives = [self._conjunction()]
        while self.accept(";"):
            alternatives.append(self._conjunction())
        return Disjunction(tuple(alternatives), span=self.span_from(start))

    def aggregate_body(self) -> Body:
        """Return `{ body }` or a single atom, as a body."""
        self.enter()
        start = self.token
        if self.accept("{"):
            body = self.body()
            self.expect("}")
        elif start.kind == "word" and start.text not in RESERVED:
            atom = self.atom()
            body = Disjunction((Conjunction((atom,), span=atom.span),), span=atom.span)
        else:
            self.fail_expected("`{` or an atom", "the body of an aggregate is written `{ body }`")
        self.leave()
        return body

    def atom(self) -> Atom:
        """Return a relation applied to terms, or `name[terms] = term`."""
        start = self.token
        is_keyed = self.is_lookup()
        name, _ = self.qualified_name("a relation")
        if is_keyed:
            self.expect("[")
            terms = self.terms_until("]")
            self.expect("=", f"a fact of a key is written `{name}[...] = value`")
            return Atom(name, (*terms, self.term()), is_keyed=True, span=self.span_from(start))
        self.expect("(", f"an atom is written `{name}(...)`")
        return Atom(name, self.terms_until(")"), span=self.span_from(start))

    def _conjunction(self) -> Conjunction:
        start = self.token
        elements = [self._element()]
        while self.accept(","):
            elements.append(self._element())
        return Conjunction(tuple(elements), span=self.span_from(start))

    def _element(self) -> Element:
        self.enter()
        self.pass_annotations()
        element = self._element_inside()
        self.leave()
        return element

    def _element_inside(self) -> Element:
        token = self.token
        if token.kind == "!":
            self.advance()
            element = self._element()
            return Negation(element, span=self.span_from(token))
        if token.kind == "(" and not self._is_bracketed_term():
            self.advance()
            inside = self.body()
            self.expect(")", "a disjunction in a body is written `(a ; b)`")
            return Disjunction(inside.alternatives, span=self.span_from(token))
        if token.kind == "word":
            if token.text in ("true", "false"):
                self.advance()
                return Truth(token.text == "true", span=token.span)
            if token.text in ("match", "contains"):
                return self._text_constraint()
            if token.text == "not" and self.peek().kind == "word":
                raise ParseError(
                    Diagnostic(
                        code="syntax",
                        message="`not` is not a word of the language",
                        span=token.span,
                        hint="negation is written `!`",
                    )
                )
            if token.text not in RESERVED and self._is_atom():
                return self._atom_alone()
        return self._constraint()

    def _is_bracketed_term(self) -> bool:
        following = self.after_partner()
        return following is not None and following.kind != "string" and following.text in _AFTER_TERM

    def _is_atom(self) -> bool:
        following = self.peek()
        if following.kind == "(":
            return True
        if self.is_lookup():
            return False
        return following.kind == "." and not following.is_spaced and self.peek(2).kind == "word"

    def _atom_alone(self) -> Atom:
        atom = self.atom()
        if self.token.kind in COMPARISONS:
            if atom.relation in UNSUPPORTED:
                raise unsupported(atom.relation, atom.span)
            raise ParseError(
                Diagnostic(
                    code="syntax",
                    message=f"`{atom.relation}` is not a functor, and an atom cannot be compared",
                    span=atom.span,
                    hint=f"a functor of your own is written `@{atom.relation}(...)`",
                )
            )
        return atom

    def _text_constraint(self) -> Constraint:
        start = self.advance()
        self.expect("(")
        left = self.term()
        self.expect(",", f"`{start.text}` takes two terms")
        right = self.term()
        self.expect(")", f"`{start.text}` takes two terms")
        return Constraint(start.text, left, right, span=self.span_from(start))

    def _constraint(self) -> Constraint:
        start = self.token
        if start.kind in (".", "end", ",", ";", ")", "}", ":-"):
            self.fail_expected("an atom or a constraint")
        left = self.term()
        if self.token.kind not in COMPARISONS:
            hint = None
            if start.kind == "word" and self.position and self.tokens[self.position - 1] is start:
                hint = f"an atom is written `{start.text}(...)`"
            self.fail_expected("a comparison such as `=` or `<`", hint)
        op = self.advance().kind
        if op == "=" and self.token.kind == "=" and not self.token.is_spaced:
            self.fail_expected("a term", "equality is written `=`")
        right = self.term()
        return Constraint(op, left, right, span=self.span_from(start))
