"""Somebody without a browser, who says to a dashboard whatever they like."""

from __future__ import annotations

import http.client
import socket
from contextlib import ExitStack, closing
from types import TracebackType
from typing import Self

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.sync.client import connect
from websockets.typing import Subprotocol

FORM = "----a-form"


class Stranger:
    """A tab of nobody in particular; close it as a file."""

    def __init__(
        self,
        port: int,
        *,
        page: str = "",
        query: str = "",
        timeout: float = 60,
        address: str = "",
        cookie: str = "",
        session: str = "",
    ) -> None:
        """Open a page and wait until it is drawn.

        Args:
            port: of a dashboard on this machine.
            page: its address below it.
            query: query string.
            timeout: seconds to wait for anything.
            address: that a proxy says they have; empty for this machine's.
            cookie: of their browser, as its header has it; empty for none.
            session: id of somebody's session that they ask to go on with; empty for a new one.
        """
        self.buttons: dict[str, str] = {}
        """Label -> id."""
        self.errors: list[str] = []
        """What went wrong, as the page shows it."""
        self.port, self.timeout = port, timeout
        self.session = ""
        headers = {}
        if address:
            headers["X-Forwarded-For"] = address
        if cookie:
            headers["Cookie"] = cookie
        protocols = [Subprotocol("streamlit")]
        if session:  # the protocol's names are token and session where there are three
            protocols += [Subprotocol("none"), Subprotocol(session)]
        self._open = ExitStack()
        self._socket = self._open.enter_context(
            connect(
                f"ws://127.0.0.1:{port}/_stcore/stream",
                subprotocols=protocols,
                max_size=1 << 26,
                open_timeout=timeout,
                additional_headers=headers,
            )
        )
        self._page, self._query = page, query
        self.run()

    def run(self, press: str = "") -> None:
        """Have the page drawn, with a button pressed if one is named, and wait for it."""
        message = BackMsg()
        message.rerun_script.page_name = self._page
        message.rerun_script.query_string = self._query
        if press:
            widget = message.rerun_script.widget_states.widgets.add()
            widget.id, widget.trigger_value = self.buttons[press], True
        self.say(message.SerializeToString())
        done = False
        while not done:
            told = ForwardMsg.FromString(bytes(self._socket.recv(self.timeout)))  # type: ignore[arg-type]
            # A script that asks for another run, as after an id in the address, is not done.
            again = told.script_finished == ForwardMsg.FINISHED_EARLY_FOR_RERUN
            done = told.WhichOneof("type") == "script_finished" and not again
            if told.delta.new_element.exception.message:
                self.errors.append(told.delta.new_element.exception.message)
            button = told.delta.new_element.button
            if button.id and not button.disabled:
                self.buttons[button.label] = button.id
            self.session = told.new_session.initialize.session_id or self.session

    def __enter__(self) -> Self:
        """The tab."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Close it."""
        self._open.close()

    def say(self, what: bytes) -> None:
        """Any bytes over the page's websocket."""
        self._socket.send(what)

    def upload(self, content: bytes, name: str = "file") -> int:
        """Send a file as a browser does, to this session; gives the status of the answer."""
        return upload(self.port, self.session, content, name, timeout=self.timeout)


def upload(port: int, session: str, content: bytes, name: str, *, timeout: float = 60) -> int:
    """The status of the answer to a file; 0 where the connection was closed."""
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=timeout)) as connection:
        connection.request("GET", "/_stcore/health")
        answer = connection.getresponse()
        answer.read()
        cookie = str(answer.getheader("set-cookie")).partition(";")[0]
        head = f'--{FORM}\r\nContent-Disposition: form-data; name="f"; filename="f.csv"\r\n\r\n'
        try:
            connection.request(
                "PUT",
                f"/_stcore/upload_file/{session}/{name}",
                body=head.encode() + content + f"\r\n--{FORM}--\r\n".encode(),
                headers={
                    "Cookie": cookie,
                    "X-Xsrftoken": cookie.partition("=")[2],
                    "Content-Type": f"multipart/form-data; boundary={FORM}",
                },
            )
            return connection.getresponse().status
        except OSError:
            return 0


def half_a_message(port: int, path: str, size: int, sent: int, address: str = "") -> socket.socket:
    """A websocket over which a message of this size has begun, and these many bytes of it came."""
    plain = socket.create_connection(("127.0.0.1", port), 30)
    head = [
        f"GET {path} HTTP/1.1",
        f"Host: 127.0.0.1:{port}",
        "Upgrade: websocket",
        "Connection: Upgrade",
        "Sec-WebSocket-Version: 13",
        "Sec-WebSocket-Key: c2l4dGVlbiBieXRlcy4uLg==",
        "Sec-WebSocket-Protocol: streamlit",
        *([f"X-Forwarded-For: {address}"] if address else []),
    ]
    plain.sendall("\r\n".join([*head, "", ""]).encode())
    plain.recv(4096)
    plain.sendall(b"\x82\xff" + size.to_bytes(8, "big") + bytes(4))
    try:
        for _ in range(sent >> 20):
            plain.sendall(bytes(1 << 20))
    except OSError:
        pass  # it was closed: what was to be seen
    return plain
