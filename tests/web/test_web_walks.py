"""Walks through the explorer in a real browser: both sizes, both themes, axe-core on every page."""

import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest

pytest.importorskip("selenium", reason="no selenium: pip install 'tidelog[dev]'")

from selenium.webdriver.common.keys import Keys

import tidelog
from support.web_axe import violations
from support.web_browser import Page, browsing
from support.web_serving import Client, serving
from tidelog.session import Session
from tidelog.web import WebSettings

PROGRAM = """\
.decl edge(x: number, y: number)
.input edge
edge(900, 901).
.decl path(x: number, y: number)
.output path
path(x, y) :- edge(x, y).
path(x, z) :- path(x, y), edge(y, z).
.type Record = [id: number, text: symbol]
.decl label(x: number, t: symbol)
.input label
.decl long(r: Record)
long([x, cat(t, t)]) :- label(x, t).
"""
STEPS = 1400
WIDE, PHONE = (1280, 800), (390, 844)


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    """Return the browser that all tests of this file share."""
    with browsing(tmp_path_factory.mktemp("profile")) as page:
        yield page


@pytest.fixture
def page(browser: Page) -> Iterator[Page]:
    """Return the browser in light colours; whatever it complains about fails the test."""
    browser.scheme("light")
    browser.size(*WIDE)
    browser.complaints()
    yield browser
    browser.run("localStorage.clear(); sessionStorage.clear()")
    browser.driver.get("about:blank")
    assert browser.complaints() == []


@pytest.fixture
def db() -> Iterator[Session]:
    """Return a session with a chain, and texts of which little is seen."""
    labels = [(-1, ""), (-2, "a\tb"), (3, "line\nend"), (4, "x" * 400), (0, "zero")]
    facts = {"edge": [(1, 2), (2, 3), (3, 4)], "label": labels}
    with tidelog.open(PROGRAM, facts=facts, profile=True) as session:
        yield session


@pytest.fixture
def client(db: Session) -> Iterator[Client]:
    """Return an explorer that may write."""
    with serving(db, WebSettings(may_write=True)) as client:
        yield client


def view(client: Client, path: str) -> str:
    """Return the address of a view."""
    return f"{client.address}#/{quote(path, safe='/?=&')}"


# --- every page -------------------------------------------------------------------------------------

PAGES = {
    "": "main table",
    "facts/path": "tr.row",
    "facts/label": "tr.row",
    "query": "#query",
    "query?q=path(1, x)": "tr.row",
    "query?q=path(": ".diagnostics",
    "rules": ".rule",
    "why?fact=path(1, 4)": "[role=treeitem]",
    "why-not?fact=path(4, 1)": "[role=treeitem]",
    "why-not?fact=path(1, 4)": ".verdict",
    "epochs/1": "tr.row",
    "blame?epoch=1&unwanted=path(4, 5)": ".repair",
    "profile": ".bar-chart",
}


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [WIDE, PHONE], ids=["wide", "phone"])
def test_every_page_is_sound(
    page: Page, client: Client, db: Session, size: tuple[int, int], scheme: str
) -> None:
    """axe-core finds nothing on any page, and no page needs sideways scrolling."""
    db.apply(insert=["edge(4, 5)"])
    db.apply(delete=["edge(4, 5)"])
    page.size(*size)
    page.scheme(scheme)
    for path, selector in PAGES.items():
        page.open(view(client, path))
        page.find(selector)
        page.until("document.querySelector('#progress').hidden")
        assert (path, violations(page)) == (path, [])
        assert page.run("return document.documentElement.scrollWidth <= innerWidth"), path
        assert len(page.all("h1")) == 1
    # What opens on a page: the proof beside facts, its picture, the list of keys, the tray with a trial.
    page.open(view(client, "facts/edge"))
    page.find("tr.row")
    page.run("document.querySelector('tr.row .act button:last-child').click()")
    page.run("document.querySelector('#try-out').click()")
    page.find(".trial .changed-relation")
    assert violations(page) == []
    page.run(
        "[...document.querySelectorAll('.tray button')].find((each) => each.innerText === 'Discard').click()"
    )
    page.run("document.querySelector('tr.row').click()")
    page.find(".inspector [role=treeitem]")
    assert violations(page) == []
    page.open(view(client, "why?fact=path(1, 4)"))
    page.click("[role=tab]", "Picture")
    page.find(".proof-picture")
    assert violations(page) == []
    page.run("document.querySelector('#shortcuts').click()")
    page.find("dialog[open]")
    assert violations(page) == []
    assert all("400" in each for each in page.complaints())


def test_the_first_page_is_small(page: Page, client: Client) -> None:
    """Everything that the first page loads is less than 200 KB on the wire."""
    page.open(client.address)
    page.find("main table")
    script = """
        const entries = ['resource', 'navigation'].flatMap((each) => performance.getEntriesByType(each));
        return entries.filter((each) => !each.name.includes('/api/live'))
            .reduce((sum, each) => sum + each.transferSize, 0);
    """

    assert 10_000 < page.run(script) < 200_000


# --- ask --------------------------------------------------------------------------------------------


def test_a_query_is_completed_asked_and_explained(page: Page, client: Client) -> None:
    """Words are offered; the answer sorts, filters, says why, and can be taken away."""
    page.open(view(client, "query"))
    field = page.find("#query")
    field.send_keys("pa")
    page.find(".offers li", "path(")
    field.send_keys(Keys.ARROW_DOWN, Keys.ENTER)
    page.until("document.querySelector('#query').value === 'path('")
    page.find(".offers li", "900")
    field.send_keys("1, y), edge(y, z)", Keys.ENTER)
    page.until("document.querySelectorAll('tr.row').length === 2")
    assert page.rows() == ["2 3", "3 4"]

    page.click("th:nth-child(2) .sorter")
    page.click("th:nth-child(2) .sorter")
    page.until("document.querySelector('tr.row td').innerText === '3'")
    page.type(".filter[aria-label='Filter y']", "<3")
    page.find(".matching", "1 of 2 answers")
    page.click("tr.row .act button", "Why path")

    page.find(".inspector .tree .atom", "path(1, 2)")
    link = page.run("return document.querySelector('.menu a[data-form=csv]').href")
    assert client.send("GET", link.removeprefix(client.address.rstrip("/"))).status == 200


def test_rules_are_edited_tried_and_committed(page: Page, client: Client, db: Session) -> None:
    """A rule is edited where it stands, checked as it is typed, tried out, then committed."""
    page.open(view(client, "rules?relation=path"))
    page.find(".rule-tools button")
    page.run("document.querySelectorAll('.rule-tools button:first-child')[1].click()")
    area = page.find(".rule-editor textarea")
    area.send_keys(Keys.CONTROL, "a")
    area.send_keys("path(x, z) :- nothing(x, z).")
    page.find(".rule-editor .diagnostics", "nothing")
    area.send_keys(Keys.CONTROL, "a")
    area.send_keys("path(y, x) :- edge(x, y).")
    page.find(".rule-editor .plus", "No mistakes")
    page.click(".rule-editor button", "Stage")
    page.find(".tray h2", "2 changes staged")

    page.click("#try-out")
    page.find(".trial h3", "What they would do")
    page.find(".trial .row.minus", "1")
    assert (db.epoch, len(db.rules)) == (0, 4)
    page.click("#commit")
    page.find("#epoch-badge", "epoch 1")

    assert (2, 1) in db["path"]
    assert (1, 3) not in db["path"]
    page.click(".toast button", "Take back")
    page.find("#epoch-badge", "epoch 2")
    assert (1, 3) in db["path"]


def test_rows_are_pasted_from_a_spreadsheet(page: Page, client: Client, db: Session) -> None:
    """Cells with tabs between them become staged facts; the names of the columns are left out."""
    page.open(view(client, "facts/label"))
    page.click("button", "Insert facts")
    page.find("form.insert input")
    paste = """
        const data = new DataTransfer();
        data.setData('text/plain', arguments[0]);
        const event = new ClipboardEvent('paste', {clipboardData: data, bubbles: true, cancelable: true});
        document.querySelector('form.insert input').dispatchEvent(event);
    """
    page.driver.execute_script(paste, 'x\tt\n10\tten\n11\t"two\nlines"\n12\tsay ""\n')
    page.find(".tray h2", "3 changes staged")
    page.driver.execute_script(paste, "1\t2\t3\n")
    page.find("form.insert .diagnostics", "3 cells")
    page.click("#commit")
    page.find("#epoch-badge", "epoch 1")

    assert {(10, "ten"), (11, "two\nlines")} <= set(db["label"])


def test_staged_changes_survive_a_reload_and_are_checked(page: Page, client: Client) -> None:
    """A wrong value is told before the commit, and what is staged is there after a reload."""
    page.open(view(client, "facts/edge"))
    page.click("button", "Insert facts")
    page.type("form.insert input[name='value-0']", "many")
    page.type("form.insert input[name='value-1']", "2")
    page.press(Keys.ENTER)
    page.find(".tray .diagnostics", "many")

    page.open(view(client, "facts/edge"))

    page.find(".tray h2", "1 change staged")
    assert "many" in page.find(".tray .diagnostics", "many").text
    page.click(".tray button", "Discard")
    page.gone(".tray")


def test_facts_of_the_program_offer_no_deletion(page: Page, client: Client) -> None:
    """Only input facts can be staged for deletion; signs of a delta stand apart from numbers."""
    page.open(view(client, "facts/edge"))
    page.until("document.querySelectorAll('tr.row').length === 4")
    script = "return [...document.querySelectorAll('tr.row')].map((row) => row.innerText.includes('Delete'))"
    assert page.run(script) == [True, True, True, False]

    page.run("document.querySelectorAll('tr.row')[3].focus()")
    page.press(Keys.DELETE)

    assert not page.find("main").text.count("staged")
    assert page.run("return document.querySelector('#tray').hidden")


def test_leaving_with_staged_changes_asks(page: Page, client: Client) -> None:
    """The page objects to being left while something is staged, and only then."""
    page.open(view(client, "facts/edge"))
    page.find("tr.row")
    asks = "return !window.dispatchEvent(new Event('beforeunload', {cancelable: true}))"
    assert not page.run(asks)

    page.run("document.querySelector('tr.row .act button:last-child').click()")
    page.find(".tray h2")

    assert page.run(asks)
    page.click(".tray button", "Discard")


def test_pictures_of_proofs_are_saved(page: Page, client: Client, tmp_path: Path) -> None:
    """A proof becomes an SVG and a PNG file, drawn by the page itself."""
    folder = {"behavior": "allow", "downloadPath": str(tmp_path)}
    page.driver.execute_cdp_cmd("Browser.setDownloadBehavior", folder)
    page.open(view(client, "why?fact=path(1, 4)"))
    for form, start in (("SVG", b"<svg"), ("PNG", b"\x89PNG")):
        page.click(".bar .menu summary")
        page.click(".bar .menu button", f"Picture ({form})")
        file = tmp_path / f"proof.{form.lower()}"
        page._wait(lambda _, file=file: file.exists(), file.name)

        assert file.read_bytes().startswith(start)


def test_numbers_are_coloured_without_their_dot(page: Page, client: Client) -> None:
    """The dot that ends a fact is no part of its number."""
    page.open(view(client, "rules"))
    page.find(".source li")

    numbers = page.run(
        "return [...document.querySelectorAll('.source .t-number')].map((each) => each.innerText)"
    )
    assert numbers == ["900", "901"]


# --- live -------------------------------------------------------------------------------------------


def test_epochs_made_elsewhere_arrive(page: Page, client: Client, db: Session) -> None:
    """A note says what changed, numbers and facts follow, and an open proof says that it no longer holds."""
    page.open(view(client, "facts/path"))
    page.click("tr.row td", "1")
    page.find(".inspector [role=treeitem]")
    time.sleep(0.3)

    db.apply(insert=["edge(4, 5)"])
    page.find(".toast", "was committed elsewhere")
    page.find("#epoch-badge", "epoch 1")
    page.find(".proof-news", "still holds")
    page.find(".turn .matching", "11 facts")
    db.apply(delete=["edge(1, 2)"])

    page.find(".proof-news", "no longer holds")
    page.find(".relation[data-name=edge] .count", "4")
    page.click(".toast button", "See the difference")
    page.find(".card", "Epoch 2")
    # The browser itself notes that the question about the fact had no success.
    assert all("400" in each for each in page.complaints())


# --- proofs at any depth ----------------------------------------------------------------------------


def test_a_proof_of_1400_levels_is_readable(page: Page) -> None:
    """A long chain is one line that opens where it is clicked; nothing leaves the panel."""
    facts = {"edge": [(each, each + 1) for each in range(STEPS)]}
    with tidelog.open(PROGRAM, facts=facts) as db, serving(db) as client:
        page.open(view(client, f"why?fact=path(0, {STEPS})"))
        page.click(".node.fold", "1,398 steps by path#2")
        page.find(".node.fold", "1,298 steps")
        assert len(page.nodes()) == 103
        page.click("li li li .node.fold", "1,298 steps")
        page.find(".node.fold", "1,198 steps")
        page.find(".way", f"path(0, {STEPS})")

        nodes = "[...document.querySelectorAll('.tree .node')]"
        assert page.run(f"return {nodes}.every((each) => each.scrollWidth <= each.clientWidth + 1)")
        side = "document.querySelector('.tree-side')"
        assert page.run(f"return {side}.scrollWidth <= {side}.clientWidth")
        page.click("[role=tab]", "Input facts")
        page.find(".support", "It rests on 1,400 input facts")
        page.click("button[aria-label='Next input facts']")
        page.find(".support li:last-child", f"edge({STEPS - 1}, {STEPS})")
        page.click("[role=tab]", "Picture")
        page.find(".proof-picture", "1,398 steps")


def test_long_records_wrap_and_show_their_rule(page: Page, client: Client) -> None:
    """However long a fact is, its rule is seen beside it, on a phone too."""
    page.size(*PHONE)
    page.open(view(client, f'why?fact=long([4, "{"x" * 800}"])'))
    page.find(".tree .atom")

    script = """
        const [rule, box] = ['.node .rule-name', '.tree-side'].map((each) => document.querySelector(each));
        return rule.getBoundingClientRect().right <= box.getBoundingClientRect().right + 1;
    """
    assert page.find(".node .rule-name").is_displayed()
    assert page.run(script)


def test_shared_premises_are_marked(page: Page) -> None:
    """A fact that several steps rest on is marked where it is met again, and leads to its first place."""
    program = ".decl a(x: number)\n.input a\n.decl b(x: number)\nb(x) :- a(x).\n"
    program += ".decl c(x: number)\nc(x) :- b(x), x > 0.\n.decl d(x: number)\nd(x) :- b(x), c(x).\n"
    with tidelog.open(program, facts={"a": [(1,)]}) as db, serving(db) as client:
        page.open(view(client, "why?fact=d(1)"))
        page.click(".tree-tools button", "Open more")
        page.click(".node .shared")

        page.until("document.activeElement.innerText.startsWith('b(1)')")
        assert len(page.all(".node .shared")) == 1


# --- a phone, the keyboard --------------------------------------------------------------------------


def test_a_phone_folds_the_relations_away(page: Page, client: Client) -> None:
    """The list opens with a button and closes when a relation is chosen; a proof fills the screen."""
    page.size(*PHONE)
    page.open(client.address)
    page.find("main table")
    assert page.find("#fold").get_attribute("aria-expanded") == "false"
    assert not page.all(".side .relation")[0].is_displayed()

    page.click("#fold")
    page.click(".side .relation", "path")
    page.find("h1", "path")
    page.gone(".side")
    page.click("tr.row td")
    page.find(".inspector [role=treeitem]")

    assert page.run("return document.querySelector('.inspector').getBoundingClientRect().width") == PHONE[0]


def test_the_keyboard_reaches_every_action(page: Page, client: Client) -> None:
    """After `/` and Enter the focus is on the facts; arrows reach actions; single keys can be off."""
    page.open(client.address)
    page.find("main table")
    page.press("/")
    page.press("edge", Keys.ENTER)
    page.until("document.activeElement.matches('tr.row')")
    page.press(Keys.ARROW_RIGHT, Keys.ARROW_RIGHT)
    page.until("document.activeElement.innerText === 'Delete'")
    page.press(Keys.ENTER)
    page.find(".tray h2", "1 change staged")
    page.click(".tray button", "Discard")

    page.press("?")
    page.click("#single-keys")
    page.press(Keys.ESCAPE)
    page.gone("dialog")
    page.run("document.activeElement.blur()")
    page.press("/")

    assert page.run("return document.activeElement.id") != "find-relation"


# --- epochs and the profile -------------------------------------------------------------------------


def test_epochs_are_compared(page: Page, client: Client, db: Session) -> None:
    """Two epochs stand side by side with what they changed and decided; scales are stated."""
    db.apply(insert=["edge(4, 5)"])
    db.apply(delete=["edge(4, 5)"])
    page.open(view(client, "epochs/2"))
    page.find("figcaption", "logarithmic scale")
    assert "\N{MINUS SIGN}0" not in page.find("main").text

    page.click(".compare summary")

    page.find(".compare table", "Stratum of path")
    assert page.find(".compare thead").text.split("\n")[-1].endswith("Epoch 2")
    page.open(view(client, "profile"))
    page.find("figcaption", "Linear scale")
