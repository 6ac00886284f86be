"""Open pages follow what goes on: many tabs, a tab in the background, a server that restarts."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator

import pytest
from playwright.sync_api import (
    Browser,
    BrowserContext,
    Locator,
    Page,
    WebSocket,
    WebSocketRoute,
    expect,
)
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

from ecv_core.fold.spec import make_spec
from ecv_core.records.run import RunState
from ecv_core.store.ownership import this_process
from ecv_core.store.store import Store, open_store
from pages.shared.live.events import SERVER
from tests.browser.dashboard import Dashboard
from tests.browser.tab import headed, open_from_bar, watched_tab
from tests.fake_folds import fold_result

pytestmark = pytest.mark.browser

BEHIND = """Object.defineProperty(document, "hidden", { get: () => !window.ecvInSight })"""
"""A tab in the background, until it is said to be in sight."""
TO_FRONT = "window.ecvInSight = true; document.dispatchEvent(new Event('visibilitychange'))"

FOLLOW_TOO = """([address, topics, count]) => {
  window.others = Array.from({ length: count }, () => {
    const socket = new WebSocket(address);
    socket.onopen = () => socket.send(topics);
    return socket;
  });
}"""
"""As other tabs do: a browser has six connections for anything but WebSockets."""


@pytest.fixture
def store(dashboard: Dashboard) -> Store:
    return open_store(dashboard.database_url)


@pytest.fixture
def run_id(store: Store) -> Iterator[str]:
    """A run of this process, which reports what a worker would and computes nothing."""
    spec = make_spec(dataset="synthetic", algorithm="popular", rule="never", k=10)
    (run_id,) = store.create([spec], owner=this_process())
    store.start(run_id, owner=this_process())
    store.set_progress(run_id, 0, "fit", 1, 9)
    yield run_id
    if store.run(run_id).state.active:
        store.finish(run_id, RunState.CANCELLED)


def after(tab: Page, folds: int) -> Locator:
    """The figure of so many folds."""
    return tab.get_by_role("img", name=re.compile(f"after {folds} of 10 folds"))


def asked(tab: Page) -> list[WebSocket]:
    """The pages' messages to Streamlit from now on."""
    sent: list[WebSocket] = []

    def note(socket: WebSocket) -> None:
        if socket.url.endswith("/_stcore/stream"):
            socket.on("framesent", lambda _: sent.append(socket))

    tab.on("websocket", note)
    return sent


@pytest.mark.slow
def test_a_page_with_many_others_of_its_browser_open_follows_its_run(
    page: Page, dashboard: Dashboard, store: Store, run_id: str
) -> None:
    page.goto(f"{dashboard.url}/run?run={run_id}")
    address = dashboard.url.replace("http", "ws") + "/events"
    page.evaluate(FOLLOW_TOO, [address, f"runs {run_id}", 20])
    page.reload()
    page.evaluate(FOLLOW_TOO, [address, f"runs {run_id}", 20])
    expect(page.locator(".ecv-progress")).to_be_visible()
    page.wait_for_load_state("networkidle")
    store.add_fold(run_id, fold_result(0, 0.3), stopped_at=None)
    expect(page).to_have_title(re.compile("^▶ 2/10"))
    store.add_fold(run_id, fold_result(1, 0.4), stopped_at=None)
    expect(after(page, 2)).to_be_visible()
    expect(page).to_have_title(re.compile("^▶ 3/10"))
    store.finish(run_id, RunState.FINISHED)
    expect(page.get_by_role("link", name="Replay").last).to_be_visible()
    expect(page).not_to_have_title(re.compile("▶"))


def topics(said: str) -> list[str]:
    return [line for line in said.split("\n") if not line.startswith("shared ")]


def test_nothing_is_asked_while_nothing_changes_and_one_socket_serves_all_of_a_tab(
    page: Page, dashboard: Dashboard, store: Store, run_id: str
) -> None:
    sent = asked(page)
    shown: list[tuple[str, str]] = []  # socket, and what it says that the tab shows

    def note(socket: WebSocket) -> None:
        if socket.url.endswith("/events"):
            socket.on("framesent", lambda said: shown.append((str(socket), str(said))))

    page.on("websocket", note)
    page.goto(f"{dashboard.url}/run?run={run_id}")
    bar = page.locator(".ecv-progress")
    expect(bar).to_contain_text("fit 1 of 9")
    # The parts of the page come one after another: bar, sentence with numbers, figure.
    while not shown or shown[-1][1].count("shared ") < 3:
        page.wait_for_timeout(100)
    page.wait_for_timeout(2500)  # all that the page loads ahead is there
    assert len({socket for socket, _ in shown}) == 1
    assert topics(shown[-1][1]) == [f"folds {run_id}", "queue", "server", f"states {run_id}"]
    assert shown[-1][1].count("shared ") == 3
    sent.clear()
    said = bar.inner_text()
    page.wait_for_timeout(4000)
    assert sent == []
    assert bar.inner_text() != said  # the clock goes on
    store.set_progress(run_id, 0, "fit", 5, 9)
    expect(bar).to_contain_text("fit 5 of 9")
    expect(bar.get_by_role("progressbar")).to_have_attribute("aria-valuenow", "5")
    assert sent == []  # what all are shown comes by itself
    page.get_by_role("link", name="Learn", exact=True).click()
    page.wait_for_url(re.compile("/learn"))
    expect(bar).to_be_visible()
    page.wait_for_timeout(1000)
    assert len({socket for socket, _ in shown}) == 1
    assert topics(shown[-1][1]) == ["queue", "server"]
    assert shown[-1][1].count("shared ") == 1


def test_a_fold_is_seen_though_the_page_asks_for_nothing_but_its_table(
    page: Page, dashboard: Dashboard, store: Store, run_id: str
) -> None:
    store.add_fold(run_id, fold_result(0, 0.3), stopped_at=None)
    sent = asked(page)
    page.goto(f"{dashboard.url}/run?run={run_id}")
    answer = page.locator(".ecv-told")
    expect(answer).to_contain_text("1 of 10")
    expect(page.locator('.ecv-figure[data-drawn="true"]')).to_be_visible()
    page.wait_for_timeout(2500)  # all that the page loads ahead is there
    sent.clear()
    answer.get_by_text("Details").first.click()
    help_of_energy = answer.get_by_role("button", name="Help for Energy per fold")
    help_of_energy.focus()
    store.add_fold(run_id, fold_result(1, 0.4), stopped_at=None)
    expect(after(page, 2)).to_be_visible()
    expect(answer).to_contain_text("2 of 10")
    expect(answer).to_contain_text(" over these folds")
    expect(answer.get_by_role("alert")).to_contain_text("After 2 of 10 folds")
    expect(help_of_energy).to_be_focused()
    expect(answer.get_by_role("tooltip").first).to_be_visible()
    expect(page.get_by_role("region", name=re.compile("each of 2 folds"))).to_be_visible()
    page.wait_for_timeout(2000)
    assert len(sent) == 1  # the table's part


@pytest.mark.slow
def test_a_tab_in_the_background_asks_for_a_fold_and_not_for_a_step(
    page: Page, dashboard: Dashboard, store: Store, run_id: str
) -> None:
    page.add_init_script(BEHIND)
    sent = asked(page)
    page.goto(f"{dashboard.url}/run?run={run_id}")
    bar = page.locator(".ecv-progress")
    expect(bar).to_contain_text("fit 1 of 9")
    page.wait_for_timeout(2500)  # all that the page loads ahead is there
    sent.clear()
    store.set_progress(run_id, 0, "fit", 5, 9)
    expect(bar).to_contain_text("fit 5 of 9")
    assert sent == []
    store.add_fold(run_id, fold_result(0, 0.3), stopped_at=None)
    expect(page).to_have_title(re.compile("^▶ 2/10"))
    expect(page.locator(".ecv-card")).to_contain_text("1 of 10")
    page.evaluate(TO_FRONT)
    expect(bar).to_contain_text("fold 2 of 10")


@pytest.mark.slow
def test_an_open_page_follows_again_after_the_server_was_away(
    browser: Browser, dashboard: Dashboard, store: Store, run_id: str
) -> None:
    page = browser.new_page()  # where Streamlit may say that its server is away
    page.goto(f"{dashboard.url}/run?run={run_id}")
    expect(page.locator(".ecv-progress")).to_be_visible()
    expect(page.locator('.ecv-figure[data-drawn="true"]')).to_be_visible()
    page.wait_for_load_state("networkidle")
    dashboard.kill()
    page.wait_for_timeout(1000)
    dashboard.start()
    sockets: set[str] = set()
    page.on("websocket", lambda socket: sockets.add(socket.url.rpartition("/")[2]))
    end = time.monotonic() + 90  # Streamlit tries less and less often
    while sockets != {"events", "stream"}:
        assert time.monotonic() < end, f"it has only {sockets} again"
        page.wait_for_timeout(100)
    store.add_fold(run_id, fold_result(0, 0.3), stopped_at=None)
    store.add_fold(run_id, fold_result(1, 0.4), stopped_at=None)
    expect(after(page, 2)).to_be_visible(timeout=60_000)
    page.close()


@pytest.mark.slow
def test_where_events_do_not_come_through_a_page_still_follows_now_and_then(
    profile: BrowserContext, dashboard: Dashboard, store: Store, run_id: str
) -> None:
    with watched_tab(profile) as tab:
        tab.route_web_socket(re.compile("/events$"), lambda socket: socket.close())
        tab.goto(f"{dashboard.url}/run?run={run_id}")
        expect(tab.locator(".ecv-progress")).to_be_visible()
        store.add_fold(run_id, fold_result(0, 0.3), stopped_at=None)
        store.add_fold(run_id, fold_result(1, 0.4), stopped_at=None)
        expect(after(tab, 2)).to_be_visible()


@pytest.mark.slow
def test_a_step_to_another_page_is_not_lost_when_this_one_has_just_changed(
    profile: BrowserContext, dashboard: Dashboard, run_id: str
) -> None:
    """Streamlit takes what a page asks for between a step and the other page for a step back."""
    shown: dict[WebSocketRoute, list[str]] = {}
    news = ""  # one change for each step, from when it is asked until it is asked for that
    answered = False

    def tell() -> None:
        for socket, parts in shown.items():
            socket.send(json.dumps(dict.fromkeys(parts, news) if news else {}))

    def told(socket: WebSocketRoute) -> None:
        def parts(said: str | bytes) -> None:
            shown[socket] = [topic for topic in topics(str(said)) if topic != SERVER]
            tell()

        socket.on_message(parts)
        socket.on_close(lambda *_: shown.pop(socket, None))

    def asked(payload: str | bytes) -> None:
        nonlocal news, answered
        news, answered = "" if b"changed" in bytes(payload) else f"{10**12} another", False
        tell()

    def heard(payload: str | bytes) -> None:
        nonlocal answered
        answered |= ForwardMsg.FromString(bytes(payload)).WhichOneof("type") == "script_finished"

    def listen(socket: WebSocket) -> None:
        if socket.url.endswith("/_stcore/stream"):
            socket.on("framesent", asked)
            socket.on("framereceived", heard)

    def there(title: str) -> None:
        headed(tab, title)
        end = time.monotonic() + 60
        while news or not answered:
            assert time.monotonic() < end, "the page was not drawn anew"
            tab.wait_for_timeout(50)
        headed(tab, title)

    with watched_tab(profile) as tab:
        tab.route_web_socket(re.compile("/events$"), told)
        tab.on("websocket", listen)
        tab.goto(f"{dashboard.url}/runs")
        there("Runs")
        for _ in range(2):
            open_from_bar(tab, "Learn")
            there("Why hide part of the data?")
            tab.go_back()
            there("Runs")
            open_from_bar(tab, "Replay")
            there("Replay: see why it stopped")
            tab.go_back()
            there("Runs")
        assert tab.url == f"{dashboard.url}/runs"
