"""What the dashboard's server has besides Streamlit: routes, limits, and its begin and end.

Nothing here may import a module that registers a component: there is no runtime yet to have it.
"""

from __future__ import annotations

import asyncio
import logging
import signal
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from importlib import import_module
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

import streamlit as st
from starlette.datastructures import MutableHeaders
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import BaseRoute, Route, WebSocketRoute
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ecv_core.access.settings import settings
from ecv_core.figures.palette import css_variables
from ecv_core.jobs.manager import RUN
from ecv_core.records.errors import EcvError
from ecv_core.untrusted.limits import max_upload_bytes
from pages.shared.live.classroom import classroom_routes, phone_listener
from pages.shared.live.events import events
from pages.shared.live.health import give_back_memory, healthz, metrics, tell_systemd
from pages.shared.live.state import base_path, manager
from pages.shared.live.tabs import tabs

log = logging.getLogger(__name__)

PLOTLY = f"plotly-{version('plotly')}.min.js"
"""Address of plotly.js: browsers keep it, and a newer one has another."""
_FOREVER = "public, max-age=31536000, immutable"


def end_where_settings_are_wrong() -> None:
    """Exit code 2 and one sentence; a dashboard that is for nobody knows whom does not start."""
    try:
        settings()
        max_upload_bytes()
    except EcvError as error:
        sys.stderr.write(f"{error}\n")
        sys.exit(2)


def routes() -> list[BaseRoute]:
    """What pages ask this server for."""
    base = base_path()
    return [
        WebSocketRoute(f"{base}/events", events.serve_page),
        Route(f"{base}/{PLOTLY}", _plotly),
        Route(f"{base}/healthz", healthz),
        Route(f"{base}/metrics", metrics),
        *classroom_routes(base),
    ]


def middleware() -> list[Middleware]:
    """What every request goes through first."""
    return [Middleware(tabs.guard), Middleware(_Styled)]


STYLE = css_variables() + Path(__file__).with_name("look.css").read_text("utf-8")
"""The style of all pages: the colours of charts by name, and look.css."""
_STYLE_ELEMENT = f"<style>{STYLE}</style>".encode()


class _Styled:
    """Ends the page that Streamlit serves with our style, so that everything is where it belongs.

    A style that the script sends comes after the first paint, and moves what is painted: Streamlit
    begins with a narrow page, too.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["method"] == "GET":
            headers = MutableHeaders(raw=list(scope["headers"]))
            if "text/html" in headers.get("accept", ""):
                # The style cannot be added to a compressed page: an uncompressed one is asked for.
                del headers["accept-encoding"]
                scope = {**scope, "headers": headers.raw}
                send = _with_style(send)
        await self._app(scope, receive, send)


def _with_style(send: Send) -> Send:
    """Sends the messages of a response; where that is a page, the style comes at its end."""
    is_page = False

    async def send_styled(message: Message) -> None:
        nonlocal is_page
        # A response has a message with its headers, and then those with its body.
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            is_html = headers.get("content-type", "").startswith("text/html")
            is_page = is_html and message["status"] == 200 and "content-length" in headers
            if is_page:
                length = int(headers["content-length"]) + len(_STYLE_ELEMENT)
                headers["content-length"] = str(length)
        elif is_page and not message.get("more_body"):  # this message is the end of the page
            message = {**message, "body": message.get("body", b"") + _STYLE_ELEMENT}
        await send(message)

    return send_styled


@asynccontextmanager
async def lifespan(_app: st.App) -> AsyncIterator[None]:
    """What runs besides the pages for as long as the server does."""
    _log_with_run_ids()
    allow_open_files()
    # Phones that follow a lecture are served on the loop of this server, from the first lecture on.
    phone_listener.loop = asyncio.get_running_loop()
    with _end_when_terminal_closes():
        starting = asyncio.create_task(asyncio.to_thread(_start_manager_and_load_pages))
        background_work = asyncio.gather(
            events.tell_pages_of_changes(), tell_systemd(), give_back_memory()
        )
        try:
            yield  # the server runs here until it is told to end
        finally:
            background_work.cancel()
            with suppress(asyncio.CancelledError):
                await background_work
            await starting  # its thread cannot be cancelled, and may be making the run manager
            await phone_listener.end()
            with suppress(EcvError):  # without a database there is no run manager to close
                run_manager = await asyncio.to_thread(manager)
                await asyncio.to_thread(run_manager.close)


MOST_OPEN_FILES = 8192
"""Files and sockets that are open at once, at most: of each tab two sockets and three more handles,
which Streamlit keeps for two minutes longer; and the sockets of a lecture."""


def allow_open_files() -> None:
    """Let this process have so many, where the system allows it more than it gives at first.

    That is 1,024 on most, of which 250 tabs leave none.
    """
    try:
        resource = import_module("resource")
    except ImportError:  # Windows has no such limit
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    files = MOST_OPEN_FILES
    if hard != resource.RLIM_INFINITY:
        files = min(files, hard)
    if soft != resource.RLIM_INFINITY and soft < files:
        resource.setrlimit(resource.RLIMIT_NOFILE, (files, hard))


def _log_with_run_ids() -> None:
    """Lines of the library and of pages go to stderr, each with the run that it is about."""

    def name_run(record: logging.LogRecord) -> bool:
        run_id = RUN.get()
        record.run = ""
        if run_id:
            record.run = f"run {run_id}: "
        return True  # a filter that returns True lets the line pass

    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(run)s%(message)s"))
    handler.addFilter(name_run)
    for name in ("ecv_core", "pages"):
        logger = logging.getLogger(name)
        logger.setLevel(logging.INFO)
        logger.handlers = [handler]
        logger.propagate = False


_AHEAD = ("best.live", "folds.view", "replay.view", "run.settings", "runs.history", "studies.view")
"""Modules of pages that load most of what any page needs: half a second to two of a processor."""


def _start_manager_and_load_pages() -> None:
    """Start the run manager, and load what pages will need."""
    try:
        manager()
    except EcvError as error:  # pages show the error, and work once the database is there
        log.error("%s", error)
    for name in _AHEAD:
        import_module(f"pages.{name}")


@contextmanager
def _end_when_terminal_closes() -> Iterator[None]:
    """A terminal that is closed ends the server as Ctrl-C in it does."""
    hang_up = getattr(signal, "SIGHUP", None)
    # Windows has no such signal, and under nohup it is ignored already.
    if hang_up is None or signal.getsignal(hang_up) is not signal.SIG_DFL:
        yield
        return
    signal.signal(hang_up, _terminate)
    try:
        yield
    finally:
        signal.signal(hang_up, signal.SIG_DFL)


def _terminate(*_: object) -> None:
    signal.raise_signal(signal.SIGTERM)


async def _plotly(_request: Request) -> Response:
    """plotly.js as the installed plotly package has it."""
    # The spec says where plotly is installed, without the time that importing it takes. It is one
    # of the packages that e-fold needs, so that both are known.
    spec = find_spec("plotly")
    assert spec is not None
    assert spec.origin is not None
    file = Path(spec.origin).parent / "package_data" / "plotly.min.js"
    return FileResponse(file, media_type="text/javascript", headers={"Cache-Control": _FOREVER})
