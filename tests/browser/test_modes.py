"""A team signs in at a real provider, and visitors are known by a cookie, in real browsers."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import psutil
import pytest
from playwright.sync_api import Browser, Page, WebSocket, expect
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

from ecv_core.store.store import open_store
from pages.shared.live.tabs import BROWSER
from tests.browser.dashboard import Dashboard
from tests.browser.provider import CLIENT, CLIENT_SECRET, Provider, provider
from tests.browser.stranger import Stranger, half_a_message
from tests.browser.tab import watched_tab

pytestmark = [pytest.mark.browser, pytest.mark.slow]

ADA = {"sub": "1", "name": "Ada", "email": "ada@example.org", "email_verified": True}
VERA = {"sub": "2", "name": "Vera", "email": "vera@example.org", "email_verified": True}

ROWS = "\n".join(["user,item", *(f"u{user},i{item}" for user in range(6) for item in range(6))])


def start(page: Page) -> str:
    """Press Start; gives the id of the run once its page is open."""
    page.get_by_role("button", name="Start", exact=True).click()
    page.wait_for_url("**/*run=*")
    return page.url.rpartition("run=")[2]


def signed_in(page: Page, dashboard: Dashboard, who: Provider, claims: dict[str, object]) -> None:
    who.person = claims
    page.goto(f"{dashboard.url}/account")  # as it was kept from the last time
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("link", name="Learn", exact=True)).to_be_visible()


@pytest.fixture(scope="module")
def started_team(
    tmp_path_factory: pytest.TempPathFactory, data_dir: Path
) -> Iterator[tuple[Dashboard, Provider]]:
    """A dashboard of a team with one editor, and the provider that its people sign in at."""
    folder = tmp_path_factory.mktemp("team")
    dashboard = Dashboard(
        folder,
        data_dir,
        ECV_MODE="team",
        ECV_EDITORS="ada@example.org",
        STREAMLIT_SECRETS_FILES=str(folder / "secrets.toml"),
    )
    with provider(f"{dashboard.url}/oauth2callback") as who:
        (folder / "secrets.toml").write_text(
            "[auth]\n"
            f'redirect_uri = "{dashboard.url}/oauth2callback"\n'
            'cookie_secret = "a secret of thirty-two characters"\n'
            f'client_id = "{CLIENT}"\n'
            f'client_secret = "{CLIENT_SECRET}"\n'
            f'server_metadata_url = "{who.issuer}/.well-known/openid-configuration"\n'
        )
        dashboard.start()
        try:
            yield dashboard, who
        finally:
            dashboard.stop()


@pytest.fixture
def team(started_team: tuple[Dashboard, Provider]) -> Iterator[tuple[Dashboard, Provider]]:
    """That dashboard, nothing running and nothing in its database."""
    dashboard, who = started_team
    dashboard.empty()
    yield dashboard, who
    assert dashboard.complaints() == []


def test_a_team_signs_in_and_each_has_their_own_rights(
    browser: Browser, team: tuple[Dashboard, Provider]
) -> None:
    dashboard, who = team
    with watched_tab(browser) as ada, watched_tab(browser) as vera:
        ada.goto(f"{dashboard.url}/runs")
        expect(ada.get_by_text("This dashboard belongs to a team.")).to_be_visible()
        expect(ada.get_by_role("link", name="Learn", exact=True)).to_have_count(0)
        expect(ada.get_by_text("No runs yet.")).to_have_count(0)
        signed_in(ada, dashboard, who, ADA)
        ada.goto(f"{dashboard.url}/run")
        run_id = start(ada)
        assert open_store(dashboard.database_url).run(run_id).started_by == (f"{who.issuer}#1")
        expect(ada.get_by_text("Started by you.")).to_be_visible()
        signed_in(vera, dashboard, who, VERA)
        vera.goto(f"{dashboard.url}/run?run={run_id}")
        expect(vera.get_by_text("Started by Ada.")).to_be_visible()
        expect(vera.get_by_role("button", name="Cancel")).to_have_count(0)
        vera.get_by_role("button", name="New run").click()
        expect(vera.get_by_role("button", name="Start", exact=True)).to_be_disabled()
        expect(vera.get_by_text("You are a viewer here and cannot start")).to_be_visible()
        vera.goto(f"{dashboard.url}/account")
        second = vera.context.new_page()
        second.goto(f"{dashboard.url}/account")
        expect(second.get_by_role("link", name="Learn", exact=True)).to_be_visible()
        copied = vera.context.cookies()
        vera.get_by_role("button", name="Sign out").click()
        expect(vera.get_by_role("button", name="Sign in")).to_be_visible()
        second.get_by_role("link", name="Learn", exact=True).click()
        expect(second.get_by_role("button", name="Sign in")).to_be_visible()
        ada.context.clear_cookies()
        ada.context.add_cookies(copied)
        ada.goto(f"{dashboard.url}/account")
        expect(ada.get_by_role("button", name="Sign in")).to_be_visible()


def sessions_of(page: Page) -> list[str]:
    """The ids that the server gives a page's sessions from now on, as they come."""
    ids: list[str] = []

    def read(payload: str | bytes) -> None:
        session = ForwardMsg.FromString(bytes(payload)).new_session.initialize.session_id  # type: ignore[arg-type]
        if session and session not in ids:
            ids.append(session)

    def listen(opened: WebSocket) -> None:
        if opened.url.endswith("/_stcore/stream"):
            opened.on("framereceived", read)

    page.on("websocket", listen)
    return ids


def test_what_was_there_before_the_sign_in_is_worth_nothing_after(
    browser: Browser, team: tuple[Dashboard, Provider]
) -> None:
    """Neither a session nor a cookie that others know or have set is Ada's once she signs in."""
    dashboard, who = team
    planted = "set-by-somebody-else"
    with watched_tab(browser) as ada:
        ada.context.add_cookies([{"name": BROWSER, "value": planted, "url": dashboard.url}])
        ids = sessions_of(ada)
        ada.goto(f"{dashboard.url}/account")
        expect(ada.get_by_role("button", name="Sign in")).to_be_visible()
        (before,) = ids
        signed_in(ada, dashboard, who, ADA)
        after = ids[-1]
        assert after != before
        names = [cookie["value"] for cookie in ada.context.cookies() if cookie["name"] == BROWSER]
        assert len(names) == 1
        assert names != [planted]
        for session in (before, after):
            with Stranger(
                dashboard.port, session=session, cookie=f"{BROWSER}={planted}"
            ) as stranger:
                assert stranger.session != after
                assert list(stranger.buttons) == ["Sign in"]
        ada.get_by_role("link", name="Learn", exact=True).click()  # it is still hers
        expect(ada.get_by_role("button", name="Sign in")).to_have_count(0)


def test_strangers_and_viewers_send_a_team_no_files_and_fill_no_memory(
    browser: Browser, team: tuple[Dashboard, Provider]
) -> None:
    dashboard, who = team
    with watched_tab(browser) as ada, Stranger(dashboard.port) as stranger, ExitStack() as sockets:
        signed_in(ada, dashboard, who, ADA)
        assert dashboard.process is not None
        server = psutil.Process(dashboard.process.pid)
        before = server.memory_info().rss
        for name in ("a", "b", "c"):
            assert stranger.upload(bytes(100 << 20), name) in (403, 0)
        for path in ("/_stcore/stream", "/events"):
            sockets.enter_context(half_a_message(dashboard.port, path, 190 << 20, 150 << 20))
        assert server.memory_info().rss - before < 50 << 20
        ada.goto(f"{dashboard.url}/data")
        ada.locator("input[type=file]").set_input_files(
            {"name": "shop.csv", "mimeType": "text/csv", "buffer": ROWS.encode()}
        )
        expect(ada.get_by_text("36").first).to_be_visible()


def test_who_signed_in_an_hour_ago_signs_in_again(
    browser: Browser, team: tuple[Dashboard, Provider]
) -> None:
    """So somebody who was removed at the provider is out within an hour, also of an open tab."""
    dashboard, who = team
    with watched_tab(browser) as vera:
        begin = time.time()
        signed_in(vera, dashboard, who, VERA)
        signing_in = time.time() - begin
    with watched_tab(browser) as ada:
        # The rest of her hour is enough for signing in, however slow this machine is.
        signed_in_at = int(time.time() + 10 + 3 * signing_in) - 3600
        signed_in(ada, dashboard, who, {**ADA, "iat": signed_in_at})
        while time.time() < signed_in_at + 3600:
            time.sleep(0.1)
        ada.get_by_role("link", name="Learn", exact=True).click()
        expect(ada.get_by_text("This dashboard belongs to a team.")).to_be_visible()
        expect(ada.get_by_role("link", name="Learn", exact=True)).to_have_count(0)
        signed_in(ada, dashboard, who, ADA)


def test_a_visitor_is_known_again_after_a_reload_and_is_not_another(
    browser: Browser, tmp_path: Path, data_dir: Path
) -> None:
    dashboard = Dashboard(tmp_path, data_dir, ECV_MODE="public")
    dashboard.start()
    try:
        with watched_tab(browser) as mine, watched_tab(browser) as other:
            mine.goto(f"{dashboard.url}/run")
            run_id = start(mine)
            mine.reload()
            expect(mine.get_by_text("Started by you.")).to_be_visible()
            (cookie,) = [one for one in mine.context.cookies() if one["name"] == "ecv_visitor"]
            assert len(cookie["value"]) == 32
            assert cookie["httpOnly"]
            other.goto(f"{dashboard.url}/run?run={run_id}")
            expect(other.get_by_role("heading", name="ItemKNN on Synthetic")).to_be_visible()
            expect(other.get_by_text("Started by you.")).to_have_count(0)
            store = open_store(dashboard.database_url)
            assert cookie["value"] not in store.run(run_id).started_by
        assert dashboard.complaints() == []
    finally:
        dashboard.stop()
