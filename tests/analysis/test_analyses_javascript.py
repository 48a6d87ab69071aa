"""Names in JavaScript: what is undefined and what unused in small files, and after edits."""

from pathlib import Path

import pytest

from tidelog.analysis.follow import Follow
from tidelog.trees import Forest

ANALYSES = Path(__file__).parents[2] / "examples" / "analyses"


def follow(text: str) -> Follow:
    """Return the analysis of one file."""
    forest = Forest.of("javascript").update({"a.js": text}).forest
    return Follow(ANALYSES / "javascript_names.dl", forest, facts=ANALYSES, jobs=1)


def found(analysis: Follow) -> list[str]:
    """Return what is found, as the relation and the name."""
    return [f"{each.relation} {each.fact[1]}" for each in analysis.findings()]


CASES = [
    ("console.log(x);", ["undefined x"]),
    ("const x = 1; console.log(x);", []),
    ("const x = 1;", ["unused x"]),
    ("export const x = 1;", []),
    ("const x = 1; export { x };", []),
    ("const x = 1; export default x;", []),
    ("export { x } from 'm';", []),
    ("import a, { b, c as d } from 'm'; import * as e from 'n'; a(d);", ["unused b", "unused e"]),
    ("{ let x = 1; console.log(x); } console.log(x);", ["undefined x"]),
    ("{ var x = 1; } console.log(x);", []),
    ("function f() { if (1) { var x = 2; } return x; } f();", []),
    ("function f() { return f(); }", ["unused f"]),
    ("const f = () => f();", ["unused f"]),
    ("const f = function g() { return g(); }; f();", []),
    ("console.log(f()); function f() {}", []),
    ("function f(a, { b }, [c], d = 1, ...e) { return a + b + c + d + e + g; } f();", ["undefined g"]),
    ("const { a, b: { c }, ...r } = window; console.log(c, r);", ["unused a"]),
    ("const [a, b = z] = window; console.log(a);", ["unused b", "undefined z"]),
    ("let x; x = 1;", ["unused x"]),
    ("let x = 0; x++;", ["unused x"]),
    ("let x = 0; console.log(x++);", []),
    ("y = 1;", ["undefined y"]),
    ("({ a, b } = window);", ["undefined a", "undefined b"]),
    ("for (const k of window) { console.log(k); } for (const j in window) {}", ["unused j"]),
    ("for (k of window) {}", ["undefined k"]),
    ("try { f(); } catch (e) { }", ["undefined f", "unused e"]),
    ("try { } catch { }", []),
    ("class A extends B { m() { return new A(this.x); } } new A();", ["undefined B"]),
    ("const o = { a: 1, b, [c]: 2, m() { return d; } }; o.x;", ["undefined b", "undefined c", "undefined d"]),
    ("if (typeof x === 'undefined') {}", []),
    ("l: while (1) { break l; }", []),
    ("const _x = 1;", []),
    ("console.log(`a ${x}`);", ["undefined x"]),
    ("switch (1) { case 1: let x = 2; console.log(x); }", []),
]


@pytest.mark.parametrize(("text", "expected"), CASES)
def test_what_is_found(text: str, expected: list[str]) -> None:
    """Scopes, patterns, modules and assignments, one case each."""
    assert found(follow(text)) == expected


def test_edits_are_followed() -> None:
    """After every edit the findings are those of a new analysis."""
    texts = [
        f"function f() {{ {one} }}\nf();\n{two}\n"
        for (one, _), (two, _) in zip(PLAIN, PLAIN[2:], strict=False)
    ]
    analysis = follow(texts[0])
    for text in texts[1:]:
        analysis.update({"a.js": text})
        assert [str(each) for each in analysis.findings()] == [str(each) for each in follow(text).findings()]


PLAIN = [case for case in CASES if "export" not in case[0] and "import" not in case[0]]
