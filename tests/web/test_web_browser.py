"""The explorer in a real browser: clicks, keys, colours, and what facts must not be able to do."""

from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("selenium", reason="no selenium: pip install 'tidelog[dev]'")

from selenium.webdriver.common.keys import Keys

import tidelog
from support.web_browser import Page, browsing
from support.web_serving import Client, serving
from tidelog.session import Session
from tidelog.web import WebSettings

POINTSTO = Path(__file__).parents[2] / "examples" / "pointsto"
TOKEN = "a token that nobody guesses"  # noqa: S105 - of these tests


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    """Return the browser that all tests of this file share."""
    with browsing(tmp_path_factory.mktemp("profile")) as page:
        yield page


@pytest.fixture
def page(browser: Page) -> Iterator[Page]:
    """Return the browser, in light colours; whatever it complains about fails the test."""
    browser.scheme("light")
    browser.complaints()
    yield browser
    browser.run("localStorage.clear()")
    assert browser.complaints() == []


@pytest.fixture
def db() -> Iterator[Session]:
    """Return the points-to example."""
    with tidelog.open(POINTSTO / "pointsto.dl", facts=POINTSTO / "facts") as session:
        yield session


@pytest.fixture
def client(db: Session) -> Iterator[Client]:
    """Return an explorer that may write."""
    with serving(db, WebSettings(may_write=True)) as client:
        yield client


def brightness(page: Page) -> float:
    """Return how bright the page's ground is, from 0 to 255."""
    colour = page.run("return getComputedStyle(document.body).backgroundColor.match(/[0-9.]+/g).map(Number)")
    return sum(colour[:3]) / 3


# --- looking ----------------------------------------------------------------------------------------


def test_relations_are_browsed(page: Page, client: Client) -> None:
    """The overview leads to a relation, whose facts are filtered and sorted; the address tells it all."""
    page.open(client.address)
    page.click("main a", "vpt")
    page.until("document.querySelectorAll('tr.row').length === 8")

    page.type(".filter[aria-label='Filter var']", "user")
    page.until("document.querySelectorAll('tr.row').length === 5")
    page.click("th:nth-child(2) .sorter")
    page.until("document.querySelector('th:nth-child(2)').getAttribute('aria-sort') === 'ascending'")
    page.click("th:nth-child(2) .sorter")
    page.until("document.querySelector('tr.row td:nth-child(2)').innerText === 'nullptr'")

    wanted = [
        "superuser nullptr", "userSession nullptr", "superuser L3", "userSession L3", "superuser L2",
    ]  # fmt: skip
    assert page.rows() == wanted
    page.open(page.driver.current_url)
    page.until("document.querySelectorAll('tr.row').length === 5")
    assert page.rows() == wanted


def test_pages_are_turned(page: Page) -> None:
    """Facts come page by page, with the buttons, by number, and with the keys."""
    program = ".decl edge(x: number, y: number)\n.input edge\n"
    facts = {"edge": [(number, number * number) for number in range(1234)]}
    with tidelog.open(program, facts=facts) as db, serving(db) as client:
        page.open(f"{client.address}#/facts/edge")
        page.find(".turn", "1,234 facts")
        page.click("button[aria-label='Next page']")
        page.until("document.querySelector('tr.row td').innerText === '100'")
        page.find(".jump").send_keys("1000", Keys.ENTER)
        page.until("document.querySelector('tr.row td').innerText === '900'")
        page.click("button[aria-label='Last page']")
        page.until("document.querySelector('tr.row td').innerText === '1200'")
        page.run("document.querySelector('tr.row').focus()")
        page.press(Keys.PAGE_UP)
        page.until("document.querySelector('tr.row td').innerText === '1100'")
        page.type(".filter[aria-label='Filter y']", "100..144")
        page.find(".turn", "3 of 1,234 facts")

        assert page.rows() == ["10 100", "11 121", "12 144"]


def test_a_mistake_in_a_filter_is_told(page: Page) -> None:
    """A filter that means nothing is answered beside the facts, which stay."""
    program = ".decl edge(x: number)\n.input edge\n"
    with tidelog.open(program, facts={"edge": [(1,), (2,)]}) as db, serving(db) as client:
        page.open(f"{client.address}#/facts/edge")
        page.type(".filter", "many")

        page.find(".diagnostics", "is not a value of type")
        assert page.rows() == ["1", "2"]
        # The browser itself notes that the answer was no success.
        assert all("400" in each for each in page.complaints())


def test_rules_stand_beside_their_text(page: Page, client: Client) -> None:
    """Choosing a rule marks its lines in the program; a click on a line chooses the rule."""
    page.open(f"{client.address}#/rules")
    page.click(".rule", "load(var, base, field)")
    page.until("document.querySelectorAll('.source li.marked').length === 6")
    assert page.find(".source li.marked").get_attribute("data-line") == "39"

    page.run("document.querySelector('.source li[data-line=\"54\"]').click()")

    page.until("document.querySelector('.rule[aria-current]').innerText.includes('safevar')")


# --- proofs -----------------------------------------------------------------------------------------


def test_a_fact_is_clicked_for_its_proof(page: Page, client: Client) -> None:
    """The proof opens beside the facts, node by node, and closes again; the rule's line is marked."""
    page.open(f"{client.address}#/facts/alias")
    page.click("tr.row td", "userSession")
    page.find(".inspector h2", "alias(")
    page.until("document.querySelectorAll('.tree .atom').length > 3")
    assert page.find(".inspector .source li.marked").text.strip().startswith("alias(var1, var2)")
    closed = page.nodes()

    page.click(".tree li li[aria-expanded='false'] .arrow")
    page.until(f"document.querySelectorAll('.tree .atom').length > {len(closed)}")
    page.click(".tree li li[aria-expanded='true'] .arrow")
    page.until(f"document.querySelectorAll('.tree .atom').length === {len(closed)}")

    assert page.nodes() == closed
    page.click("button[aria-label='Close the proof']")
    page.gone(".inspector")


def test_the_keyboard_is_enough_for_a_proof(page: Page, client: Client) -> None:
    """A relation is found, a fact chosen, and its proof opened and left, without a mouse."""
    page.open(client.address)
    page.find("main table")
    page.press("/")
    page.press("safe", Keys.ENTER)
    page.find("h1", "safevar")
    page.until("document.querySelectorAll('tr.row').length === 3")
    page.run("document.querySelector('tr.row').focus()")
    page.press(Keys.ARROW_DOWN, Keys.ENTER)
    page.find(".inspector h2", 'safevar("ins")')
    page.until("document.activeElement.getAttribute('role') === 'treeitem'")
    assert page.nodes() == ['safevar("ins")', 'vpt("ins", "L3")', '!vpt("ins", "nullptr")']

    page.press(Keys.ARROW_DOWN, Keys.ARROW_RIGHT)
    page.until("document.querySelectorAll('.tree .atom').length === 4")
    page.press(Keys.ARROW_RIGHT)
    page.until("document.querySelector('.details .words').innerText.includes('input fact')")
    page.press(Keys.ARROW_LEFT, Keys.ARROW_LEFT)
    page.until("document.querySelectorAll('.tree .atom').length === 3")
    page.press(Keys.ESCAPE)

    page.gone(".inspector")
    page.until("document.activeElement.matches('tr.row') && document.activeElement.innerText.includes('ins')")


def test_a_proof_tells_its_support_and_other_derivations(page: Page, client: Client) -> None:
    """The input facts at the leaves, and other ways to the same fact, are one click away."""
    page.open(f'{client.address}#/why?fact=vpt("superuser","L3")')
    page.find(".tree .atom")
    page.click("[role=tab]", "Input facts")
    page.find(".support strong", "input facts")
    assert page.find(".support li", 'new("ins", "L3")')

    page.click("[role=tab]", "Derivations")
    page.until("document.querySelectorAll('.tree').length > 1")
    page.click("[role=tab]", "Proof")

    page.until("document.querySelectorAll('.tree').length === 1")
    assert all(each.is_enabled() for each in page.all(".bar button"))


def test_why_not_is_asked_with_suggestions(page: Page, client: Client) -> None:
    """The form offers the column's values, and the answer marks what holds and what is missing."""
    page.open(f"{client.address}#/why-not?relation=vpt")
    first = page.find("input[name='value-0']")
    first.send_keys("userS")
    page.until("document.querySelector('datalist[id^=values-] option')?.value === 'userSession'")
    first.send_keys("ession")
    page.find("input[name='value-1']").send_keys("L4", Keys.ENTER)

    page.find("p.verdict", 'vpt("userSession", "L4") does not hold')
    page.until("document.querySelectorAll('.tree .mark.holds').length > 0")
    missing = page.find(".tree .node.literal", 'vpt("ins", "L4")')
    assert "is missing" in missing.text
    page.until("document.querySelector('.source li.marked')?.dataset.line === '38'")


def test_a_fact_that_holds_has_no_refutation(page: Page, client: Client) -> None:
    """Asking why not of a fact that holds says so and leads to its proof."""
    page.open(f'{client.address}#/why-not?fact=vpt("ins","L3")')
    page.find(".verdict", "holds")
    assert page.all(".diagnostics") == []
    page.click("a", "Why does it hold?")

    page.find(".tree .atom", 'vpt("ins", "L3")')


# --- changes ----------------------------------------------------------------------------------------


def test_facts_are_inserted_and_deleted(page: Page, client: Client, db: Session) -> None:
    """Changes are staged, committed together, shown as a difference, and taken back."""
    page.open(f"{client.address}#/facts/new")
    page.click("button", "Insert facts")
    page.type("form.insert input[name='value-0']", "guest")
    page.type("form.insert input[name='value-1']", "L2")
    page.press(Keys.ENTER)
    page.find(".tray h2", "1 change staged")
    page.run("[...document.querySelectorAll('tr.row')].find((row) => row.innerText.includes('sec')).focus()")
    page.press(Keys.DELETE)
    page.find(".tray h2", "2 changes staged")
    assert db.epoch == 0

    page.chord(Keys.CONTROL, Keys.ENTER)
    page.find(".toast", "Epoch 1")
    page.find("#epoch-badge", "epoch 1")
    assert ("guest", "L2") in db["new"]
    assert ("sec", "L2") not in db["new"]
    page.click(".toast button", "See the difference")
    page.find(".tick[aria-selected='true'] .number", "1")
    page.click(".changed-relation", "vpt")
    page.find(".row.minus", "sec")
    page.find(".row.plus", "guest")

    page.click("main button", "Take back")
    page.find("#epoch-badge", "epoch 2")
    page.until("document.querySelectorAll('.tick').length === 2 && document.querySelector('.delta tr.row')")
    assert set(db["new"]) == {
        ("admin", "L1"), ("ins", "L3"), ("sec", "L2"), ("superuser", "nullptr"), ("userSession", "nullptr"),
    }  # fmt: skip


def test_a_wrong_change_is_told_in_the_tray(page: Page) -> None:
    """A value that does not fit its column is told, and the change can be taken out of the tray."""
    program = ".decl edge(x: number, y: symbol)\n.input edge\n"
    with tidelog.open(program) as db, serving(db, WebSettings(may_write=True)) as client:
        page.open(f"{client.address}#/facts/edge")
        page.click("button", "Insert facts")
        page.type("form.insert input[name='value-0']", "many")
        page.press(Keys.ENTER)
        page.click("#commit")

        page.find(".tray .diagnostics", "many")
        page.click(".tray li button")
        page.gone(".tray")
        assert db.epoch == 0
        assert all("400" in each for each in page.complaints())


def test_epochs_are_a_timeline(page: Page, client: Client, db: Session) -> None:
    """Each epoch is a bar; arrows move along them and show each one's delta."""
    db.apply(insert=['new("x", "L9")'])
    db.apply(insert=['assign("sec", "x")'])
    db.apply(delete=['new("x", "L9")'])
    page.open(f"{client.address}#/epochs")
    page.find(".card", "Epoch 3")
    assert len(page.all(".tick")) == 3

    page.run("document.querySelector('.tick[aria-selected=\"true\"]').focus()")
    page.press(Keys.ARROW_LEFT)
    page.find(".card", "Epoch 2")
    page.press(Keys.HOME)
    page.find(".card", "Epoch 1")

    page.until("location.hash.startsWith('#/epochs/1')")
    page.find(".row.plus", "L9")


def test_a_fact_of_a_delta_is_blamed_and_repaired(page: Page) -> None:
    """From a delta one asks which changes brought a fact, and stages the repair."""
    settings = WebSettings(may_write=True)
    with (
        tidelog.open(POINTSTO / "pointsto.dl", facts=POINTSTO / "facts") as db,
        serving(db, settings) as client,
    ):
        db.apply(insert=['new("x", "L9")', 'assign("sec", "x")', 'new("other", "L8")'])
        page.open(f"{client.address}#/epochs/1/alias")
        page.find(".row.plus", "sec")
        page.run("document.querySelector('.row.plus .act button:last-child').click()")

        page.find("section[aria-label='Blame'] .script", 'new("x", "L9")')
        assert 'new("other", "L8")' not in page.find("section[aria-label='Blame']").text
        page.find("section[aria-label='Repair'] strong", "Take back 1 change")
        page.click("section[aria-label='Repair'] .repair button", "Stage this repair")
        page.click("#commit")
        page.find(".toast", "Epoch 2")

        assert ("sec", "x") not in db["alias"]


def test_without_write_nothing_can_be_staged(page: Page, db: Session) -> None:
    """A read-only explorer offers no changes."""
    with serving(db) as client:
        page.open(f"{client.address}#/facts/new")
        page.until("document.querySelectorAll('tr.row').length === 5")

        assert page.find(".badge.reads").text == "read-only"
        assert not [each for each in page.all("button") if each.text in ("Insert facts", "Delete")]


# --- colours, names, safety -------------------------------------------------------------------------


def test_colours_follow_the_system_and_the_choice(page: Page, client: Client) -> None:
    """Dark and light come from the system unless chosen; the choice outlives the page."""
    page.scheme("dark")
    page.open(client.address)
    page.find("main table")
    assert brightness(page) < 60
    page.scheme("light")
    page.until("matchMedia('(prefers-color-scheme: light)').matches")
    assert brightness(page) > 200

    page.click("#theme")
    page.click("#theme")
    assert page.find("#theme").get_attribute("aria-label").startswith("Colours: dark")
    assert brightness(page) < 60
    page.open(client.address)
    page.find("main table")
    assert brightness(page) < 60


def test_facts_are_never_markup(page: Page) -> None:
    """Values that look like HTML or script are shown as they are, everywhere."""
    attacks = [
        '<img src=x onerror="window.hacked=1">',
        "<script>window.hacked=1</script>",
        "</td><svg onload=window.hacked=1>",
        "javascript:window.hacked=1",
        "'\"><b>bold</b>",
    ]
    program = ".decl text(x: symbol)\n.input text\n.decl same(x: symbol)\nsame(x) :- text(x).\n"
    with tidelog.open(program, facts={"text": [(each,) for each in attacks]}) as db:
        db.apply(insert={"text": [("<i>late</i>",)]})
        with serving(db, WebSettings(may_write=True)) as client:
            page.open(f"{client.address}#/facts/same")
            page.until("document.querySelectorAll('tr.row').length === 6")
            assert set(page.rows()) == {*attacks, "<i>late</i>"}
            for row in range(6):
                page.run(f"document.querySelectorAll('tr.row')[{row}].click()")
                page.until("document.querySelectorAll('.tree .atom').length === 2")
                page.run("document.querySelector('button[aria-label=\"Close the proof\"]').click()")
            page.open(f"{client.address}#/epochs/1/same")
            page.find(".row.plus", "<i>late</i>")
            page.open(f"{client.address}#/facts/{'<img src=x onerror=window.hacked=1>'}")
            page.find(".diagnostics", "<img src=x")

            assert page.run("return window.hacked") is None
            assert page.all("main img, main script, main svg[onload], main b, main i") == []
            assert all("404" in each for each in page.complaints())


def test_nothing_comes_from_elsewhere(page: Page, client: Client) -> None:
    """Every file of the page is served by the explorer itself."""
    page.open(f"{client.address}#/facts/vpt")
    page.find("tr.row")

    loaded = page.run("return performance.getEntriesByType('resource').map((each) => each.name)")
    assert loaded
    assert [each for each in loaded if not each.startswith(client.address)] == []


def test_the_token_is_asked_for(page: Page, db: Session) -> None:
    """With a token the page asks for it, says when it is wrong, and then shows the facts."""
    with serving(db, WebSettings(token=TOKEN)) as client:
        page.open(client.address)
        page.type("#token", "something else")
        page.press(Keys.ENTER)
        refused = page.find(".wrong", "not the token").is_displayed()
        page.type("#token", TOKEN)
        page.press(Keys.ENTER)

        assert refused
        assert page.find("main a", "vpt").is_displayed()


def test_the_profile_is_drawn(page: Page) -> None:
    """Pictures of a measured session are part of the page, and nothing of them is refused by its policy."""
    with (
        tidelog.open(POINTSTO / "pointsto.dl", facts=POINTSTO / "facts", profile=True) as session,
        serving(session, WebSettings()) as client,
    ):
        page.open(client.address)
        page.click("nav.views a", "Profile")
        drawn = "[...document.querySelectorAll('.picture img')].filter((each) => each.naturalWidth > 300)"
        page.until(f"{drawn}.length === 3")
        rules = page.run("return document.querySelectorAll(\"table[aria-label='Rules'] tbody tr\").length")
        assert rules >= 4
