"""What the dashboard's server has besides Streamlit: addresses, plotly.js, limits of tabs."""

import asyncio
import gzip
from contextlib import ExitStack, suppress

import h11
import plotly
import pytest
import streamlit as st
import uvicorn
from starlette.applications import Starlette
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import Mount, Route, WebSocketRoute
from starlette.staticfiles import StaticFiles
from starlette.testclient import TestClient
from starlette.websockets import WebSocketDisconnect

from pages.shared.live.server import (
    PLOTLY,
    allow_open_files,
    end_where_settings_are_wrong,
    middleware,
    routes,
)
from pages.shared.live.tabs import (
    BROWSER,
    MOST_OF_AN_ADDRESS,
    MOST_ON_A_PATH,
    TAB_HEADER,
    VISITOR,
    household_of,
    tabs,
)

SESSION = "b1c40f6e-0b1c-4f6e-9a0d-4f6e9a0d1234"
UPLOAD = f"/_stcore/upload_file/{SESSION}/file"


class Streamlit:
    """What it does with tabs and files, as far as anybody can see."""

    def __init__(self):
        self.files = {}
        self.may = {"member": True, "upload": True}
        self.forwarded = ""
        routes_of_it = [
            WebSocketRoute("/_stcore/stream", self.page),
            Route("/_stcore/upload_file/{session}/{file}", self.file, methods=["PUT", "DELETE"]),
        ]
        self.app = Starlette(routes=[*routes(), *routes_of_it], middleware=middleware())

    async def page(self, socket):
        """What a tab sends is its answer, after a first message."""
        await socket.accept()
        self.forwarded = socket.headers[TAB_HEADER]
        tabs.admit(socket.headers[TAB_HEADER], **self.may)
        await socket.send_bytes(b"open")
        with suppress(WebSocketDisconnect):
            while True:
                await socket.send_bytes(await socket.receive_bytes())

    async def file(self, request):
        if "token" in request.headers and request.headers["token"] != "right":
            return Response(status_code=403)
        if request.method == "DELETE":
            self.files.pop(request.url.path)
        else:
            self.files[request.url.path] = len(await request.body())
        return Response(status_code=204)


@pytest.fixture
def streamlit():
    return Streamlit()


@pytest.fixture
def client(streamlit):
    with TestClient(streamlit.app) as client:
        client.cookies.set(BROWSER, "ada's")
        yield client


@pytest.fixture
def tab(client):
    with client.websocket_connect("/_stcore/stream") as tab:
        tab.receive_bytes()
        yield tab


def test_plotly_js_is_the_installed_packages_and_browsers_keep_it(client):
    answer = client.get(f"/plotly-{plotly.__version__}.min.js")
    assert b"plotly.js v" in answer.content[:500]
    assert len(gzip.compress(answer.content)) > 500_000
    assert "javascript" in answer.headers["content-type"]
    assert "max-age=31536000" in answer.headers["cache-control"]


@pytest.mark.parametrize(("path", "begin"), [("", "/"), ("e-fold", "/e-fold/"), ("/a/b/", "/a/b/")])
def test_addresses_are_below_the_path_that_the_server_is_given(monkeypatch, path, begin):
    monkeypatch.setattr(st, "get_option", {"server.baseUrlPath": path}.get)
    lecture = "classroom/{code}"
    names = ["events", PLOTLY, "healthz", "metrics"]
    names += [lecture, f"{lecture}/phone", f"{lecture}/host"]
    assert [route.path for route in routes()] == [f"{begin}{name}" for name in names]


def test_a_file_may_be_as_large_as_the_environment_says(client, tab, streamlit, monkeypatch):
    monkeypatch.setenv("ECV_MAX_UPLOAD_MB", "3")
    assert client.put(UPLOAD, content=b"x" * (3 << 20)).status_code == 204
    assert streamlit.files == {UPLOAD: 3 << 20}
    refused = client.put(UPLOAD, content=b"x" * (5 << 20))
    assert (refused.status_code, refused.text) == (
        413,
        "A file may have up to 3,145,728 bytes here.",
    )
    assert client.delete(UPLOAD).status_code == 204
    assert tabs.held_bytes == 0


@pytest.mark.parametrize("method", ["PUT", "DELETE", "GET", "HEAD"])
def test_the_books_follow_what_is_held_and_not_what_is_asked(client, tab, streamlit, method):
    """Streamlit refuses who has not its token, and has no answer to a GET: the file is there."""
    size = 2 << 20
    assert client.put(UPLOAD, content=b"x" * size).status_code == 204
    held = tabs.held_bytes
    assert held >= size
    answer = client.request(method, UPLOAD, headers={"token": "wrong"})
    assert answer.status_code in (403, 405)
    assert streamlit.files == {UPLOAD: size}
    assert tabs.held_bytes == held


def test_a_file_of_an_editor_stays_when_a_stranger_sends_one(client, tab, streamlit):
    assert client.put(UPLOAD, content=b"x" * 100).status_code == 204
    client.cookies = {}
    refused = client.put("/_stcore/upload_file/-/zz0", headers={"content-length": str(201 << 20)})
    assert refused.status_code == 403
    assert streamlit.files == {UPLOAD: 100}


def test_a_file_without_a_length_or_with_two_is_refused(client, tab):
    assert client.put(UPLOAD, content=iter([b"x", b"y"])).status_code == 411
    lengths = {"Transfer-Encoding": "chunked", "Content-Length": "1"}
    assert client.put(UPLOAD, content=b"x", headers=lengths).status_code == 411


def test_nobody_sends_a_file_without_an_open_tab_that_may(client, streamlit):
    assert client.put(UPLOAD, content=b"x").status_code == 403
    streamlit.may = {"member": True, "upload": False}
    with client.websocket_connect("/_stcore/stream") as tab:
        tab.receive_bytes()
        assert client.put(UPLOAD, content=b"x").status_code == 403
        # Whoever may says so of a tab by a name that only the server and the page know.
        tabs.admit("guessed", member=True, upload=True)
        assert client.put(UPLOAD, content=b"x").status_code == 403
    with client.websocket_connect("/_stcore/stream", headers={TAB_HEADER: "mine"}):
        assert streamlit.forwarded != "mine"
    assert streamlit.files == {}


@pytest.mark.parametrize("cookies", [{}, {BROWSER: "another's"}])
def test_a_file_of_another_browser_than_that_of_a_tab_is_refused(client, tab, streamlit, cookies):
    client.cookies = cookies
    assert client.put(UPLOAD, content=b"x").status_code == 403
    assert streamlit.files == {}


def test_a_browser_without_a_cookie_may_not_upload_though_others_without_one_may(streamlit):
    with TestClient(streamlit.app) as client, client.websocket_connect("/_stcore/stream") as tab:
        tab.receive_bytes()
        assert client.put(UPLOAD, content=b"x").status_code == 403


def test_a_browser_gets_a_name_with_its_first_page_that_no_script_can_read():
    routes_of_it = [
        Route("/", lambda _: HTMLResponse("<html></html>")),
        Route("/data", lambda _: JSONResponse({})),
    ]
    client = TestClient(Starlette(routes=routes_of_it, middleware=middleware()))
    assert "set-cookie" not in client.get("/data").headers
    name, *rules = client.get("/").headers["set-cookie"].split("; ")
    assert set(rules) == {"Path=/", "HttpOnly", "SameSite=Lax"}
    assert name == f"{BROWSER}={client.cookies[BROWSER]}"
    assert "set-cookie" not in client.get("/").headers
    secret = TestClient(client.app, base_url="https://e-fold.example.org")
    assert "; Secure" in secret.get("/").headers["set-cookie"]


def test_a_visitor_gets_a_secret_with_the_first_page_and_keeps_it(monkeypatch):
    monkeypatch.setenv("ECV_MODE", "public")
    routes_of_it = [Route("/", lambda _: HTMLResponse("<html></html>"))]
    client = TestClient(Starlette(routes=routes_of_it, middleware=middleware()))
    name, cookie = client.get("/").headers.get_list("set-cookie")
    assert name.startswith(f"{BROWSER}=")
    assert len(client.cookies[VISITOR]) == 32
    assert set(cookie.split("; ")[1:]) == {"Max-Age=2592000", "Path=/", "HttpOnly", "SameSite=Lax"}
    assert "set-cookie" not in client.get("/").headers
    del client.cookies[BROWSER]  # it ends with the browser
    (name,) = client.get("/").headers.get_list("set-cookie")
    assert name.startswith(f"{BROWSER}=")


def test_a_tab_that_has_gone_while_it_was_sent_something_is_no_error(streamlit):
    async def hung_up(scope, receive, send):
        async def send_until_page(message):
            if message["type"] == "websocket.send":
                raise OSError("the client has disconnected")  # as uvicorn does
            await send(message)

        await streamlit.app(scope, receive, send_until_page)

    with TestClient(hung_up).websocket_connect("/_stcore/stream") as tab:
        tab.send_bytes(b"hello")


def test_signing_in_gives_a_browser_another_name_than_somebody_may_have_set(streamlit):
    """Who put a name of their own into a browser is neither a member nor sends files by it."""
    streamlit.app.routes.append(Route("/oauth2callback", lambda _: RedirectResponse("/")))
    with TestClient(streamlit.app) as ada:
        ada.cookies.set(BROWSER, "the attacker's", domain="testserver.local", path="/")
        ada.get("/oauth2callback", follow_redirects=False)
        (name,) = [cookie.value for cookie in ada.cookies.jar if cookie.name == BROWSER]
        assert name != "the attacker's"
        with ada.websocket_connect("/_stcore/stream") as tab:
            tab.receive_bytes()
            assert ada.put(UPLOAD, content=b"x").status_code == 204
            attacker = TestClient(streamlit.app, cookies={BROWSER: "the attacker's"})
            assert attacker.put(UPLOAD, content=b"y").status_code == 403


def test_a_browser_that_kept_the_page_and_lost_its_cookie_gets_both_again(tmp_path):
    (tmp_path / "index.html").write_text("<html></html>")
    routes_of_it = [Mount("/", StaticFiles(directory=tmp_path, html=True))]
    client = TestClient(Starlette(routes=routes_of_it, middleware=middleware()))
    kept = client.get("/").headers["etag"]
    conditions = {"if-none-match": kept, "if-modified-since": "Fri, 01 Jan 2100 00:00:00 GMT"}
    client.cookies.clear()
    again = client.get("/", headers=conditions)
    assert (again.status_code, again.text) == (200, "<html></html>")
    assert client.cookies[BROWSER]


def test_a_browser_holds_one_file_of_the_largest_size_and_the_oldest_goes(
    client, tab, streamlit, monkeypatch
):
    monkeypatch.setenv("ECV_MAX_UPLOAD_MB", "3")
    for number in range(10):
        assert client.put(f"{UPLOAD}{number}", content=b"x" * (2 << 20)).status_code == 204
        assert sum(streamlit.files.values()) <= 4 << 20
    assert list(streamlit.files) == [f"{UPLOAD}8", f"{UPLOAD}9"]
    for number in range(100):  # small ones cost room, too
        client.put(f"{UPLOAD}-{number}", content=b"x")
    assert len(streamlit.files) == 4


def test_all_browsers_together_hold_four_files_of_the_largest_size(client, monkeypatch):
    monkeypatch.setenv("ECV_MAX_UPLOAD_MB", "1")
    statuses = []
    with ExitStack() as open_tabs:
        for number in range(6):
            client.cookies = {BROWSER: f"browser-{number}"}
            tab = open_tabs.enter_context(client.websocket_connect("/_stcore/stream"))
            tab.receive_bytes()
            answer = client.put(f"{UPLOAD}{number}", content=b"x" * (2 << 20))
            statuses.append(answer.status_code)
    assert statuses == [204, 204, 204, 204, 503, 503]
    assert tabs.held_bytes == 0


def test_what_a_browser_has_sent_is_forgotten_when_its_last_tab_is_closed(client, streamlit):
    with client.websocket_connect("/_stcore/stream") as tab:
        with client.websocket_connect("/_stcore/stream"):
            tab.receive_bytes()
            client.put(UPLOAD, content=b"x" * 100)
        assert streamlit.files == {UPLOAD: 100}
    assert streamlit.files == {}


@pytest.mark.parametrize(("mode", "most"), [("public", MOST_OF_AN_ADDRESS), ("", 30)])
def test_so_many_tabs_may_be_open(client, streamlit, monkeypatch, mode, most):
    monkeypatch.setenv("ECV_MODE", mode)
    streamlit.may = {"member": mode != "public", "upload": False}
    monkeypatch.setattr("pages.shared.live.tabs.MOST_ON_A_PATH", most)
    with ExitStack() as open_tabs:
        for _ in range(most):
            tab = open_tabs.enter_context(client.websocket_connect("/_stcore/stream"))
            tab.receive_bytes()
        with pytest.raises(WebSocketDisconnect), client.websocket_connect("/_stcore/stream"):
            pass
        with client.websocket_connect("/events"):  # another kind
            pass
    with client.websocket_connect("/_stcore/stream"):
        pass


def test_strangers_of_one_address_hold_no_more_than_so_many_sockets_of_a_team(
    client, streamlit, monkeypatch
):
    monkeypatch.setenv("ECV_MODE", "team")
    monkeypatch.setenv("ECV_EDITORS", "ada@example.org")
    streamlit.may = {"member": False, "upload": False}
    with ExitStack() as open_tabs:
        for number in range(MOST_OF_AN_ADDRESS):
            client.cookies = {BROWSER: f"stranger-{number}"}
            tab = open_tabs.enter_context(client.websocket_connect("/_stcore/stream"))
            tab.receive_bytes()
        client.cookies = {BROWSER: "ada's"}
        with pytest.raises(WebSocketDisconnect), client.websocket_connect("/_stcore/stream"):
            pass


NGINX = ("127.0.0.1", 40_000)
ELSEWHERE = ("198.51.100.7", 40_000)


@pytest.mark.parametrize("mode", ["public", "team"])
@pytest.mark.parametrize(
    ("client_of_it", "named", "forwarded"),
    [
        # nginx adds the address that it sees to what it was told.
        (NGINX, "", "203.0.113.{number}, 192.0.2.1"),
        (NGINX, "127.0.0.1,10.0.0.0/8", "203.0.113.{number}, 192.0.2.1, 10.1.2.3"),
        (ELSEWHERE, "", "203.0.113.{number}"),
        (NGINX, "10.0.0.1", "203.0.113.{number}"),
        (NGINX, "", "2001:db8:1:2:{number}::1"),
    ],
    ids=["told nginx", "told two proxies", "no proxy", "another proxy", "own network of IPv6"],
)
def test_nobody_is_many_by_a_header_or_by_many_addresses(
    streamlit, monkeypatch, mode, client_of_it, named, forwarded
):
    """By the settings with which Streamlit starts Uvicorn, whose part it is to read the header."""
    monkeypatch.setenv("ECV_MODE", mode)
    if mode == "team":
        monkeypatch.setenv("ECV_EDITORS", "ada@example.org")
    monkeypatch.delenv("FORWARDED_ALLOW_IPS", raising=False)
    if named:
        monkeypatch.setenv("FORWARDED_ALLOW_IPS", named)
    streamlit.may = {"member": False, "upload": False}
    server = uvicorn.Config(streamlit.app)
    server.load()
    client = TestClient(server.loaded_app, client=client_of_it)

    def another_tab(number):
        header = {"x-forwarded-for": forwarded.format(number=number)}
        return client.websocket_connect("/_stcore/stream", headers=header)

    with ExitStack() as open_tabs:
        for number in range(MOST_OF_AN_ADDRESS):
            open_tabs.enter_context(another_tab(number)).receive_bytes()
        with pytest.raises(WebSocketDisconnect), another_tab(MOST_OF_AN_ADDRESS):
            pass


@pytest.mark.parametrize(
    ("address", "place"),
    [
        ("192.0.2.1", "192.0.2.1"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("2001:db8:1:3::6", "2001:db8:1:3::/64"),
        ("::ffff:192.0.2.1", "192.0.2.1"),
        ("testclient", "testclient"),
    ],
)
def test_of_an_address_counts_what_one_customer_has(address, place):
    assert household_of(address) == place


@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "DELETE"])
def test_who_broke_the_protocol_gets_no_answer_and_leaves_no_traceback(streamlit, method):
    """As Uvicorn says it where a body was none, and its own answer has ended the connection."""
    sent = []

    async def send(message):
        sent.append(message["type"])
        raise h11.LocalProtocolError("Can't send data when our state is ERROR")

    async def receive():
        return {"type": "http.request", "body": b"", "more_body": False}

    scope = {
        "type": "http",
        "method": method,
        "path": "/plain",
        "query_string": b"",
        "headers": [],
        "scheme": "http",
    }
    asyncio.run(streamlit.app(scope, receive, send))
    assert sent[0] == "http.response.start"


@pytest.fixture
def few_handles():
    """The limit that most systems begin with, and whatever they allow."""
    resource = pytest.importorskip("resource")
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (1024, before[1]))
    yield lambda: resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


def test_there_are_handles_for_as_many_tabs_as_may_be_open(few_handles):
    """Each tab has two sockets and three more handles; a lecture has one socket for each phone."""
    allow_open_files()
    assert few_handles() >= (2 + 3 + 1) * MOST_ON_A_PATH


def test_members_of_a_team_may_open_more_tabs_than_strangers(client, monkeypatch):
    monkeypatch.setenv("ECV_MODE", "team")
    monkeypatch.setenv("ECV_EDITORS", "ada@example.org")
    with ExitStack() as open_tabs:
        for _ in range(MOST_OF_AN_ADDRESS + 5):
            tab = open_tabs.enter_context(client.websocket_connect("/_stcore/stream"))
            tab.receive_bytes()
        client.cookies = {BROWSER: "stranger"}
        tab = open_tabs.enter_context(client.websocket_connect("/_stcore/stream"))
        tab.receive_bytes()


def test_a_public_dashboard_takes_no_files(client, tab, monkeypatch):
    monkeypatch.setenv("ECV_MODE", "public")
    assert client.put(UPLOAD, content=b"x").status_code == 403


@pytest.mark.parametrize(
    "wrong", [("ECV_MODE", "pubic"), ("ECV_MAX_UPLOAD_MB", "lots"), ("ECV_EDITORS", "ada")]
)
def test_where_nobody_knows_what_is_allowed_nothing_is(client, monkeypatch, wrong, tab, capsys):
    monkeypatch.setenv(*wrong)
    refused = client.put(UPLOAD, content=b"x")
    assert refused.status_code == 403
    assert wrong[0] in refused.text
    with pytest.raises(SystemExit) as ended:
        end_where_settings_are_wrong()
    assert ended.value.code == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_the_page_is_as_wide_from_its_first_paint_and_nothing_else_is_touched():
    app = Starlette(
        routes=[
            Route("/", lambda _: HTMLResponse("<html></html>")),
            Route("/data", lambda _: JSONResponse({})),
        ],
        middleware=middleware()[1:],
    )
    client = TestClient(app)
    page = client.get("/", headers={"accept": "text/html,*/*"})
    assert page.text.startswith("<html></html><style>")
    assert int(page.headers["content-length"]) == len(page.content)
    assert client.get("/data", headers={"accept": "text/html"}).text == "{}"
    assert client.get("/").text == "<html></html>"  # no browser asked for it
