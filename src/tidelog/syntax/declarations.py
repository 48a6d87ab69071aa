"""Reading declarations: types, relations, functors, lattices."""

from typing import Final, NoReturn

from tidelog.errors import Diagnostic
from tidelog.syntax.bodies import BodyParser
from tidelog.syntax.cursor import ParseError
from tidelog.syntax.scanner import Token
from tidelog.syntax.tree import (
    AlgebraicDeclaration,
    BranchDeclaration,
    Directive,
    DirectiveKind,
    Field,
    FunctorDeclaration,
    Item,
    LatticeDeclaration,
    RecordDeclaration,
    RelationDeclaration,
    SubtypeDeclaration,
    Term,
    UnionDeclaration,
)

QUALIFIERS: Final = frozenset(
    {
        "brie", "btree", "btree_delete", "eqrel", "inline", "magic", "no_inline", "no_magic", "overridable",
    }
)  # fmt: skip
_DATA_STRUCTURES: Final = frozenset({"brie", "btree", "btree_delete", "eqrel"})
# Directives from the time before `.input` and `.output`.
_OLD_QUALIFIERS: Final = {
    "input": DirectiveKind.INPUT,
    "output": DirectiveKind.OUTPUT,
    "printsize": DirectiveKind.PRINTSIZE,
}
LATTICE_OPERATORS: Final = ("Bottom", "Top", "Lub", "Glb", "Leq", "Widen", "Narrow")

TypeDeclaration = SubtypeDeclaration | UnionDeclaration | RecordDeclaration | AlgebraicDeclaration


class DeclarationParser(BodyParser):
    """Reads what stands behind `.type`, `.decl`, `.functor` and `.lattice`.

    Every method starts at the directive word.
    """

    def type_declaration(self) -> TypeDeclaration:
        """Return one of the forms of `.type`."""
        start = self.advance()
        name = self.name("a type").text
        if self.accept("<:"):
            base, _ = self.qualified_name("a type")
            return SubtypeDeclaration(name, base, span=self.span_from(start))
        if not self.accept("="):
            # The oldest form of all: `.type Name` is a subtype of symbol.
            return SubtypeDeclaration(name, "symbol", span=self.span_from(start))
        if self.accept("["):
            fields = self._fields_until("]")
            return RecordDeclaration(name, fields, span=self.span_from(start))
        return self._union_or_algebraic(start, name)

    def old_type_declaration(self) -> SubtypeDeclaration:
        """Return `.number_type name` or `.symbol_type name`."""
        start = self.advance()
        name = self.name("a type").text
        return SubtypeDeclaration(name, start.text[1:].removesuffix("_type"), span=self.span_from(start))

    def _union_or_algebraic(self, start: Token, name: str) -> UnionDeclaration | AlgebraicDeclaration:
        members: list[str] = []
        branches: list[BranchDeclaration] = []
        while True:
            self.pass_annotations()
            first = self.token
            member, span = self.qualified_name("a type or a branch")
            if self.accept("{"):
                fields = self._fields_until("}")
                branches.append(BranchDeclaration(member, fields, span=self.span_from(first)))
            else:
                members.append(member)
            if members and branches:
                raise ParseError(
                    Diagnostic(
                        code="syntax",
                        message=f"`{name}` mixes types and branches",
                        span=span,
                        hint="a branch without fields is written `Name {}`",
                    )
                )
            if not self.accept("|"):
                break
        if branches:
            return AlgebraicDeclaration(name, tuple(branches), span=self.span_from(start))
        return UnionDeclaration(name, tuple(members), span=self.span_from(start))

    def _fields_until(self, closing: str) -> tuple[Field, ...]:
        if self.accept(closing):
            return ()
        fields = [self._field()]
        while self.accept(","):
            fields.append(self._field())
        if self.token.kind != closing:
            missing = closing if self.token.is_fresh or self.token.kind != "word" else ","
            self.fail_expected(f"`,` or `{closing}`", f"is a `{missing}` missing?")
        self.advance()
        return tuple(fields)

    def _field(self) -> Field:
        self.pass_annotations()
        start = self.token
        name = self.any_word("a name").text
        self.expect(":", f"a type is missing: `{name}: number`")
        type_name, _ = self.qualified_name("a type")
        is_lattice = self._lattice_mark()
        return Field(name, type_name, is_lattice, span=self.span_from(start))

    def _lattice_mark(self) -> bool:
        if self.token.kind == "<" and self.peek().kind == ">":
            self.advance()
            self.advance()
            return True
        return False

    def relation_declaration(self) -> list[Item]:
        """Return a declaration for every name, then the directives of old-style qualifiers."""
        start = self.advance()
        names = [self.name("a relation")]
        while self.accept(","):
            names.append(self.name("a relation"))
        if self.token.kind == "=" and self.peek().text == "debug_delta":
            raise ParseError(
                Diagnostic(
                    code="unsupported",
                    message="`debug_delta` is not supported",
                    span=self.peek().span,
                    hint="`tidelog plan --measure` shows what iterations find",
                )
            )
        self.expect("(", f"columns are written `{names[-1].text}(x: number, y: symbol)`")
        columns = self._fields_until(")")
        qualifiers: list[str] = []
        while self.token.kind == "word" and self.peek().kind != "(" and not self.is_lookup():
            word = self.token.text
            if word not in QUALIFIERS and word not in _OLD_QUALIFIERS:
                break
            self._check_qualifier(qualifiers)
            qualifiers.append(word)
            self.advance()
        choices = self._choices()
        keys = self._keys()
        if self.token.kind == "word" and not self.token.is_fresh and self.peek().kind not in ("(", "[", "."):
            self._fail_qualifier()
        span = self.span_from(start)
        items: list[Item] = [
            RelationDeclaration(
                name.text,
                columns,
                tuple(each for each in qualifiers if each in QUALIFIERS),
                choices,
                keys,
                span=span if len(names) == 1 else name.span,
            )
            for name in names
        ]
        kinds = [_OLD_QUALIFIERS[each] for each in qualifiers if each in _OLD_QUALIFIERS]
        items.extend(Directive(kind, name.text, span=span) for name in names for kind in kinds)
        return items

    def _check_qualifier(self, before: list[str]) -> None:
        """Report a qualifier that is there already, and a second data structure."""
        word = self.token.text
        other = next((each for each in before if {each, word} <= _DATA_STRUCTURES), None)
        if word in before:
            message, hint = f"`{word}` is there already", "remove one of them"
        elif other is not None:
            message, hint = f"a relation is kept as `{other}` or as `{word}`, not both", f"remove `{word}`"
        else:
            return
        self.diagnostics.append(Diagnostic(code="syntax", message=message, span=self.token.span, hint=hint))

    def _fail_qualifier(self) -> NoReturn:
        known = sorted(QUALIFIERS | _OLD_QUALIFIERS.keys() | {"choice-domain", "keys"})
        raise ParseError(
            Diagnostic(
                code="syntax",
                message=f"`{self.token.text}` is not a qualifier of a relation",
                span=self.token.span,
                hint=f"the qualifiers are {', '.join(known)}",
            )
        )

    def _choices(self) -> tuple[tuple[str, ...], ...]:
        if not self.is_word("choice-domain"):
            return ()
        self.advance()
        choices = [self._choice()]
        while self.accept(","):
            choices.append(self._choice())
        return tuple(choices)

    def _keys(self) -> tuple[str, ...]:
        """Return the columns behind `keys`; a relation may have that name too, on a line of its own."""
        if not self.is_word("keys") or self.token.is_fresh or self.peek().kind != "word":
            return ()
        self.advance()
        columns = [self.any_word("a column").text]
        while self.accept(","):
            columns.append(self.any_word("a column").text)
        return tuple(columns)

    def _choice(self) -> tuple[str, ...]:
        if not self.accept("("):
            return (self.any_word("a column").text,)
        columns = [self.any_word("a column").text]
        while self.accept(","):
            columns.append(self.any_word("a column").text)
        self.expect(")")
        return tuple(columns)

    def functor_declaration(self) -> FunctorDeclaration:
        """Return `.functor name(x: number, symbol): number stateful`; parameters may lack a name."""
        start = self.advance()
        name = self.any_word("the name of a functor").text
        self.expect("(")
        parameters: list[Field] = []
        while self.token.kind != ")":
            if parameters:
                self.expect(",")
            parameters.append(self._parameter())
        self.advance()
        self.expect(":", f"the type of the result is missing: `{name}(...): number`")
        result, _ = self.qualified_name("a type")
        is_stateful = self.is_word("stateful")
        if is_stateful:
            self.advance()
        return FunctorDeclaration(name, tuple(parameters), result, is_stateful, span=self.span_from(start))

    def _parameter(self) -> Field:
        self.pass_annotations()
        if self.peek().kind == ":":
            return self._field()
        type_name, span = self.qualified_name("a type")
        return Field("", type_name, span=span)

    def lattice_declaration(self) -> LatticeDeclaration:
        """Return `.lattice T<> { Bottom -> term, Lub -> @f(_, _) }`."""
        start = self.advance()
        name, _ = self.qualified_name("a type")
        if not self._lattice_mark():
            self.fail_expected("`<>`", f"a lattice is written `.lattice {name}<> {{ ... }}`")
        self.expect("{")
        operators = [self._lattice_operator()]
        while self.accept(","):
            operators.append(self._lattice_operator())
        self.expect("}")
        return LatticeDeclaration(name, tuple(operators), span=self.span_from(start))

    def _lattice_operator(self) -> tuple[str, Term]:
        token = self.any_word("the name of a lattice operator")
        if token.text not in LATTICE_OPERATORS:
            self.diagnostics.append(
                Diagnostic(
                    code="unknown-lattice-operator",
                    message=f"`{token.text}` is not an operator of a lattice",
                    span=token.span,
                    hint=f"the operators are {', '.join(LATTICE_OPERATORS)}",
                )
            )
        self.expect("->")
        return token.text, self.term()
