"""Refutations node by node: for each rule how near it comes, literal by literal."""

from tidelog.explain.proofs.judge import JudgedLiteral, Verdict
from tidelog.explain.proofs.refutation import NearMiss, Refutation, RuleRefutation
from tidelog.program.suggest import counted
from tidelog.views.fact_text import write_value
from tidelog.web.proofs import plain_rule
from tidelog.web.schema import NodeReply
from tidelog.web.settings import Limits
from tidelog.web.sources import plain_span


class RefutationWriter:
    """Writes refutations as JSON nodes of the same form as those of proofs."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits

    def refutation(self, found: Refutation) -> NodeReply:
        """Return the root: its premises are near misses, nearest first, then rules that have none."""
        misses = [(miss, rule) for rule in found.rules for miss in rule.near_misses]
        misses.sort(key=lambda pair: pair[0].rank())
        hopeless = [rule for rule in found.rules if not rule.near_misses]
        premises = [self._miss(miss, rule, found) for miss, rule in misses]
        premises += [self._hopeless(rule) for rule in hopeless]
        return {
            "kind": "refutation",
            "text": self._cut(str(found.atom)),
            "fact": str(found.atom),
            "mark": "fails",
            "note": found.note or None,
            "has_more": bool(premises),
            "premises": premises,
        }

    def _miss(self, miss: NearMiss, rule: RuleRefutation, found: Refutation) -> NodeReply:
        failing = len(miss.failing)
        words = f"{counted(failing, 'literal')} of {len(miss.literals)} fail{'s' if failing == 1 else ''}"
        return {
            "kind": "miss",
            "text": " ".join(miss.rule.text.split()),
            "rule": plain_rule(miss.rule),
            "bindings": [(name, self._cut(write_value(value))) for name, value in miss.bindings],
            "note": f"{words}; {rule.note}" if rule.note else words,
            "has_more": bool(miss.literals),
            "premises": [self._literal(each, miss, found) for each in miss.literals],
        }

    def _literal(self, literal: JudgedLiteral, miss: NearMiss, found: Refutation) -> NodeReply:
        node: NodeReply = {
            "kind": "literal",
            "text": self._cut(str(literal)),
            "mark": literal.verdict.value,
            "fact": None if literal.atom is None else str(literal.atom),
            "rule": plain_rule(miss.rule),
            "bindings": [(name, self._cut(write_value(value))) for name, value in miss.bindings],
            "has_more": False,
            "premises": [],
        }
        if literal.literal is not None:
            node["place"] = plain_span(literal.literal.span)
        if literal.note:
            node["note"] = literal.note
        if literal.free:
            node["note"] = f"no value for {', '.join(literal.free)}"
        if literal.verdict is Verdict.FAILS and literal.is_negated:
            node["note"] = "holds, and must not"
        missing = literal.missing
        if missing is not None:
            node["note"] = "is missing"
            node["has_more"] = True
            deeper = found.deeper.get(missing)
            node["premises"] = None if deeper is None else self.refutation(deeper)["premises"]
            if deeper is not None and not deeper.rules:
                node["note"] = "is missing: no input fact, and no rule derives its relation"
                node["has_more"] = False
        return node

    @staticmethod
    def _hopeless(rule: RuleRefutation) -> NodeReply:
        return {
            "kind": "miss",
            "text": " ".join(rule.rule.text.split()),
            "rule": plain_rule(rule.rule),
            "note": rule.note or None,
            "has_more": False,
            "premises": [],
        }

    def _cut(self, text: str) -> str:
        most = self._limits.cell_characters
        return text if len(text) <= most else f"{text[:most]}…"
