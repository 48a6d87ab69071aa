"""Terms as written become terms with types."""

from dataclasses import replace
from enum import Enum, auto
from typing import Final

from tidelog.errors import Diagnostic
from tidelog.program import nodes
from tidelog.program.conversion_hints import conversion_hint
from tidelog.program.declare_relations import Declarations
from tidelog.program.declare_types import undeclared_type
from tidelog.program.functor_types import CONVERSIONS, FUNCTORS, Conversion, Fixed, Overloaded, arity_of
from tidelog.program.infer_types import Inference
from tidelog.program.suggest import counted, did_you_mean
from tidelog.program.type_environment import UNKNOWN
from tidelog.source import Span
from tidelog.syntax import tree
from tidelog.values import Kind

BITS = 1 << 64
_USES: Final = {"substr": "write `substr(text, position, length)`"}


class TermPlace(Enum):
    """Where a term stands, which says what may stand there and how its type must fit."""

    READ = auto()
    """In a positive atom: facts fill it."""
    WRITTEN = auto()
    """In a head: its type must be the column's or narrower."""
    MEMBER = auto()
    """In a record or branch of a head: its type must be the member's, or narrower, or wider."""
    TESTED = auto()
    """In a negated atom: only the kinds must agree."""
    COMPARED = auto()
    """A side of a constraint: only the kinds must agree; a wildcard stands only inside a pattern."""
    COMPUTED = auto()
    """An operand or target: only the kinds must agree, and no wildcard may stand there."""


# The place of the members of a record or branch.
_INSIDE = {TermPlace.COMPARED: TermPlace.READ, TermPlace.WRITTEN: TermPlace.MEMBER}


class TermResolver:
    """Resolves the terms of one rule; mistakes gather in `diagnostics`."""

    def __init__(self, declarations: Declarations, inference: Inference) -> None:
        self.declarations = declarations
        self.env = declarations.types
        self.inference = inference
        self.diagnostics: list[Diagnostic] = []
        self.made = 0

    def report(self, code: str, message: str, span: Span, hint: str | None = None) -> None:
        """Add an error."""
        self.diagnostics.append(Diagnostic(code=code, message=message, span=span, hint=hint))

    def term(self, term: tree.Term, expected: str | None, place: TermPlace) -> nodes.Term:  # noqa: C901, PLR0912 - one case per node
        """Return the term with its type; `expected` is what its place asks for, None for anything."""
        match term:
            case tree.Variable():
                return self.variable(term, expected, place)
            case tree.Wildcard():
                return self.wildcard(term, expected, place)
            case tree.NumberLiteral() | tree.UnsignedLiteral() | tree.FloatLiteral() | tree.StringLiteral():
                return self.literal(term, expected)
            case tree.NilLiteral():
                return self.nil(term, expected)
            case tree.RecordTerm():
                return self.record(term, expected, place)
            case tree.BranchTerm():
                return self.branch(term, expected, place)
            case tree.Application(functor="range"):
                return self.generated(term, expected)
            case tree.Application():
                return self.application(term, expected)
            case tree.UserApplication():
                return self.user_application(term, expected, place)
            case tree.Cast():
                return self.cast(term, expected, place)
            case tree.Counter():
                self.fit(Kind.NUMBER.value, expected, term.span)
                return nodes.Counter(Kind.NUMBER.value, span=term.span)
            case tree.Lookup():
                # Those in rules have become atoms.
                hint = "here there are no facts yet; write a constant or a functor"
                self.report("no-key", f"`{term.relation}` cannot be looked up here", term.span, hint)
                return nodes.Wildcard(UNKNOWN, span=term.span)
            case tree.Aggregate():
                return self.aggregate(term, expected)

    def aggregate(self, term: tree.Aggregate, expected: str | None) -> nodes.Term:
        """Return an aggregate; the resolver of rules knows about bodies."""
        raise NotImplementedError

    def generated(self, term: tree.Application, expected: str | None) -> nodes.Term:
        """Return the variable that takes the values of a `range`."""
        raise NotImplementedError

    # --- types ---

    def fit(self, found: str, expected: str | None, span: Span, *, strict: bool = False) -> None:
        """Report a type that does not fit its place; strict asks for a subtype, else the kind decides."""
        if expected is None or found == expected:
            return
        fits = self.env.is_subtype(found, expected) if strict else self.env.same_root(found, expected)
        if not fits:
            hint = conversion_hint(self.env, found, expected)
            self.report("type-clash", f"expected `{expected}`, found `{found}`", span, hint)

    def is_strict(self, found: str, expected: str | None, place: TermPlace) -> bool:
        """Say whether a type must be a subtype of what its place asks for."""
        if place is TermPlace.MEMBER:
            return expected is not None and not self.env.is_subtype(expected, found)
        return place is TermPlace.WRITTEN

    def settled(self, found: str, expected: str | None) -> str:
        """Return the type of a constant or result: what its place asks for, where the kinds agree."""
        if expected is None or expected == UNKNOWN or not self.env.same_root(found, expected):
            return found
        return expected

    # --- variables and constants ---

    def variable(self, term: tree.Variable, expected: str | None, place: TermPlace) -> nodes.Term:
        """Return a variable."""
        known = self.inference.types.get(term.name)
        found = UNKNOWN if known is None else known.type
        strict = known is not None and not known.is_weak and self.is_strict(found, expected, place)
        self.fit(found, expected, term.span, strict=strict)
        return nodes.Variable(term.name, found, span=term.span)

    def wildcard(self, term: tree.Wildcard, expected: str | None, place: TermPlace) -> nodes.Term:
        """Return a wildcard, which may stand where facts or patterns are matched."""
        if place not in (TermPlace.READ, TermPlace.TESTED):
            in_head = place in (TermPlace.WRITTEN, TermPlace.MEMBER)
            where = "the head of a rule" if in_head else "a constraint, functor or target"
            self.report(
                "misplaced-wildcard",
                f"`_` cannot be used in {where}",
                term.span,
                "name a variable that the body binds",
            )
        return nodes.Wildcard(expected or UNKNOWN, span=term.span)

    def literal(
        self,
        term: tree.NumberLiteral | tree.UnsignedLiteral | tree.FloatLiteral | tree.StringLiteral,
        expected: str | None,
    ) -> nodes.Term:
        """Return a constant; a plain number may be an unsigned or a float where its place asks for it."""
        wanted = None if expected in (None, UNKNOWN) else self.env.kind(expected or UNKNOWN)
        match term:
            case tree.NumberLiteral():
                if wanted in (Kind.UNSIGNED, Kind.FLOAT):
                    return self.number(term.value, wanted, expected, term.span)
                self.fit(Kind.NUMBER.value, expected, term.span)
                return self.number(term.value, Kind.NUMBER, expected, term.span)
            case tree.UnsignedLiteral():
                self.fit(Kind.UNSIGNED.value, expected, term.span)
                return self.number(term.value, Kind.UNSIGNED, expected, term.span)
            case tree.FloatLiteral():
                self.fit(Kind.FLOAT.value, expected, term.span)
                return nodes.Constant(term.value, self.settled(Kind.FLOAT.value, expected), span=term.span)
            case tree.StringLiteral():
                self.fit(Kind.SYMBOL.value, expected, term.span)
                return nodes.Constant(term.value, self.settled(Kind.SYMBOL.value, expected), span=term.span)

    def number(self, value: int, kind: Kind, expected: str | None, span: Span) -> nodes.Constant:
        """Return a numeric constant of a kind, which must hold the value."""
        name = self.settled(kind.value, expected)
        if kind is Kind.FLOAT:
            return nodes.Constant(float(value), name, span=span)
        low, high = (0, BITS - 1) if kind is Kind.UNSIGNED else (-(BITS >> 1), (BITS >> 1) - 1)
        if not low <= value <= high:
            self.report(
                "number-too-large",
                f"{value} does not fit the 64 bits of `{kind.value}`",
                span,
                f"the values of `{kind.value}` go from {low} to {high}",
            )
        return nodes.Constant(value, name, span=span)

    def nil(self, term: tree.NilLiteral, expected: str | None) -> nodes.Term:
        """Return nil of the record type its place asks for."""
        if expected is None:
            hint = "name its type with `as(nil, type)`"
            self.report("unknown-type", "the record type of this `nil` is not known", term.span, hint)
        elif expected != UNKNOWN and self.env.kind(expected) is not Kind.RECORD:
            self.report("type-clash", f"expected `{expected}`, found `nil`", term.span, "`nil` is a record")
        return nodes.Constant(None, expected or UNKNOWN, span=term.span)

    # --- records and branches ---

    def record(self, term: tree.RecordTerm, expected: str | None, place: TermPlace) -> nodes.Term:
        """Return a record of the type its place asks for."""
        declared = None if expected is None else self.env.record(expected)
        wanted: list[str | None] = [UNKNOWN] * len(term.terms)
        if expected is None:
            self.report(
                "unknown-type",
                "the type of this record is not known",
                term.span,
                "name its type with `as([...], type)`",
            )
        elif declared is None and expected != UNKNOWN:
            self.report("type-clash", f"expected `{expected}`, found a record", term.span)
        elif declared is not None and len(declared.fields) != len(term.terms):
            self.report(
                "wrong-field-count",
                f"record type `{expected}` has {counted(len(declared.fields), 'member')}, "
                f"not {len(term.terms)}",
                term.span,
                f"its members are {', '.join(member.name for member in declared.fields)}",
            )
        elif declared is not None:
            wanted = [member.type for member in declared.fields]
        inner = _INSIDE.get(place, place)
        terms = tuple(self.term(part, want, inner) for part, want in zip(term.terms, wanted, strict=True))
        return nodes.RecordTerm(terms, expected or UNKNOWN, span=term.span)

    def branch(self, term: tree.BranchTerm, expected: str | None, place: TermPlace) -> nodes.Term:
        """Return a branch of the algebraic type that has it."""
        owners = self.env.branches.get(term.name, ())
        wanted: list[str | None] = [UNKNOWN] * len(term.terms)
        found = UNKNOWN
        if not owners:
            self.report(
                "undeclared-branch",
                f"no algebraic type has a branch `{term.name}`",
                term.span,
                did_you_mean(term.name, self.env.branches, "add the branch to the declaration of the type"),
            )
        else:
            found = self.settled(owners[0], expected)
            self.fit(owners[0], expected, term.span)
            _, declared = self.env.table[owners[0]].branch(term.name)
            if len(declared.fields) != len(term.terms):
                self.report(
                    "wrong-field-count",
                    f"branch `{term.name}` has {counted(len(declared.fields), 'member')}, "
                    f"not {len(term.terms)}",
                    term.span,
                    f"its members are {', '.join(member.name for member in declared.fields) or 'none'}",
                )
            else:
                wanted = [member.type for member in declared.fields]
        inner = _INSIDE.get(place, place)
        terms = tuple(self.term(part, want, inner) for part, want in zip(term.terms, wanted, strict=True))
        return nodes.BranchTerm(term.name, terms, found, span=term.span)

    # --- functors ---

    def application(self, term: tree.Application, expected: str | None) -> nodes.Term:
        """Return an intrinsic functor with the overload its operands or its place choose."""
        functor = FUNCTORS.get(term.functor)
        if functor is None:
            hint = did_you_mean(term.functor, FUNCTORS, "a functor of your own is called with `@`")
            self.report("undeclared-functor", f"there is no functor `{term.functor}`", term.span, hint)
            terms = tuple(self.term(part, None, TermPlace.COMPUTED) for part in term.terms)
            return nodes.Application(term.functor, Kind.NUMBER, terms, UNKNOWN, span=term.span)
        fewest, most = arity_of(functor)
        if len(term.terms) < fewest or (most is not None and len(term.terms) > most):
            wanted = (
                str(fewest)
                if fewest == most
                else f"at least {fewest}"
                if most is None
                else f"{fewest} to {most}"
            )
            message = f"functor `{term.functor}` takes {wanted} operands, not {len(term.terms)}"
            self.report(
                "wrong-operand-count", message, term.span, _USES.get(term.functor, f"give it {wanted}")
            )
            terms = tuple(self.term(part, UNKNOWN, TermPlace.COMPUTED) for part in term.terms)
            return nodes.Application(term.functor, Kind.NUMBER, terms, UNKNOWN, span=term.span)
        match functor:
            case Fixed():
                self.fit(functor.result.value, expected, term.span)
                terms = tuple(
                    self.term(part, kind.value, TermPlace.COMPUTED)
                    for part, kind in zip(term.terms, functor.operands, strict=True)
                )
                name = self.settled(functor.result.value, expected)
                return nodes.Application(term.functor, functor.operands[0], terms, name, span=term.span)
            case Conversion():
                return self.conversion(term, functor, expected)
            case Overloaded():
                return self.overloaded(term, functor, expected)

    def overloaded(self, term: tree.Application, functor: Overloaded, expected: str | None) -> nodes.Term:
        """Return a functor whose operands have one kind."""
        kind = self.choose_kind(term, functor, expected)
        if term.functor == "neg" and isinstance(term.terms[0], tree.NumberLiteral):
            return self.negative(term.terms[0], kind, expected, term.span)
        if term.functor == "neg" and isinstance(term.terms[0], tree.FloatLiteral):
            return self.literal(tree.FloatLiteral(-term.terms[0].value, span=term.span), expected)
        if term.functor == "+" and self.mixes_symbols(term, kind):
            terms = tuple(self.term(part, None, TermPlace.COMPUTED) for part in term.terms)
            return nodes.Application("cat", Kind.SYMBOL, terms, UNKNOWN, span=term.span)
        terms = tuple(self.term(part, kind.value, TermPlace.COMPUTED) for part in term.terms)
        self.fit(kind.value, expected, term.span)
        functor_name = "cat" if term.functor == "+" and kind is Kind.SYMBOL else term.functor
        return nodes.Application(
            functor_name, kind, terms, self.settled(kind.value, expected), span=term.span
        )

    def mixes_symbols(self, term: tree.Application, kind: Kind) -> bool:
        """Report a sum in which some operands are symbols and others are not, and say whether it is one."""
        known = [self.inference.type_of(part) for part in term.terms]
        kinds = {self.env.kind(each.type) for each in known if each is not None and each.type != UNKNOWN}
        if isinstance(term.terms[0], tree.NumberLiteral) or isinstance(term.terms[1], tree.NumberLiteral):
            kinds.add(Kind.NUMBER if kind is Kind.SYMBOL else kind)
        if Kind.SYMBOL not in kinds or len(kinds) == 1:
            return False
        hint = "join texts with `cat`, and convert with `to_string`: `cat(text, to_string(number))`"
        self.report("type-clash", "`+` does not add symbols and numbers", term.span, hint)
        return True

    def choose_kind(self, term: tree.Application, functor: Overloaded, expected: str | None) -> Kind:
        """Return the operands' kind: what they say, else what the place asks for, else number."""
        known = self.inference.type_of(term)
        if known is not None and known.type != UNKNOWN:
            kind = self.env.kind(known.type)
            if kind not in functor.kinds:
                kinds = ", ".join(f"`{each.value}`" for each in functor.kinds)
                message = f"functor `{term.functor}` does not apply to `{known.type}`"
                self.report("type-clash", message, term.span, f"it applies to {kinds}")
            return kind
        if expected not in (None, UNKNOWN) and self.env.kind(expected or UNKNOWN) in functor.kinds:
            return self.env.kind(expected or UNKNOWN)
        return functor.kinds[0]

    def negative(
        self, literal: tree.NumberLiteral, kind: Kind, expected: str | None, span: Span
    ) -> nodes.Term:
        """Return a negative constant: `-9223372036854775808` fits although its digits do not."""
        self.fit(kind.value, expected, span)
        return self.number(-literal.value, kind, expected, span)

    def conversion(self, term: tree.Application, functor: Conversion, expected: str | None) -> nodes.Term:
        """Return `to_number` and its like as the functor for the operand's kind."""
        self.fit(functor.result.value, expected, term.span)
        name = self.settled(functor.result.value, expected)
        known = self.inference.type_of(term.terms[0])
        operand = self.term(term.terms[0], None if known is None else known.type, TermPlace.COMPUTED)
        kind = self.env.kind(operand.type)
        if operand.type != UNKNOWN and kind not in functor.kinds:
            message = f"functor `{term.functor}` does not apply to `{operand.type}`"
            self.report("type-clash", message, term.span, "it applies to numbers and symbols")
        if term.functor == "ord":
            return nodes.Application("ord", kind, (operand,), name, span=term.span)
        if kind is functor.result and operand.type != UNKNOWN:
            return operand
        chosen = CONVERSIONS.get((kind, functor.result), term.functor)
        return nodes.Application(chosen, kind, (operand,), name, span=term.span)

    def user_application(
        self, term: tree.UserApplication, expected: str | None, place: TermPlace
    ) -> nodes.Term:
        """Return a functor the user declared."""
        declared = self.declarations.functors.get(term.name)
        wanted: list[str | None] = [UNKNOWN] * len(term.terms)
        result = UNKNOWN
        if declared is None:
            self.undeclared_functor(term.name, term.span)
        else:
            result = declared.result
            strict = result not in _PRIMITIVE and self.is_strict(result, expected, place)
            self.fit(result, expected, term.span, strict=strict)
            if len(declared.parameters) != len(term.terms):
                takes = counted(len(declared.parameters), "operand")
                message = f"functor `@{term.name}` takes {takes}, not {len(term.terms)}"
                hint = f"it is declared as `{term.name}({', '.join(declared.parameters)})`"
                self.report("wrong-operand-count", message, term.span, hint)
            else:
                wanted = list(declared.parameters)
        terms = tuple(
            self.term(part, want, TermPlace.COMPUTED) for part, want in zip(term.terms, wanted, strict=True)
        )
        return nodes.UserApplication(term.name, terms, self.settled(result, expected), span=term.span)

    def undeclared_functor(self, name: str, span: Span) -> None:
        """Report a user functor nobody declares."""
        hint = did_you_mean(
            name, self.declarations.functors, f"declare it: `.functor {name}(x: number): number`"
        )
        self.report("undeclared-functor", f"there is no functor `@{name}`", span, hint)

    def cast(self, term: tree.Cast, expected: str | None, place: TermPlace) -> nodes.Term:
        """Return the term read as the type of `as`; the value stays what it is."""
        target = self.env.resolve(term.type)
        if target == UNKNOWN:
            self.diagnostics.append(undeclared_type(term.type, term, self.env.table))
            return self.term(term.term, None, place)
        self.fit(target, expected, term.span, strict=self.is_strict(target, expected, place))
        known = self.inference.type_of(term.term)
        wanted = known.type if known else target if self.may_be(term.term, target) else None
        operand = self.term(term.term, wanted, TermPlace.COMPARED)
        if operand.type == UNKNOWN or self.env.same_root(operand.type, target):
            return replace(operand, type=target)
        functor = _REINTERPRETED.get((self.env.kind(operand.type), self.env.kind(target)))
        if functor is None:
            self.report(
                "bad-cast",
                f"a value of `{operand.type}` cannot be read as `{target}`",
                term.span,
                "`as` changes the type, not the value; convert with `to_number`, `to_string`, `itof`, ...",
            )
            return replace(operand, type=target)
        return nodes.Application(functor, self.env.kind(operand.type), (operand,), target, span=term.span)

    def may_be(self, term: tree.Term, target: str) -> bool:
        """Say whether a term without a type of its own can take the target's."""
        kind = self.env.kind(target)
        if isinstance(term, tree.RecordTerm | tree.NilLiteral):
            return kind is Kind.RECORD
        return kind.is_numeric or isinstance(term, tree.Variable)


_PRIMITIVE = frozenset(kind.value for kind in (Kind.NUMBER, Kind.UNSIGNED, Kind.FLOAT, Kind.SYMBOL))

# Casts between kinds whose codes mean the same in the other kind.
_REINTERPRETED = {
    (Kind.NUMBER, Kind.UNSIGNED): "itou",
    (Kind.UNSIGNED, Kind.NUMBER): "utoi",
    (Kind.SYMBOL, Kind.NUMBER): "ord",
    (Kind.RECORD, Kind.NUMBER): "ord",
    (Kind.ADT, Kind.NUMBER): "ord",
}
