"""What a request says: its body, the page it asks for, numbers in its address."""

import json
from typing import Any, Final

from starlette.requests import Request

from tidelog.web.pages import PageRequest
from tidelog.web.replies import mistake

MOST_FILTER_CHARACTERS: Final = 1000

Body = dict[str, Any]


async def read_data(request: Request, most: int) -> bytes:
    """Return the bytes of a request; a body that grows too long is not read to its end."""
    data = bytearray()
    async for chunk in request.stream():
        data += chunk
        if len(data) > most:
            raise mistake("request-too-large", f"a request has at most {most:,} bytes")
    return bytes(data)


async def read_body(request: Request, most: int) -> Body:
    """Return the JSON object of a request."""
    try:
        body = json.loads(await read_data(request, most))
        # Half a surrogate pair is not text.
        json.dumps(body, ensure_ascii=False).encode()
    except (ValueError, RecursionError) as cause:
        raise mistake("bad-request", "the body is not JSON") from cause
    if not isinstance(body, dict):
        raise mistake("bad-request", "the body is not a JSON object")
    return body


def page_request(request: Request) -> PageRequest:
    """Return which page the address asks for: `?offset=0&limit=100&sort=1,-0&f0=text&f1=>5`.

    A minus before the number of a column sorts it from the largest to the smallest.
    """
    asked = request.query_params
    sorts = [
        (number_in(part.removeprefix("-")), part.startswith("-"))
        for part in asked.get("sort", "").split(",")
        if part
    ]
    filters = [
        (number_in(key[1:]), text[:MOST_FILTER_CHARACTERS])
        for key, text in asked.items()
        if key.startswith("f") and key[1:].isdecimal() and text
    ]
    offset, limit = number_in(asked.get("offset", "0")), number_in(asked.get("limit", "100"))
    return PageRequest(offset, limit, tuple(sorts), tuple(sorted(filters)))


def number_in(text: str) -> int:
    """Return a number of an address."""
    if not text.isdecimal() or len(text) > 15:
        raise mistake("bad-request", f"`{text[:40]}` is not a valid number; it must be 0 or more")
    return int(text)
