"""Replay, its presentation and the race in a real browser: all of it plays without the server."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Locator, Page, WebSocket, expect

from ecv_core.fold.spec import make_spec
from ecv_core.records.run import RunState
from ecv_core.store.store import open_store
from tests.browser.dashboard import Dashboard
from tests.browser.tab import followed
from tests.fake_folds import fold_result

pytestmark = pytest.mark.browser
PATIENT = 60_000


def open_page(page: Page, url: str) -> None:
    page.goto(url)
    expect(page.locator(".ecv-player button").first).to_be_visible(timeout=PATIENT)


def drawn(page: Page) -> Locator:
    figure = page.locator('.ecv-figure[data-drawn="true"]').first
    expect(figure).to_be_visible(timeout=PATIENT)
    return figure


def sentence(page: Page, words: str) -> None:
    found = page.locator(".ecv-sentence").first
    expect(found).to_contain_text(re.compile(words), timeout=PATIENT)


def test_it_plays_to_the_stop_without_the_server_and_the_arrow_keys_step(
    page: Page, dashboard: Dashboard
) -> None:
    sockets: list[WebSocket] = []
    sent: list[str | bytes] = []

    def listen(socket: WebSocket) -> None:
        sockets.append(socket)
        socket.on("framesent", lambda frame: sent.append(frame))

    page.on("websocket", listen)
    open_page(page, f"{dashboard.url}/replay")
    figure = drawn(page)
    sentence(page, "^After 2 folds:")  # there is an interval to look at
    page.get_by_role("combobox", name="Speed").select_option("4")
    followed(page)
    before = -1
    while before != len(sent):  # until what loading the page asks for is over
        before = len(sent)
        page.wait_for_timeout(1000)
    sent.clear()
    page.get_by_role("button", name="Play", exact=True).click()
    sentence(page, "so the interval is steady enough: stop")
    expect(
        page.get_by_role("button", name="Play", exact=True)
    ).to_be_visible()  # it paused by itself
    expect(figure).to_have_attribute("aria-label", re.compile("the rule stopped here"))
    expect(figure.get_by_text(re.compile("folds saved"))).to_be_visible()
    page.get_by_role("button", name="Play", exact=True).click()
    sentence(page, "Checked: the mean of all 10 folds")
    assert sockets
    assert sent == []
    page.keyboard.press("Home")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    sentence(page, "^After 2 folds:")
    page.keyboard.press("ArrowRight")
    sentence(page, "^After 3 folds:")
    page.keyboard.press("ArrowLeft")
    sentence(page, "^After 2 folds:")
    page.keyboard.press("ArrowLeft")
    sentence(page, "^After 1 fold:")
    page.get_by_role("button", name="Shuffle").click()
    expect(page.get_by_text("shuffled with seed 1")).to_be_visible(timeout=PATIENT)
    page.keyboard.press("ArrowRight")
    sentence(page, "^After 2 folds:")  # one step, also after the page was drawn anew
    expect(page).to_have_url(re.compile("fold=2"))
    page.reload()
    sentence(page, "^After 2 folds:")
    expect(page.get_by_text("shuffled with seed 1")).to_be_visible(timeout=PATIENT)


@pytest.mark.slow
def test_every_fold_of_many_is_in_the_figure_of_its_moment(
    page: Page, dashboard: Dashboard
) -> None:
    """Figures of few of the moments come to the browser, which cuts the others out of them."""
    store = open_store(dashboard.database_url)
    spec = make_spec(dataset="synthetic", algorithm="popular", k=200, rule="fixed", min_folds=100)
    (run_id,) = store.create([spec], owner="test")
    store.start(run_id, owner="test")
    for fold in range(200):
        store.add_fold(run_id, fold_result(fold, 0.3 + 0.01 * (fold % 3)), stopped_at=100)
    store.finish(run_id, RunState.FINISHED)
    said_one_later = {1: "after 2 of 200", 99: "after 100 of 200", 199: "the mean of all 200"}
    for n in (1, 50, 99, 150, 199):
        open_page(page, f"{dashboard.url}/replay?run={run_id}&fold={n}")
        has_all_folds_of_moment(drawn(page), n)
        if n in said_one_later:
            page.keyboard.press("ArrowRight")
            said = re.compile(said_one_later[n])
            expect(drawn(page)).to_have_attribute("aria-label", said)
            has_all_folds_of_moment(drawn(page), n + 1)


def has_all_folds_of_moment(figure: Locator, n: int) -> None:
    """Of a run of 200 folds that stopped after 100."""
    shown = figure.evaluate(
        """node => Object.fromEntries(node.data.filter((trace) => trace.name)
            .map(({ name, x }) => [name, Array.from(x)]))"""
    )
    used = min(n, 100)
    assert shown["mean so far"] == [*range(1, used + 1)]
    assert shown["score of one fold"] == [*range(1, used + 1)]
    assert shown.get("folds run to check", []) == [*range(used + 1, n + 1)]


@pytest.mark.slow
def test_the_presentation_shows_figure_sentence_and_what_it_is_and_escape_leaves_it(
    page: Page, dashboard: Dashboard
) -> None:
    page.set_viewport_size({"width": 1024, "height": 768})
    open_page(page, f"{dashboard.url}/replay?present=1&fold=4")
    figure = drawn(page)
    sentence(page, "so the interval is steady enough: stop")
    expect(page.get_by_role("heading")).to_have_count(0)
    expect(page.get_by_test_id("stHeader")).to_be_hidden()
    for one in page.get_by_test_id("stSelectbox").all():
        expect(one).to_be_hidden()
    hint = page.locator(".ecv-keys")
    expect(hint).to_contain_text("Space")
    expect(hint).to_contain_text("Esc")
    for part in (page.locator(".ecv-sentence").first, figure, hint):
        box = part.bounding_box()
        assert box is not None
        assert box["y"] >= 0
        assert box["y"] + box["height"] <= 768
    size = page.locator(".ecv-sentence").first.evaluate(
        "p => parseFloat(getComputedStyle(p).fontSize)"
    )
    assert size >= 28
    page.keyboard.press("ArrowLeft")
    sentence(page, "^After 3 folds:")
    page.keyboard.press(" ")
    sentence(page, "so the interval is steady enough: stop")
    wide = drawn(page).evaluate("node => node.clientWidth")
    page.keyboard.press("Escape")
    expect(page.get_by_role("heading", name="Replay")).to_be_visible(timeout=PATIENT)
    page.wait_for_function(
        "wide => document.querySelector('.ecv-figure').clientWidth < wide",
        arg=wide,
        timeout=PATIENT,
    )
    sentence(page, "so the interval is steady enough: stop")
    assert "present" not in page.url
    narrow = drawn(page).evaluate("node => node.clientWidth")
    page.get_by_role("button", name="Present").click()
    expect(page.get_by_test_id("stHeader")).to_be_hidden(timeout=PATIENT)
    expect(page.get_by_text("ItemKNN on MovieLens 100K, nDCG@10, alpha 1e-4")).to_be_visible()
    page.wait_for_function(
        """narrow => {
          const node = document.querySelector(".ecv-figure");
          return node.clientWidth > narrow && node._fullLayout?.width === node.clientWidth;
        }""",
        arg=narrow,
        timeout=PATIENT,
    )


@pytest.mark.slow
def test_the_race_ends_with_what_was_saved_and_moves_less_if_that_is_wanted(
    page: Page, dashboard: Dashboard
) -> None:
    open_page(page, f"{dashboard.url}/replay?view=Race")
    lanes = page.locator(".ecv-lane-says")
    expect(lanes.first).to_contain_text("0 of 10 folds")
    page.get_by_role("button", name="Play", exact=True).click()
    expect(lanes.first).to_contain_text("stopped after", timeout=PATIENT)
    expect(lanes.nth(1)).not_to_contain_text("done")
    expect(lanes.nth(1)).to_contain_text("done after all 10 folds", timeout=PATIENT)
    expect(page.locator(".ecv-verdict")).to_contain_text(
        re.compile(r"differs by [\d.]+ % from that of all 10")
    )
    saved = page.locator(".ecv-counter dd").first
    assert float(re.findall(r"[\d.]+", saved.inner_text())[0]) > 0
    page.keyboard.press("Home")
    expect(lanes.nth(1)).to_contain_text("0 of 10 folds")
    expect(saved).to_contain_text(re.compile(r"^0\.?0* "))
    page.emulate_media(reduced_motion="reduce")  # who wants less motion sees whole folds only
    page.evaluate(
        "window.seen = [];"
        "window.addEventListener('ecv-progress', () => seen.push(ecvProgress.race));"
    )
    page.get_by_role("button", name="Play", exact=True).click()
    expect(page.locator(".ecv-lane-says").first).to_contain_text("stopped", timeout=PATIENT)
    seen = page.evaluate("window.seen")
    assert seen
    assert all(float(one).is_integer() for one in seen)
