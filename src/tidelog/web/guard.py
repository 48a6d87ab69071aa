"""Who may ask: the checks every request passes before anything is done for it."""

import hashlib
import hmac
from ipaddress import ip_address
from socket import getfqdn, gethostname
from typing import Final

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import cookie_parser
from starlette.responses import RedirectResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tidelog.dataclass import dataclass
from tidelog.errors import TidelogError
from tidelog.web.replies import error_reply, mistake
from tidelog.web.settings import WebSettings

# Nothing is loaded from elsewhere, no script or style stands in a page, and no text becomes HTML. The
# page draws pictures of its own (blob:) to save them.
_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; connect-src 'self';"
    " base-uri 'none'; form-action 'self'; frame-ancestors 'none'; require-trusted-types-for 'script';"
    " trusted-types 'none'"
)
# The referrer stays here; without any, a form of our own page would come with the origin `null`.
_HEADERS: Final = {
    "content-security-policy": _POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}
# What a visitor without a token may load: the page that asks for it.
_OPEN: Final = frozenset({"/login", "/static/base.css", "/static/login.css", "/static/icon.svg"})
_READS: Final = frozenset({"GET", "HEAD"})
_FETCH_SITE: Final = "sec-fetch-site"
_CONTENT_TYPE: Final = "content-type"
_CONTENT_LENGTH: Final = "content-length"
_MOST_DIGITS: Final = 18


@dataclass(frozen=True, slots=True)
class Pass:
    """What a token is worth; the cookie does not hold the token itself."""

    token: str
    port: int

    @property
    def cookie(self) -> str:
        """Return the cookie's name: explorers on several ports of one machine do not disturb each other."""
        return f"tidelog_{self.port}"

    @property
    def stamp(self) -> str:
        """Return the cookie's value."""
        return hmac.new(self.token.encode(), b"tidelog explorer", hashlib.sha256).hexdigest()

    def is_token(self, text: str) -> bool:
        """Say whether a text is the token, in a time that tells nothing about it."""
        return hmac.compare_digest(text.encode(), self.token.encode())

    def admits(self, headers: Headers) -> bool:
        """Say whether a request carries the token, or the cookie given for it."""
        scheme, _, word = headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer":
            return self.is_token(word.strip())
        found = cookie_parser(headers.get("cookie", "")).get(self.cookie, "")
        return hmac.compare_digest(found.encode(), self.stamp.encode())


class RequestGuard:
    """An ASGI application that lets through what is allowed and adds headers to every reply."""

    def __init__(self, app: ASGIApp, settings: WebSettings) -> None:
        self._app = app
        self._settings = settings
        self._pass = None if settings.token is None else Pass(settings.token, settings.port)
        self._hosts = _own_names(settings)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request through, or answer it here."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
        if scope["type"] != "http":
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers[name] = value
            await send(message)

        headers = Headers(scope=scope)
        try:
            self._check(scope, headers)
        except TidelogError as error:
            reply = error_reply(error)
            if error.diagnostics[0].code == "wrong-token" and _is_page(scope):
                reply = RedirectResponse("/login", status_code=303)
            await reply(scope, receive, send_with_headers)
            return
        await self._app(scope, receive, send_with_headers)

    def _check(self, scope: Scope, headers: Headers) -> None:
        host = headers.get("host", "")
        if not self._is_own(host):
            raise mistake(
                "foreign-host",
                f"the explorer is not known as `{host[:200]}`",
                "open it as the address it printed, or name the host with --allow-host",
            )
        if self._pass is not None and scope["path"] not in _OPEN and not self._pass.admits(headers):
            raise mistake("wrong-token", "the explorer asks for its token", "open /login in the browser")
        if scope["method"] not in _READS:
            self._check_write(scope, headers, host)

    def _check_write(self, scope: Scope, headers: Headers, host: str) -> None:
        origin = headers.get("origin")
        is_own = origin is None or origin.partition("://")[2] == host
        if not is_own or headers.get(_FETCH_SITE, "same-origin") not in ("same-origin", "none"):
            raise mistake("foreign-origin", "another site's page cannot ask the explorer for anything")
        kind = headers.get(_CONTENT_TYPE, "").partition(";")[0].strip().lower()
        # A form of another site can send anything but JSON.
        if scope["path"] != "/login" and kind != "application/json":
            raise mistake("bad-request", "a request with a body is sent as application/json")
        length = headers.get(_CONTENT_LENGTH, "0")
        most = self._settings.limits.body_bytes
        # A number with so many digits is too large, and Python refuses to read it.
        if not length.isdecimal() or len(length) > _MOST_DIGITS or int(length) > most:
            raise mistake("request-too-large", f"a request has at most {most:,} bytes")

    def _is_own(self, host: str) -> bool:
        name = _name_of(host)
        if name in self._hosts:
            return True
        # A page that rebinds its domain name to this machine sends the name, never an address.
        return not self._settings.is_loopback and _is_address(name)


def _own_names(settings: WebSettings) -> frozenset[str]:
    names = {"localhost", "127.0.0.1", "::1", settings.host.strip("[]").lower()}
    names.update(name.lower() for name in settings.allowed_hosts)
    if not settings.is_loopback:
        names.update((gethostname().lower(), getfqdn().lower()))
    return frozenset(names)


def _name_of(host: str) -> str:
    """Return a Host header without its port and brackets."""
    if host.startswith("["):
        return host[1:].partition("]")[0].lower()
    return host.partition(":")[0].lower()


def _is_address(name: str) -> bool:
    try:
        ip_address(name)
    except ValueError:
        return False
    return True


def _is_page(scope: Scope) -> bool:
    return scope["method"] in _READS and not scope["path"].startswith(("/api/", "/static/"))
