"""`tidelog serve`: a session in the browser."""

import sys
import webbrowser
from contextlib import suppress
from dataclasses import replace

from tidelog.cli.sessions import SessionOptions, open_target
from tidelog.cli.start import spare_pandas
from tidelog.dataclass import dataclass
from tidelog.program.suggest import counted
from tidelog.progress import PROGRESS


@dataclass(frozen=True, slots=True)
class ServeOptions:
    """What the command line asked for."""

    session: SessionOptions
    host: str
    port: int
    token: str | None
    may_write: bool
    allowed_hosts: tuple[str, ...]
    opens_browser: bool


def serve_explorer(options: ServeOptions) -> None:
    """Serve a store or program until Ctrl-C, with the address on stdout once it can be opened."""
    # Settings are checked before a long evaluation, and so is whether the packages are there.
    from tidelog.web import WebSettings, check_settings, serve  # noqa: PLC0415 - optional packages

    settings = WebSettings(
        options.host, options.port, options.token, options.may_write, options.allowed_hosts
    )
    check_settings(settings)
    spare_pandas()

    def tell(address: str) -> None:
        can = "facts can be changed" if options.may_write else "read-only"
        sys.stdout.write(f"{address}  ({counted(len(session), 'relation')}, {can}; Ctrl-C stops it)\n")
        sys.stdout.flush()
        if options.opens_browser:
            webbrowser.open(address)

    with open_target(replace(options.session, is_read_only=not options.may_write)) as session:
        # From here on there are messages about requests.
        PROGRESS.show_on(None)
        with suppress(KeyboardInterrupt):
            serve(session, settings, options.session.target.name or "program", tell=tell)
        sys.stderr.write("stopped\n")
