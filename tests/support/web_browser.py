"""A real browser for the tests, where one can be had."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from selenium import webdriver
from selenium.common.exceptions import ElementClickInterceptedException, StaleElementReferenceException
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.ui import WebDriverWait

_FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    # A script goes from page to page quicker than the browser thinks people can.
    "--disable-ipc-flooding-protection",
    "--window-size=1440,900",
)
_WAIT_SECONDS = 60


class Page:
    """What a person sees and does: elements are named by CSS selectors or by their words."""

    def __init__(self, driver: webdriver.Chrome) -> None:
        self.driver = driver

    def open(self, address: str) -> None:
        """Load an address from scratch."""
        self.driver.get("about:blank")
        self.driver.get(address)

    def all(self, selector: str) -> list[WebElement]:
        """Return the elements that fit now."""
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def find(self, selector: str, words: str | None = None) -> WebElement:
        """Return the first visible element that fits and has the words, waiting for it."""

        def look(_: object) -> WebElement | None:
            for element in self.all(selector):
                if element.is_displayed() and (words is None or words in element.text):
                    return element
            return None

        found = self._wait(look, f"{selector} {words or ''}")
        assert isinstance(found, WebElement)
        return found

    def gone(self, selector: str) -> None:
        """Wait until nothing fits any more."""
        self._wait(lambda _: not any(each.is_displayed() for each in self.all(selector)), f"no {selector}")

    def until(self, script: str) -> None:
        """Wait until an expression of the page is true."""
        self._wait(lambda _: self.run(f"return {script}"), script)

    def click(self, selector: str, words: str | None = None) -> None:
        """Click an element as a person does, once it stands still."""

        def click(_: object) -> bool:
            self.find(selector, words).click()
            return True

        self._wait(click, f"a click on {selector} {words or ''}")

    def press(self, *keys: str) -> None:
        """Press keys wherever the focus is."""
        for key in keys:
            self.driver.switch_to.active_element.send_keys(key)

    def chord(self, *keys: str) -> None:
        """Press keys together."""
        webdriver.ActionChains(self.driver).key_down(keys[0]).send_keys(*keys[1:]).key_up(keys[0]).perform()

    def type(self, selector: str, text: str) -> WebElement:
        """Put a text into a field in the place of what it has."""
        element = self.find(selector)
        element.send_keys(Keys.CONTROL, "a")
        element.send_keys(text)
        return element

    def run(self, script: str) -> Any:
        """Return what a script of the test gives."""
        return self.driver.execute_script(script)

    def rows(self, selector: str = "main .facts") -> list[str]:
        """Return the facts shown in a table, each as its cells with a space between."""
        script = f"""
            return [...document.querySelectorAll({selector + " tr.row"!r})]
                .map((row) => [...row.querySelectorAll('td:not(.act)')])
                .map((cells) => cells.map((cell) => cell.innerText).join(' '));
        """
        found = self.run(script)
        assert isinstance(found, list)
        return found

    def nodes(self) -> list[str]:
        """Return the atoms of the proof that is shown, from top to bottom."""
        found = self.run("return [...document.querySelectorAll('.tree .atom')].map((each) => each.innerText)")
        assert isinstance(found, list)
        return found

    def size(self, width: int, height: int) -> None:
        """Give the window another size, smaller than a window can be perhaps."""
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)

    def scheme(self, name: str) -> None:
        """Let the system ask for light or dark."""
        features = [{"name": "prefers-color-scheme", "value": name}]
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})

    def complaints(self) -> list[str]:
        """Return what the browser complained about since the last call, the policy's refusals too.

        A question that the page asks late, when the test has ended its server, is not one.
        """
        severe = [each["message"] for each in self.driver.get_log("browser") if each["level"] == "SEVERE"]
        return [message for message in severe if not message.endswith("net::ERR_CONNECTION_REFUSED")]

    def _wait(self, condition: Any, words: str) -> object:
        # The page may draw anew between two looks at an element.
        moving = (StaleElementReferenceException, ElementClickInterceptedException)
        waiting = WebDriverWait(self.driver, _WAIT_SECONDS, 0.05, ignored_exceptions=moving)
        return waiting.until(condition, f"waited for {words}")


@contextmanager
def browsing(profile: Path) -> Iterator[Page]:
    """Start a browser with a new profile, or skip the test with the reason."""
    browser = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    driver = shutil.which("chromedriver")
    if browser is None or driver is None:
        pytest.skip("no Chromium with chromedriver: install chromium and chromium-driver (Debian's names)")
    options = webdriver.ChromeOptions()
    options.binary_location = browser
    for flag in (*_FLAGS, f"--user-data-dir={profile}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    started = webdriver.Chrome(options=options, service=Service(driver))
    try:
        yield Page(started)
    finally:
        started.quit()
