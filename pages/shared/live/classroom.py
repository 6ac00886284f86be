"""A lecturer's page on the phones of the room: what it shows is sent to them, and they may bet.

The lecturer's browser sends its words and its picture; phones show these, so that a phone costs
the server one message a change, and no session. Whoever has the code may look, as with a projector.
Phones are numbered; nothing else is known of them, and everything ends with the lecture.

A dashboard answers its own machine alone unless it is told otherwise. Phones therefore get an
address of their own, at which there is nothing but this: see `PhoneListener`.
"""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import Callable, Coroutine, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from secrets import choice, compare_digest, token_urlsafe

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import BaseRoute, Route, WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect

from ecv_core.records.errors import InputError

PATH = "/classroom/"
"""Addresses of this part begin so."""
MOST_ROOMS = 20
MOST_PHONES = 300
"""That may follow one room at a time."""
_MOST_NAMES = 2000
"""Phones that one room numbers; a page that is loaded again counts as another phone."""
_MOST_CHARACTERS = 1_000_000
"""That the lecturer's page may send at once; a picture has about 60,000."""
_MOST_CHARACTERS_OF_A_PHONE = 500
_PAGE_HAS_GONE = (WebSocketDisconnect, RuntimeError)
"""What sending to a page that has just gone raises; closing it, too."""
_PATIENCE_SECONDS = 2.0
"""For a phone that does not take what it is sent: it has to connect again."""
_SECONDS_WITHOUT_HOST = 600.0
"""That a room stays open without its lecturer, who may have lost the network."""
_LETTERS = "abcdefghjkmnpqrstuvwxyz23456789"
"""Of a code; none looks like another."""
_PORTS_TRIED = 10
_PAGE = Path(__file__).with_name("phone.html").read_text("utf-8")


@dataclass(eq=False)
class Room:
    """One lecture. Its sockets are used on the server's loop only."""

    code: str
    """In the address for phones."""
    key: str = field(default_factory=token_urlsafe)
    """What the lecturer's page says first; phones do not know it."""
    bets: dict[int, tuple[int, ...]] = field(default_factory=dict)
    """Number of a phone -> its pick in each part of the question that is open."""
    _shown: dict[str, object] = field(default_factory=dict)
    """What phones show: title, lines, picture, question, outcome."""
    _numbers: dict[str, int] = field(default_factory=dict)
    """Name that a phone made up for itself -> its number, from 1."""
    _phones: dict[WebSocket, int] = field(default_factory=dict)
    _host: WebSocket | None = None
    _last_host: WebSocket | None = None
    """The lecturer's newest socket, open or not."""

    async def serve_host(self, host: WebSocket) -> None:
        """Take what the lecturer's page shows for as long as it is open, and hand it on.

        The page says the key of the room first.
        """
        key = await host.receive_text()
        if not compare_digest(key.encode(), self.key.encode()):
            await _send(host, {"ended": True})
            return
        self._host = host
        self._last_host = host
        try:
            await self._tell_host()
            while True:
                message = json.loads(await host.receive_text())
                await self._show_on_phones(message)
        finally:
            if self._host is host:  # the lecturer's page may have opened another socket since
                self._host = None
                loop = asyncio.get_running_loop()
                loop.call_later(_SECONDS_WITHOUT_HOST, self._end_unless_back, host)

    async def serve_phone(self, phone: WebSocket) -> None:
        """Number a phone, send it what is shown, and take its bets for as long as it is open."""
        # A phone makes up a name for itself, by which it keeps its number when it connects again.
        async with asyncio.timeout(_PATIENCE_SECONDS):
            name = await phone.receive_text()
        is_full = len(self._phones) >= MOST_PHONES or len(self._numbers) >= _MOST_NAMES
        if is_full or len(name) > _MOST_CHARACTERS_OF_A_PHONE:
            # The caller closes the socket of a phone that finds no room.
            return
        number = self._numbers.setdefault(name, len(self._numbers) + 1)
        self._phones[phone] = number
        try:
            await phone.send_json({**self._shown, "phone": number})
            await self._tell_host()
            while True:
                text = await phone.receive_text()
                if len(text) <= _MOST_CHARACTERS_OF_A_PHONE:
                    self._take_bet(number, json.loads(text))
                    await self._tell_host()
        finally:
            self._phones.pop(phone, None)
            await self._tell_host()

    async def close(self) -> None:
        """Send everybody home."""
        _rooms.pop(self.code, None)
        for phone in list(self._phones):
            await _send(phone, {"ended": True})
        if self._host is not None:
            await _send(self._host, {"ended": True})

    def _end_unless_back(self, left: WebSocket) -> None:
        """End the lecture whose lecturer left with this socket and has not come back since."""
        if self._last_host is left:
            task = asyncio.ensure_future(self.close())
            _closing.add(task)
            task.add_done_callback(_closing.discard)

    async def _show_on_phones(self, message: Mapping[str, object]) -> None:
        """Keep what has changed, and send it to every phone."""
        is_another_question = message.get("question") != self._shown.get("question")
        if "question" in message and is_another_question:
            self.bets.clear()
        self._shown.update(message)
        await asyncio.gather(*[_send(phone, message) for phone in self._phones])
        await self._tell_host()

    def _take_bet(self, number: int, bet: object) -> None:
        """Count a bet on the open question, if it is one; the last one of a phone counts.

        Args:
            number: The number of the phone.
            bet: What it sent: the round, and its pick in each part of the question.
        """
        # The lecturer's page sends a question as {"round": 2, "parts": [{"options": [...]}, ...]}.
        question = self._shown.get("question")
        if not isinstance(question, dict) or not isinstance(bet, dict):
            return
        picks = bet.get("picks")
        parts = question["parts"]
        if bet.get("round") != question["round"] or self._shown.get("outcome"):
            return  # the bet is of an earlier round, or its outcome is known
        if not isinstance(picks, list) or len(picks) != len(parts):
            return
        for pick, part in zip(picks, parts, strict=True):
            if not isinstance(pick, int) or not 0 <= pick < len(part["options"]):
                return
        self.bets[number] = tuple(picks)

    async def _tell_host(self) -> None:
        if self._host is not None:
            await _send(self._host, {"phones": len(self._phones), "bets": len(self.bets)})


async def _send(receiver: WebSocket, message: Mapping[str, object]) -> None:
    """Send to a page that may have gone; one that takes too long is let go."""
    try:
        async with asyncio.timeout(_PATIENCE_SECONDS):
            await receiver.send_json(message)
    except _PAGE_HAS_GONE:
        return
    except TimeoutError:
        with suppress(*_PAGE_HAS_GONE):
            await receiver.close()


_rooms: dict[str, Room] = {}
"""Those that are open, by their codes."""
_closing: set[asyncio.Future[None]] = set()


def new_room() -> Room:
    """Open a room.

    Raises:
        InputError: If there are as many as there may be.
    """
    if len(_rooms) >= MOST_ROOMS:
        raise InputError(f"{MOST_ROOMS} lectures are open on this dashboard: end one of them first")
    code = "".join(choice(_LETTERS) for _ in range(8))
    room = Room(code)
    _rooms[code] = room
    return room


def is_open(room: Room) -> bool:
    """Whether the lecture goes on."""
    return _rooms.get(room.code) is room


def close_room(room: Room) -> None:
    """End a lecture; call it from a page's script."""
    _rooms.pop(room.code, None)
    if phone_listener.loop is not None:
        asyncio.run_coroutine_threadsafe(room.close(), phone_listener.loop)


def classroom_routes(base: str = "") -> list[BaseRoute]:
    """What phones and the lecturer's page ask for.

    Args:
        base: Path that every address begins with.
    """
    return [
        Route(f"{base}{PATH}{{code}}", _phone_page),
        WebSocketRoute(f"{base}{PATH}{{code}}/phone", partial(_serve, serve=Room.serve_phone)),
        WebSocketRoute(f"{base}{PATH}{{code}}/host", partial(_serve, serve=Room.serve_host)),
    ]


async def _phone_page(request: Request) -> Response:
    if request.path_params["code"] not in _rooms:
        return HTMLResponse("<p>This lecture is over.</p>", 404)
    return HTMLResponse(_PAGE, headers={"Cache-Control": "no-store"})


async def _serve(
    socket: WebSocket, serve: Callable[[Room, WebSocket], Coroutine[object, object, None]]
) -> None:
    """Have a room serve a socket for as long as it is open, or say that the lecture is over.

    Args:
        socket: The socket of a phone or of the lecturer's page.
        serve: The method of the room for it.
    """
    await socket.accept()
    room = _rooms.get(socket.path_params["code"])
    if room is None:
        await _send(socket, {"ended": True})
    else:
        # These errors mean that the other end has gone, sends nonsense, or sends nothing.
        with suppress(WebSocketDisconnect, ValueError, TimeoutError):
            await serve(room, socket)
    with suppress(*_PAGE_HAS_GONE):
        await socket.close()


class PhoneListener:
    """The address in the local network, for phones alone, of a dashboard that answers its machine.

    It begins with the first lecture and ends with the dashboard.
    """

    def __init__(self) -> None:
        """Nothing listens yet."""
        self.loop: asyncio.AbstractEventLoop | None = None
        """The event loop of the server, once it runs."""
        self._port: int | None = None
        self._server: uvicorn.Server | None = None
        self._serving: asyncio.Task[None] | None = None

    def address(self, first_port: int) -> str:
        """Where phones find this machine, such as http://192.168.0.7:8502; begins to listen there.

        Args:
            first_port: To be tried first; the next ones follow.

        Raises:
            InputError: If the machine is in no network, or no port is free.
        """
        host = local_address()
        if self._port is None:
            assert self.loop is not None  # the server sets it before the first page is drawn
            bound = _bound_socket(first_port)
            asyncio.run_coroutine_threadsafe(self._begin(bound), self.loop).result(5)
            _, self._port = bound.getsockname()
        return f"http://{host}:{self._port}"

    async def _begin(self, bound: socket.socket) -> None:
        app = Starlette(routes=classroom_routes())
        config = uvicorn.Config(
            app,
            log_config=None,
            access_log=False,
            lifespan="off",
            timeout_graceful_shutdown=1,
            ws_max_size=_MOST_CHARACTERS_OF_A_PHONE * 4,  # in UTF-8 a character has at most 4 bytes
        )
        self._server = uvicorn.Server(config)
        self._serving = asyncio.create_task(self._server.serve(sockets=[bound]))

    async def end(self) -> None:
        """Listen no longer."""
        if self._server is None or self._serving is None:
            return
        self._server.should_exit = True
        with suppress(asyncio.CancelledError):
            await self._serving


phone_listener = PhoneListener()
"""Of this process."""


def local_address() -> str:
    """The address of this machine in its network.

    Raises:
        InputError: If it is in none.
    """
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # sends nothing; this address is reserved for examples
        except OSError as error:
            raise InputError(
                "this computer is in no network, so that no phone can reach it: join the "
                "network of the room, or open a hotspot, and try again"
            ) from error
        address, _ = probe.getsockname()
        return str(address)


def _bound_socket(first_port: int) -> socket.socket:
    """A socket on the first port from this one on that is free."""
    for port in range(first_port, first_port + _PORTS_TRIED):
        bound = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            bound.bind(("0.0.0.0", port))  # listens in every network that this machine is in
        except OSError:
            bound.close()
        else:
            return bound
    raise InputError(
        f"the ports {first_port} to {first_port + _PORTS_TRIED - 1} are taken: end a program that "
        "uses one of them"
    )
