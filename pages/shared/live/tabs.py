"""Open tabs and uploads: how many tabs there may be, who may send files, how much is held.

A browser gets a name in a cookie with the page, and that of a visitor a secret. A tab is a
WebSocket of that browser; it gets a name of its own in a header, by which the page's script says
whether the person may upload. An upload comes with the browser's cookie, and so belongs to the
tabs of that browser.
"""

from __future__ import annotations

from asyncio import Event
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from ipaddress import IPv6Address, IPv6Network
from secrets import token_urlsafe

from h11 import LocalProtocolError
from starlette.datastructures import MutableHeaders
from starlette.requests import ClientDisconnect, HTTPConnection, Request
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ecv_core.access.settings import Mode, settings
from ecv_core.records.errors import EcvError
from ecv_core.untrusted.limits import MEGABYTE, max_upload_bytes
from pages.shared.live.classroom import PATH as CLASSROOM

TAB_HEADER = "x-ecv-tab"
"""The header with a tab's name; whatever a browser says there is dropped."""
BROWSER = "ecv_browser"
"""The cookie with a browser's name."""
VISITOR = "ecv_visitor"
"""The cookie with the secret of a visitor of a public dashboard; see person.py."""
_VISITOR_DAYS = 30
"""That a browser keeps it."""
_SIGNED_IN = "/oauth2callback"
"""Where Streamlit ends a sign-in: the browser gets another name, as others may have set the old."""
MOST_OF_AN_ADDRESS = 20
"""Sockets of one kind (pages, their events) that strangers of one address may have open.

A stranger is everybody to a public dashboard, whoever has not signed in to a team's, and a tab
that has not yet said anything to any.
"""
MOST_ON_A_PATH = 400
"""Sockets of one kind that may be open on any dashboard."""
BROWSERS_AT_ONCE = 4
"""So many times the largest file may be held, of all browsers together."""
_BYTES_BESIDE_FILE = MEGABYTE
"""Bytes of a form beside the file that it has."""
_EVENTS = "/events"
_ONE_HOUSEHOLD = 64
"""Bits of an IPv6 address that a provider gives to one customer at least, by RFC 6177."""
_TRY_AGAIN_LATER = 1013
"""Close code of a WebSocket, by RFC 6455's registry."""


@dataclass(eq=False)
class Tab:
    """An open WebSocket of a page."""

    path: str
    address: str
    """That it comes from: its household's."""
    browser: str
    may_upload: bool = False
    member: bool = False
    """Whether its person is no stranger: of the team, or whose dashboard it is."""


@dataclass(frozen=True, eq=False)
class Upload:
    """A file that is held, or on its way."""

    browser: str
    size: int
    """In bytes, a megabyte at least."""
    request: Scope
    """What brought it, and so where it is deleted."""


class Tabs:
    """All of this process. Only `admit` is called by other threads than the server's loop."""

    def __init__(self) -> None:
        """None is open."""
        self._tabs: dict[str, Tab] = {}
        self._uploads: dict[str, Upload] = {}
        """Path -> its upload, the oldest first."""

    def __len__(self) -> int:
        """How many are open; their sockets for events are not counted."""
        return sum(not tab.path.endswith(_EVENTS) for tab in self._tabs.values())

    @property
    def held_bytes(self) -> int:
        """Bytes of all uploads that are held."""
        return sum(upload.size for upload in list(self._uploads.values()))

    def admit(self, name: str, *, member: bool, upload: bool) -> None:
        """Say what the person of a tab may do; a name that no open tab has is left alone.

        Args:
            name: What the header `TAB_HEADER` of its socket says.
            member: Whether the person is no stranger.
            upload: Whether the person may send files.
        """
        tab = self._tabs.get(name)
        if tab is not None:
            tab.member = member
            tab.may_upload = upload

    def guard(self, app: ASGIApp) -> ASGIApp:
        """The middleware. Files alone are put and deleted here."""

        async def guarded(scope: Scope, receive: Receive, send: Send) -> None:
            if scope["type"] == "websocket":
                await self._serve_socket(app, scope, receive, send)
            elif scope["type"] != "http":
                await app(scope, receive, send)
            elif scope["method"] == "PUT":
                await self._serve_upload(app, scope, receive, while_connected(send))
            else:
                answer = with_cookies(scope, while_connected(send))
                if scope["method"] == "DELETE":
                    # A file is no longer counted once Streamlit has deleted it.
                    answer = on_success(answer, partial(self._uploads.pop, scope["path"], None))
                await app(without_cache_conditions(scope), receive, answer)

        return guarded

    async def _serve_socket(self, app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
        """Open a tab, if there may be one more; its browser's files go with its last tab."""
        address = ""
        if scope.get("client"):
            address, _ = scope["client"]
        tab = Tab(path=scope["path"], address=household_of(address), browser=browser_of(scope))
        if self._exceeds_limits(tab):
            await receive()  # the message that it wants to connect
            await send({"type": "websocket.close", "code": _TRY_AGAIN_LATER})
            return
        name = token_urlsafe(16)
        headers = MutableHeaders(raw=list(scope["headers"]))
        # `admit` is called with this name, to say what the person of this tab may do.
        headers[TAB_HEADER] = name
        self._tabs[name] = tab
        try:
            await app({**scope, "headers": headers.raw}, receive, while_open(send))
        finally:
            del self._tabs[name]
            if not self._tabs_of(tab.browser):
                for path in self._paths_of_uploads(tab.browser):
                    await self._delete_upload(app, path)

    def _exceeds_limits(self, tab: Tab) -> bool:
        """Whether there are as many sockets of its kind as there may be, without this one."""
        # Members may open any number of tabs from one address, and strangers only so many.
        browsers_of_members = self._browsers_of_members()
        sockets_on_path = 0
        strangers_at_address = 0
        for other in self._tabs.values():
            if other.path != tab.path:
                continue
            sockets_on_path += 1
            if other.address == tab.address and other.browser not in browsers_of_members:
                strangers_at_address += 1
        if sockets_on_path >= MOST_ON_A_PATH:
            return True
        if tab.browser in browsers_of_members or CLASSROOM in tab.path:
            # All phones in a hall share one address, and they need the code of the lecture.
            return False
        return strangers_at_address >= MOST_OF_AN_ADDRESS

    def _browsers_of_members(self) -> set[str]:
        browsers = set()
        for tab in self._tabs.values():
            if tab.member and tab.browser:  # a tab without a cookie has no browser's name
                browsers.add(tab.browser)
        return browsers

    def _tabs_of(self, browser: str) -> list[Tab]:
        return [tab for tab in self._tabs.values() if tab.browser == browser]

    def _paths_of_uploads(self, browser: str) -> list[str]:
        """Those of the browser's uploads, the oldest first."""
        return [path for path, upload in self._uploads.items() if upload.browser == browser]

    async def _serve_upload(self, app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
        """Let an upload through that may be one, and keep the books."""
        refusal = self._refusal(Request(scope))
        if refusal is not None:
            await refusal(scope, receive, send)
            return
        path = scope["path"]
        browser = browser_of(scope)
        # Many small files take memory too, so each counts as a megabyte at least.
        size = max(int(Request(scope).headers["content-length"]), MEGABYTE)
        if not await self._make_room(app, browser, size):
            busy_response = PlainTextResponse(
                "Others are sending files now: try again in a minute.", 503
            )
            await busy_response(scope, receive, send)
            return
        upload = Upload(browser, size, dict(scope))
        replaced_upload = self._uploads.pop(path, None)
        # The upload counts while it is on its way, so that others leave room for it.
        self._uploads[path] = upload
        is_taken = Event()
        try:
            await app(scope, receive, on_success(send, is_taken.set))
        except ClientDisconnect:
            pass  # the sender has hung up, so there is nobody to answer
        finally:
            if not is_taken.is_set():
                self._uploads.pop(path, None)
                # Streamlit still holds the file that was to be replaced.
                if replaced_upload is not None:
                    self._uploads[path] = replaced_upload
            elif not self._tabs_of(browser):
                # The browser's last tab was closed meanwhile, which has dropped the entry of this
                # upload.
                self._uploads[path] = upload
                await self._delete_upload(app, path)

    def _refusal(self, request: Request) -> Response | None:
        """The answer to an upload that may not be; None where it may."""
        try:
            is_public = settings().mode is Mode.PUBLIC
            limit = max_upload_bytes()
        except EcvError as error:
            return PlainTextResponse(str(error), 403)
        if is_public:
            return PlainTextResponse("This dashboard takes no files.", 403)
        browser = browser_of(request.scope)
        if not browser or not any(tab.may_upload for tab in self._tabs_of(browser)):
            return PlainTextResponse("You may not upload files here.", 403)
        length = request.headers.get("content-length", "")
        if not length.isdecimal() or "transfer-encoding" in request.headers:
            return PlainTextResponse("Send the length of the file with it, as Content-Length.", 411)
        if int(length) > limit + _BYTES_BESIDE_FILE:
            return PlainTextResponse(f"A file may have up to {limit:,} bytes here.", 413)
        return None

    async def _make_room(self, app: ASGIApp, browser: str, size: int) -> bool:
        """Forget the browser's oldest files, until a new one makes no more than one may have.

        Returns:
            Whether there is room for it beside the files of other browsers, too.
        """
        limit = max_upload_bytes() + _BYTES_BESIDE_FILE
        paths = self._paths_of_uploads(browser)
        bytes_of_browser = sum(self._uploads[path].size for path in paths)
        for path in paths:  # the oldest file comes first
            if bytes_of_browser + size <= limit:
                break
            bytes_of_browser -= self._uploads[path].size
            await self._delete_upload(app, path)
        return self.held_bytes + size <= BROWSERS_AT_ONCE * limit

    async def _delete_upload(self, app: ASGIApp, path: str) -> None:
        """Have a file deleted, asked for as a browser would; it is kept for minutes otherwise."""

        async def receive_nothing() -> Message:
            return {"type": "http.request", "body": b"", "more_body": False}

        async def ignore_answer(_message: Message) -> None:
            pass

        # Streamlit deletes a file when its browser requests that, so the browser's request is
        # imitated.
        upload = self._uploads.pop(path)
        headers = MutableHeaders(raw=list(upload.request["headers"]))
        del headers["content-length"]
        del headers["content-type"]
        request = {**upload.request, "method": "DELETE", "headers": headers.raw}
        await app(request, receive_nothing, ignore_answer)


def household_of(address: str) -> str:
    """The address that counts as one: of IPv6 the network, in which a person has any number."""
    try:
        ipv6 = IPv6Address(address)
    except ValueError:
        return address
    if ipv6.ipv4_mapped is not None:
        return str(ipv6.ipv4_mapped)
    return str(IPv6Network((int(ipv6), _ONE_HOUSEHOLD), strict=False))


def browser_of(scope: Scope) -> str:
    """The browser that asks, by its cookie; empty where it has none yet."""
    return HTTPConnection(scope).cookies.get(BROWSER, "")


def new_cookies(scope: Scope) -> list[str]:
    """The cookies that a browser gets with the page it asks for; no script can read them.

    A browser that comes from signing in gets another name: whoever has put a name of their own into
    somebody's browser would else pass for that browser. A phone that follows a lecture gets none.
    """
    if CLASSROOM in scope["path"]:
        return []
    attributes = "; Path=/; HttpOnly; SameSite=Lax"
    if scope["scheme"] == "https":
        attributes += "; Secure"
    cookies = []
    if not browser_of(scope) or scope["path"].endswith(_SIGNED_IN):
        cookies.append(f"{BROWSER}={token_urlsafe(16)}{attributes}")
    if _is_public() and VISITOR not in HTTPConnection(scope).cookies:
        seconds = _VISITOR_DAYS * 86_400
        cookies.append(f"{VISITOR}={token_urlsafe(24)}; Max-Age={seconds}{attributes}")
    return cookies


def _is_public() -> bool:
    try:
        return settings().mode is Mode.PUBLIC
    except EcvError:  # every page shows the error of wrong settings
        return False


def without_cache_conditions(scope: Scope) -> Scope:
    """The request of a browser that lacks a cookie, as one for the whole page.

    A browser that has the page from an earlier visit asks only whether there is a newer one.
    """
    if not new_cookies(scope):
        return scope
    # These headers could lead to the answer "Not modified", which has no body and sets no cookie.
    headers = MutableHeaders(raw=list(scope["headers"]))
    del headers["if-none-match"]
    del headers["if-modified-since"]
    return {**scope, "headers": headers.raw}


def on_success(send: Send, act: Callable[[], object]) -> Send:
    """Sends as `send` does, and acts before an answer that says that all went well."""

    async def act_and_send(message: Message) -> None:
        if message["type"] == "http.response.start" and message["status"] < 300:
            act()
        await send(message)

    return act_and_send


def while_connected(send: Send) -> Send:
    """Sends as `send` does, but not to who has broken the protocol in the middle of a request.

    Such a connection is told so and closed already, and no answer can follow.
    """

    async def send_if_possible(message: Message) -> None:
        with suppress(LocalProtocolError):
            await send(message)

    return send_if_possible


def while_open(send: Send) -> Send:
    """Sends as `send` does, but nothing through a socket whose other end has gone.

    Whoever reads from the socket is told so. An error here would have Streamlit close it once more,
    which is an error in the log.
    """

    async def send_if_open(message: Message) -> None:
        with suppress(OSError):
            await send(message)

    return send_if_open


def with_cookies(scope: Scope, send: Send) -> Send:
    """Sends as `send` does, and gives a browser its cookies with a page.

    They come with the page, as its scripts may come seconds later and a press in between counts.
    """
    cookies = new_cookies(scope)
    signed_in = scope["path"].endswith(_SIGNED_IN)

    async def send_with_cookies(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            if signed_in or headers.get("content-type", "").startswith("text/html"):
                for cookie in cookies:
                    headers.append("set-cookie", cookie)
        await send(message)

    return send_with_cookies


tabs = Tabs()
"""Of this process."""
