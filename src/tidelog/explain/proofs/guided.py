"""Why a fact does not hold, asked step by step: choose a rule, choose values, see what fails."""

from collections.abc import Mapping

from tidelog.dataclass import dataclass
from tidelog.engine.reference.steps import Body
from tidelog.engine.reference.terms import Binding
from tidelog.errors import Diagnostic, TidelogError
from tidelog.explain.proofs.atom import GroundAtom
from tidelog.explain.proofs.derivations import written_variables
from tidelog.explain.proofs.judge import JudgedLiteral, Verdict, judge_body
from tidelog.explain.proofs.proof import Explorer, Proof
from tidelog.explain.proofs.rules import QuotedRule
from tidelog.explain.proofs.solve import BodySolver
from tidelog.explain.proofs.work import SearchWork
from tidelog.program.nodes import Atom, Rule, Variable
from tidelog.program.suggest import did_you_mean
from tidelog.program.walk_nodes import variables_of, walk
from tidelog.values import Value


@dataclass(frozen=True, repr=False)
class GuidedRefutation:
    """A fact that does not hold, and the rules to choose from.

    asked = db.why_not("vpt('userSession', 'L4')", guided=True)
    rule = asked.choose("vpt#2").bind(Var2="ins")
    rule.literals          # assign(...) holds, vpt("ins", "L4") fails
    rule.follow(1)         # continue from the literal that fails
    """

    explorer: Explorer
    atom: GroundAtom

    @property
    def rules(self) -> tuple[QuotedRule, ...]:
        """Return the rules that derive the fact's relation."""
        book = self.explorer.prover.book
        return tuple(book.quote(rule) for rule in book.rules_of(self.atom.relation))

    def choose(self, rule: str | int | QuotedRule) -> "GuidedRule":
        """Return a rule with the head's variables bound; name it as `vpt#2`, or by its number from 1."""
        book = self.explorer.prover.book
        quoted = self._find(rule)
        chosen = book.find(quoted.name)
        solver = self.explorer.prover.deriver.solver.again(SearchWork())
        step = solver.fit_fact(chosen.head, self.atom.fact, {})
        if step is None:
            raise TidelogError(
                [Diagnostic("head-differs", f"the head of {quoted.name} cannot be {self.atom}", quoted.span)]
            )
        binding, later = step
        return GuidedRule(self.explorer, self.atom, chosen, (*chosen.body, *later), dict(binding))

    def __repr__(self) -> str:
        return f"<{self.atom} does not hold; rules: {', '.join(rule.name for rule in self.rules) or 'none'}>"

    def _find(self, rule: str | int | QuotedRule) -> QuotedRule:
        if isinstance(rule, QuotedRule):
            return rule
        for place, quoted in enumerate(self.rules, start=1):
            if rule in (place, quoted.name):
                return quoted
        names = [each.name for each in self.rules]
        hint = did_you_mean(str(rule), names, f"choose one of {', '.join(names) or 'none'}")
        raise TidelogError([Diagnostic("no-such-rule", f"no rule `{rule}` derives it", None, hint)])


@dataclass(frozen=True, repr=False)
class GuidedRule:
    """A rule with values for some of its variables."""

    explorer: Explorer
    atom: GroundAtom
    _rule: Rule
    _body: Body
    _binding: Mapping[str, Value]

    @property
    def rule(self) -> QuotedRule:
        """Return the rule as the user wrote it."""
        return self.explorer.prover.book.quote(self._rule)

    @property
    def bindings(self) -> dict[str, Value]:
        """Return the values chosen so far."""
        return {name: self._binding[name] for name in written_variables(self._rule) if name in self._binding}

    @property
    def free(self) -> tuple[str, ...]:
        """Return the variables that have no value yet."""
        return tuple(name for name in written_variables(self._rule) if name not in self._binding)

    @property
    def literals(self) -> tuple[JudgedLiteral, ...]:
        """Return the body's literals, each judged under the values chosen so far."""
        with self.explorer.lock:
            self.explorer.check_epoch(self.atom)
            return judge_body(self._body, self._binding, self._solver())

    def bind(self, **values: Value) -> "GuidedRule":
        """Return the rule with values for more variables."""
        book = self.explorer.prover.book
        types = self._types()
        found = dict(self._binding)
        mistakes = []
        for name, value in values.items():
            if name not in types:
                hint = did_you_mean(name, list(types), f"it has {', '.join(types) or 'none'}")
                mistakes.append(
                    Diagnostic("no-such-variable", f"the rule has no variable `{name}`", None, hint)
                )
                continue
            found[name] = book.codec.decode(book.codec.encode(value, types[name]), types[name])
        if mistakes:
            raise TidelogError(mistakes)
        return GuidedRule(self.explorer, self.atom, self._rule, self._body, found)

    def suggest(self, variable: str, limit: int = 10) -> tuple[Value, ...]:
        """Return values for a variable under which most literals hold, best first.

        They come from the facts that match the positive atoms it stands in.
        """
        with self.explorer.lock:
            self.explorer.check_epoch(self.atom)
            solver = self._solver()
            found: dict[Value, int] = {}
            for literal in self._rule.body:
                if isinstance(literal, Atom) and variable in variables_of(literal):
                    for place, binding in enumerate(solver.bindings((literal,), self._binding)):
                        if place >= 100 * limit:
                            break
                        value = binding[variable]
                        if value not in found:
                            found[value] = self._holding({**self._binding, variable: value}, solver)
            return tuple(sorted(found, key=lambda value: -found[value])[:limit])

    def follow(self, literal: int) -> "GuidedRefutation | Proof":
        """Return where to go on from the literal at a place (from 0).

        From a positive atom that fails: why its fact does not hold. From an atom that holds, or a
        negated one that fails: why its fact does.
        """
        judged = self.literals[literal]
        if judged.atom is None:
            hint = f"choose values for {', '.join(judged.free)}" if judged.free else None
            raise TidelogError(
                [Diagnostic("not-a-fact", f"`{judged}` is not about exactly one fact", None, hint)]
            )
        is_there = (judged.verdict is Verdict.HOLDS) != judged.is_negated
        return self.explorer.node(judged.atom) if is_there else GuidedRefutation(self.explorer, judged.atom)

    def __repr__(self) -> str:
        judged = ", ".join(f"{each} {each.verdict.value}" for each in self.literals)
        return f"<{self.rule.name} for {self.atom}: {judged}>"

    def _holding(self, binding: Binding, solver: BodySolver) -> int:
        return sum(each.verdict is Verdict.HOLDS for each in judge_body(self._body, binding, solver))

    def _solver(self) -> BodySolver:
        return self.explorer.prover.deriver.solver.again(SearchWork())

    def _types(self) -> dict[str, str]:
        return {
            part.name: part.type
            for part in walk((self._rule,), into_aggregates=False)
            if isinstance(part, Variable) and "'" not in part.name
        }
