"""Incremental proofs as text and as JSON."""

from collections.abc import Iterator
from typing import Final

from tidelog.explain.blame.steps import Role, StoryStep

_SIGNS: Final = {
    Role.INSERTED: "+",
    Role.APPEARED: "+",
    Role.DELETED: "-",
    Role.VANISHED: "-",
    Role.UNTOUCHED: " ",
}


def step_lines(step: StoryStep, depth: int = 0) -> Iterator[str]:
    """Yield a proof, premises below and right of what they prove.

    + alias("userSession", "sec")   by alias(x, y) :- vpt(x, o), vpt(y, o).
    |   + vpt("userSession", "L2")   by ...
    """
    waiting = [(step, depth)]
    while waiting:
        each, indent = waiting.pop()
        yield f"{'|   ' * indent}{_SIGNS[each.role]} {each.fact}{_remark(each)}"
        waiting += [(premise, indent + 1) for premise in reversed(each.premises)]


def _remark(step: StoryStep) -> str:
    if step.is_shown_above:
        return "   (shown above)"
    if step.rule is not None:
        return f"   {'by' if step.role is Role.APPEARED else 'no more by'} {step.rule}"
    if step.role in {Role.INSERTED, Role.DELETED}:
        return f"   ({step.role.value})"
    return ""


def step_json(step: StoryStep) -> dict[str, object]:
    """Return a proof as what json.dumps takes."""
    shown: dict[str, object] = {"fact": step.fact, "role": step.role.value}
    if step.rule is not None:
        shown["rule"] = step.rule
    if step.premises:
        shown["premises"] = [step_json(premise) for premise in step.premises]
    if step.is_shown_above:
        shown["shown_above"] = True
    return shown
