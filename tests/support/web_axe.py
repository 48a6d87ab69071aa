"""axe-core, which finds what people with a screen reader, a keyboard or weak eyes would stumble over."""

import json
from pathlib import Path

import pytest

from support.web_browser import Page

WEB = Path(__file__).parents[2] / "src" / "tidelog" / "web"
AXE = WEB / "node_modules" / "axe-core" / "axe.min.js"
_RUN = """
    const done = arguments[arguments.length - 1];
    axe.run(document, {resultTypes: ['violations']}).then(
        (found) => done(JSON.stringify(found.violations.map((each) => ({
            rule: each.id, help: each.help,
            nodes: each.nodes.slice(0, 3).map((node) => `${node.html.slice(0, 200)} ${node.any[0]?.message}`),
        })))),
        (error) => done(JSON.stringify([{rule: 'axe failed', help: String(error), nodes: []}])));
"""


def violations(page: Page) -> list[dict[str, object]]:
    """Return what axe-core finds wrong with the page as it is; skip where it is not installed."""
    if not AXE.exists():
        pytest.skip("no axe-core: npm install in src/tidelog/web")
    if not page.run("return typeof axe !== 'undefined'"):
        page.driver.execute_script(AXE.read_text(encoding="utf-8"))
    page.driver.set_script_timeout(60)
    found = json.loads(page.driver.execute_async_script(_RUN))
    assert isinstance(found, list)
    return found
