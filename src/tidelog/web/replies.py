"""What goes over the wire: JSON, and diagnostics as JSON."""

import json
from collections.abc import Iterable, Mapping
from typing import cast

from starlette.responses import Response

from tidelog.errors import Diagnostic, TidelogError
from tidelog.errors.plain import plain_diagnostics
from tidelog.web.schema import DiagnosticReply

# Plain data for JSON: what an explorer's method returns.
Plain = Mapping[str, object]

_STATUS = {
    "wrong-token": 401,
    "read-only-explorer": 403,
    "foreign-host": 403,
    "foreign-origin": 403,
    "no-such-page": 404,
    "no-such-epoch": 404,
    "undeclared-relation": 404,
    "request-too-large": 413,
    "explorer-busy": 503,
    "request-too-slow": 503,
    "internal-error": 500,
}


def diagnostic_replies(diagnostics: Iterable[Diagnostic]) -> list[DiagnosticReply]:
    """Return diagnostics as the schema has them."""
    return cast("list[DiagnosticReply]", plain_diagnostics(diagnostics))


def json_reply(content: Plain, status: int = 200) -> Response:
    """Return a reply that no cache keeps."""
    text = json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return Response(
        text.encode(),
        status_code=status,
        media_type="application/json",
        headers={"cache-control": "no-store"},
    )


def error_reply(error: TidelogError) -> Response:
    """Return the reply for a mistake: all its diagnostics, and a status that fits the first."""
    status = _STATUS.get(error.diagnostics[0].code, 400) if error.diagnostics else 400
    return json_reply({"diagnostics": plain_diagnostics(error.diagnostics)}, status)


def mistake(code: str, message: str, hint: str | None = None) -> TidelogError:
    """Return an error with one diagnostic."""
    return TidelogError([Diagnostic(code=code, message=message, hint=hint)])
