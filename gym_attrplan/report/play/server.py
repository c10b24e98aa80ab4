"""serve: the page on a port of this machine."""

from __future__ import annotations

import socket
import sys
from contextlib import suppress
from importlib.util import find_spec

from gym_attrplan.error import DependencyNotInstalled, InvalidOption
from gym_attrplan.report.play.lobby import Lobby

LOCAL = ("127.0.0.1", "localhost")


def check_page(host: str, port: int) -> None:
    """Say what keeps a page from being served, before anything else is done.

    Raises:
        DependencyNotInstalled: If NiceGUI or Pillow is missing.
        InvalidOption: If the port cannot be had.
    """
    missing = [name for name in ("nicegui", "PIL") if find_spec(name) is None]
    if missing:
        raise DependencyNotInstalled(
            f'the page needs {", ".join(missing)}: pip install "gym_attrplan[play]".'
        )
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            raise InvalidOption(
                f"the page needs a free port; {port} of {host} cannot be had: {error.strerror}. "
                "Give another with --port."
            ) from error


def serve(lobby: Lobby, *, host: str, port: int, show: bool) -> None:
    """Serve the page until it is interrupted.

    Args:
        lobby: What to play.
        host: The address to listen at; with any but this machine's, others may open the page.
        port: The port.
        show: Whether to open a browser.
    """
    from nicegui import app, ui
    from starlette.middleware.trustedhost import TrustedHostMiddleware

    from gym_attrplan.report.play.page import open_page

    if host in LOCAL:
        # Another site's page must not reach this one under a name of its own.
        app.add_middleware(TrustedHostMiddleware, allowed_hosts=LOCAL)
    else:
        print(
            f"warning: everybody who reaches {host} may open the page and play; there is no "
            "password.",
            file=sys.stderr,
        )

    async def page() -> None:
        await open_page(lobby)

    print(f"attrplan play: http://{host}:{port} (Ctrl-C ends it)")
    with suppress(KeyboardInterrupt):
        ui.run(
            page,
            host=host,
            port=port,
            show=show,
            title="attrplan play",
            favicon="🎯",
            reload=False,
            tailwind=False,
            show_welcome_message=False,
            message_history_length=0,  # a page that lost the connection is loaded anew
        )
