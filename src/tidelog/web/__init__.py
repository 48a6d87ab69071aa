"""The web explorer: a session in the browser.

It needs Starlette and uvicorn, which `pip install 'tidelog[web]'` brings.
"""

from tidelog.errors import Diagnostic, TidelogError

try:
    from tidelog.web.app import make_app
    from tidelog.web.server import serve
except ModuleNotFoundError as cause:
    if (cause.name or "").partition(".")[0] not in {"starlette", "uvicorn", "anyio"}:
        raise
    raise TidelogError(
        [
            Diagnostic(
                code="missing-package",
                message=f"the explorer needs the package {cause.name}, which is not installed",
                hint="pip install 'tidelog[web]'",
            )
        ]
    ) from cause
from tidelog.web.settings import Limits, WebSettings, check_settings

__all__ = ["Limits", "WebSettings", "check_settings", "make_app", "serve"]
