"""Reading items: rules, directives, components; and going on after a mistake."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from difflib import get_close_matches
from typing import Final, NoReturn

from tidelog.errors import Diagnostic
from tidelog.syntax.cursor import ParseError, begins_query, describe
from tidelog.syntax.declarations import DeclarationParser
from tidelog.syntax.depth import MAX_DEPTH, check_depth
from tidelog.syntax.literals import LiteralError, numeric_literal
from tidelog.syntax.scanner import DIRECTIVES, Token
from tidelog.syntax.tree import (
    Atom,
    Component,
    ComponentReference,
    Directive,
    DirectiveKind,
    Instance,
    Item,
    NumberLiteral,
    PlanOrder,
    Pragma,
    Rule,
    Subsumption,
)
from tidelog.values.types import PRIMITIVES

_OPENING: Final = frozenset("([{")
_CLOSING: Final = frozenset(")]}")
_ITEM_HINTS: Final = {
    "}": "there is no open brace to close",
    ":-": "a rule has a head before `:-`: `head(x) :- body(x).`",
    "!": "a head cannot be negated; write `!` before an atom of a body",
}
_RELATION_DIRECTIVES: Final = frozenset(f".{kind.value}" for kind in DirectiveKind)


class ItemParser(DeclarationParser):
    """Reads the items of a program or of a component, reporting every mistake on the way.

    `lost` are names that declarations with a mistake would have declared.
    """

    def __init__(self, tokens: Sequence[Token]) -> None:
        super().__init__(tokens)
        self.lost: set[str] = set()

    def items(self, *, is_component: bool = False) -> tuple[list[Item], list[str]]:
        """Return the items up to the end (or the closing brace) and the `.override` names.

        A mistake costs the item it stands in: it is added to `diagnostics` and reading goes on
        with the next item.
        """
        items: list[Item] = []
        overrides: list[str] = []
        level = self.nesting
        while self.token.kind != "end" and not (is_component and self.token.kind == "}"):
            start = self.position
            try:
                self.pass_annotations()
                if self.position > start:
                    continue
                if is_component and self.token.text == ".override" and self.token.kind == "directive":
                    self.advance()
                    overrides.append(self.name("a relation").text)
                else:
                    read = self._item()
                    items.extend(read)
                    # Every level of a tree needs a token of its own, so short items need no look.
                    if self.position - start > MAX_DEPTH:
                        self.diagnostics.extend(check_depth(read))
            except ParseError as error:
                self.diagnostics.append(error.diagnostic)
                self.nesting = level
                self._skip_item(start, is_component=is_component)
                self._note_lost(start)
                with suppress(ParseError):  # a plan belongs to the rule that was skipped
                    self._plan()
        return items, overrides

    def _item(self) -> Sequence[Item]:
        token = self.token
        if token.kind == "word":
            return (self._rule(),)
        if token.kind != "directive":
            self._fail_item()
        if token.text in _RELATION_DIRECTIVES:
            return self._directives()
        if token.text == ".decl":
            return self.relation_declaration()
        readers: dict[str, Callable[[], Item]] = {
            ".comp": self._component,
            ".functor": self.functor_declaration,
            ".init": self._instance,
            ".lattice": self.lattice_declaration,
            ".number_type": self.old_type_declaration,
            ".pragma": self._pragma,
            ".symbol_type": self.old_type_declaration,
            ".type": self.type_declaration,
        }
        if token.text in readers:
            return (readers[token.text](),)
        hint = "`.plan` follows the rule it is about"
        if token.text == ".override":
            hint = "`.override` can only be used inside a component"
        raise ParseError(
            Diagnostic(
                code="syntax", message=f"`{token.text}` cannot be used here", span=token.span, hint=hint
            )
        )

    def _fail_item(self) -> NoReturn:
        token, following = self.token, self.peek()
        if token.kind == "." and following.kind == "word" and not following.is_spaced:
            close = get_close_matches(following.text, DIRECTIVES, n=1)
            raise ParseError(
                Diagnostic(
                    code="unknown-directive",
                    message=f"`.{following.text}` is not a directive",
                    span=token.span.to(following.span),
                    hint=f"did you mean `.{close[0]}`?"
                    if close
                    else f"the directives are {_directive_list()}",
                )
            )
        hint = _ITEM_HINTS.get(token.kind, "a fact is written `edge(1, 2).`, a rule `head(x) :- body(x).`")
        raise ParseError(
            Diagnostic(
                code="syntax",
                message=f"expected a fact, a rule or a directive, found {describe(token)}",
                span=token.span,
                hint=hint,
            )
        )

    # --- rules ---

    def _rule(self) -> Rule | Subsumption:
        start = self.token
        if begins_query(self.tokens[self.position : self.position + 2]):
            message, hint = (
                "a program has no queries",
                "ask in `tidelog shell`, or name relations in `.output`",
            )
            raise ParseError(Diagnostic(code="syntax", message=message, span=start.span, hint=hint))
        heads = [self.atom()]
        if self.token.kind == "<=":
            return self._subsumption(start, heads[0])
        while self.accept(","):
            self.pass_annotations()
            heads.append(self.atom())
        body = self.body() if self.accept(":-") else None
        self._end_rule("`.`, `,` or `;`" if body else "`.` or `:-`")
        plan = self._plan()
        return Rule(tuple(heads), body, plan, span=self.span_from(start))

    def _subsumption(self, start: Token, less: Atom) -> Subsumption:
        self.advance()
        greater = self.atom()
        self.expect(":-", "a subsumption has a body: `less(x) <= less(y) :- x < y.`")
        body = self.body()
        self._end_rule("`.`, `,` or `;`")
        plan = self._plan()
        return Subsumption(less, greater, body, plan, span=self.span_from(start))

    def _end_rule(self, what: str) -> None:
        """Pass the final dot; where a new line shows that only the dot is missing, say so and go on."""
        if self.accept("."):
            return
        if self.token.kind in ("<", "->", "=", ":"):
            raise ParseError(self.expected(what, "a rule is written `head :- body.`"))
        if not self.token.is_fresh or self.token.kind not in ("word", "directive", "end"):
            is_next = self.token.kind in ("word", "!", "(")
            hint = "is a `,` missing?" if is_next else "facts and rules end with `.`"
            raise ParseError(self.expected(what, hint))
        mistake = self.expected(what, "facts and rules end with `.`")
        self.diagnostics.append(mistake)

    def _plan(self) -> PlanOrder | None:
        if self.token.kind != "directive" or self.token.text != ".plan":
            return None
        start = self.advance()
        if self.token.kind == "word" and self.token.text == "leapfrog":
            self.advance()
            return PlanOrder((), is_leapfrog=True, span=self.span_from(start))
        orders = [self._plan_order()]
        while self.accept(","):
            orders.append(self._plan_order())
        return PlanOrder(tuple(orders), span=self.span_from(start))

    def _plan_order(self) -> tuple[int, tuple[int, ...]]:
        hint = "a plan is written `.plan 0:(3,1,2)` or `.plan leapfrog`"
        version = self._plain_number(hint)
        self.expect(":", hint)
        self.expect("(", hint)
        atoms: list[int] = []
        while self.token.kind != ")":
            if atoms:
                self.expect(",", hint)
            atoms.append(self._plain_number(hint))
        self.advance()
        return version, tuple(atoms)

    def _plain_number(self, hint: str) -> int:
        if self.token.kind != "number":
            self.fail_expected("a number", hint)
        try:
            literal = numeric_literal(self.token)
        except LiteralError as error:
            raise ParseError(error.diagnostic) from error
        if not isinstance(literal, NumberLiteral):
            self.fail_expected("a number", hint)
        self.advance()
        return literal.value

    # --- directives ---

    def _directives(self) -> list[Directive]:
        start = self.advance()
        kind = DirectiveKind(start.text[1:])
        names = [self.qualified_name("a relation")]
        while self.accept(","):
            names.append(self.qualified_name("a relation"))
        parameters: list[tuple[str, str]] = []
        if self.accept("("):
            while self.token.kind != ")":
                if parameters:
                    self.expect(",")
                parameters.append(self._directive_parameter())
            self.advance()
        span = self.span_from(start)
        return [
            Directive(kind, name, tuple(parameters), span=span if len(names) == 1 else name_span)
            for name, name_span in names
        ]

    def _directive_parameter(self) -> tuple[str, str]:
        key = self.any_word("a parameter").text
        while self.token.kind == "-" and not self.token.is_spaced and self.peek().kind == "word":
            self.advance()
            key += "-" + self.advance().text
        self.expect("=", f'a parameter is written `{key}="value"`')
        return key, self._parameter_value()

    def _parameter_value(self) -> str:
        token = self.token
        if token.kind == "string":
            return self.string("a value")
        if token.kind == "-" and self.peek().kind == "number":
            self.advance()
            return "-" + self.advance().text
        if token.kind not in ("word", "number"):
            self.fail_expected("a value", "a value is a string, a word, a number, true or false")
        return self.advance().text

    def _pragma(self) -> Pragma:
        start = self.advance()
        key = self.string("a string")
        value = self.string("a string") if self.token.kind == "string" else ""
        return Pragma(key, value, span=self.span_from(start))

    # --- components ---

    def _component(self) -> Component:
        start = self.advance()
        self.enter()
        head = self._reference("a component")
        bases: list[ComponentReference] = []
        while self.accept(":") or (bases and self.accept(",")):
            bases.append(self._reference("a component"))
        self.expect("{", f"a component is written `.comp {head.name} {{ ... }}`")
        items, overrides = self.items(is_component=True)
        if self.token.kind != "}":
            self.diagnostics.append(
                Diagnostic(
                    code="syntax",
                    message=f"the component `{head.name}` has no closing `}}`",
                    span=start.span.to(head.span),
                    hint="add `}` after its last item",
                )
            )
        self.accept("}")
        self.leave()
        return Component(
            head.name,
            head.parameters,
            tuple(bases),
            tuple(items),
            tuple(overrides),
            span=self.span_from(start),
        )

    def _instance(self) -> Instance:
        start = self.advance()
        name = self.name("an instance").text
        self.expect("=", f"an instance is written `.init {name} = Component`")
        reference = self._reference("a component")
        return Instance(name, reference, span=self.span_from(start))

    def _reference(self, what: str) -> ComponentReference:
        start = self.token
        name, _ = self.qualified_name(what)
        parameters: list[str] = []
        if self.accept("<"):
            parameters.append(self.qualified_name("a component parameter")[0])
            while self.accept(","):
                parameters.append(self.qualified_name("a component parameter")[0])
            self.expect(">")
        return ComponentReference(name, tuple(parameters), span=self.span_from(start))

    # --- going on ---

    def _skip_item(self, start: int, *, is_component: bool) -> None:
        """Step to where the next item seems to begin.

        That is behind a dot, at a directive, or at the brace that closes the component; a
        directive has no dot and ends with its line, unless a bracket is open there.
        """
        failed = max(self.position, start)
        self.position = start
        self.token = self.tokens[start]
        by_line = self.token.kind in ("directive", ".")
        depth = 0
        while self.token.kind != "end":
            token = self.token
            if self.position >= failed and self.position > start:
                is_directive = token.kind == "directive" and token.text != ".plan"
                is_brace = token.kind == "}" and is_component
                if is_directive or (depth <= 0 and (is_brace or (by_line and token.is_fresh))):
                    return
            depth += (token.kind in _OPENING) - (token.kind in _CLOSING)
            self.advance()
            if (
                token.kind == "."
                and self.position > failed
                and self.position > start + 1
                and self._is_end_of_item()
            ):
                return

    def _note_lost(self, start: int) -> None:
        """Keep the names in a declaration that was skipped, but for those of its columns."""
        if self.tokens[start].kind in ("directive", "."):
            for place in range(start, self.position):
                token, following = self.tokens[place], self.tokens[place + 1]
                if token.kind == "word" and following.kind != ":" and token.text not in PRIMITIVES:
                    self.lost.add(token.text)

    def _is_end_of_item(self) -> bool:
        """Return whether the dot just passed ended an item rather than joined a qualified name."""
        before = self.tokens[self.position - 2] if self.position >= 2 else None
        is_joined = not self.tokens[self.position - 1].is_spaced and not self.token.is_spaced
        return not (is_joined and self.token.kind == "word" and before is not None and before.kind == "word")


def _directive_list() -> str:
    return ", ".join(f"`.{word}`" for word in DIRECTIVES)
