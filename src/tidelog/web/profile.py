"""The profile of a session as the explorer shows it: tables, and pictures as SVG."""

from tidelog.engine.profile.record import RuleProfile, Tally, is_wasteful
from tidelog.profile.hot import delta_of, most_expensive, place_of
from tidelog.profile.pictures import PictureKind, draw_picture
from tidelog.profile.profile import Profile
from tidelog.session import Session
from tidelog.web.replies import mistake
from tidelog.web.schema import ProfileOperator, ProfileReply, ProfileRule


def plain_profile(session: Session) -> ProfileReply:
    """Return strata, rules from the slowest on, the most expensive operators, and advice.

    `is_measured` is false if the session was not opened with `profile`: then there are no rules.
    """
    profile = session.profile()
    measured = any(stratum.rules for stratum in profile.strata)
    rules = sorted(profile.rules(), key=lambda each: -each[1].total.seconds)
    return {
        "is_measured": measured,
        "seconds": profile.evaluation_seconds,
        "memory": profile.peak_memory_bytes,
        "strata": [
            {
                "title": each.title,
                "seconds": each.seconds,
                "iterations": each.iterations,
                "facts": each.facts,
                "derivations": each.derivations,
                "bindings": each.bindings,
                "planning": each.planning_seconds,
                "indexes": each.index_seconds,
            }
            for each in profile.strata
            if each.derivations
        ],
        "rules": [_rule(rule) for _, rule in rules if rule.total.seconds],
        "operators": _operators(profile),
        "advice": [
            {"code": each.code, "message": each.message, "hint": each.hint} for each in profile.advice
        ],
    }


def profile_picture(session: Session, name: str) -> str:
    """Return a picture of the profile as SVG."""
    if name not in list(PictureKind):
        raise mistake(
            "bad-request", f"there is no picture `{name}`", f"choose one of {', '.join(PictureKind)}"
        )
    return draw_picture(session.profile(), PictureKind(name))


def _rule(rule: RuleProfile) -> ProfileRule:
    total: Tally = rule.total
    return {
        "place": place_of(rule),
        "delta": delta_of(rule),
        "text": rule.text,
        "seconds": total.seconds,
        "bindings": total.bindings,
        "derivations": total.derivations,
        "new_facts": total.new_facts,
        "duplicates": total.duplicates,
        "is_wasteful": is_wasteful(total),
    }


def _operators(profile: Profile) -> list[ProfileOperator]:
    return [
        {
            "text": each.operator.text,
            "rule": f"{place_of(each.rule)} {delta_of(each.rule)}".strip(),
            "seconds": each.seconds,
            "rows_in": each.operator.rows_in,
            "rows_out": each.operator.rows_out,
            "expected": each.operator.expected,
        }
        for each in most_expensive(profile)
    ]
