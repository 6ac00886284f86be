"""A browser tab that fails its test if a page writes errors to the console."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit

from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, ViewportSize, expect

VIEW: ViewportSize = {"width": 1280, "height": 900}
PATIENCE = 60_000
"""Milliseconds until a state that never came is a failure: other programs may have the machine."""

ASKED_EVERYWHERE = ("/_stcore/health", "/_stcore/host-config", "/healthz")
"""Streamlit asks for its own two below a page's own path first (404); all of them are asked for
while the server is away."""


STILL = """addEventListener("DOMContentLoaded", () => {
  const still = document.createElement("style");
  still.textContent =
    "*, ::before, ::after { animation: none !important; transition: none !important }";
  document.head.append(still);
})"""
"""Nothing moves by itself: every frame of Streamlit's animations costs a processor."""


STANDS = """(node) => new Promise((stands) => {
  let last = "", frames = 0;
  const look = () => {
    const now = [node, ...node.querySelectorAll("canvas")]
      .map((one) => Object.values(one.getBoundingClientRect().toJSON()).join()).join("|");
    frames = now === last ? frames + 1 : 0;
    last = now;
    if (frames < 10) requestAnimationFrame(look); else stands();
  };
  look();
})"""
"""Waits until a node has kept its place and size for ten frames."""


def is_expected(message: ConsoleMessage) -> bool:
    """Whether this is written on every page anyway, or while the server restarts."""
    if "disconnected from server" in message.text:
        return True
    killed = ("ERR_CONNECTION_REFUSED", "ERR_CONNECTION_RESET")  # or while its handshake goes on
    if "/events' failed" in message.text and any(one in message.text for one in killed):
        return True
    path = urlsplit(message.location.get("url", "")).path
    return "Failed to load resource" in message.text and path.endswith(ASKED_EVERYWHERE)


def click_row(page: Page, row: int, *, at: int = 22) -> None:
    """Click on a row of the table of all runs, which is painted and so has no elements.

    Args:
        page: on Runs.
        row: from 1.
        at: pixels from the left; by default its box, which picks the row.
    """
    table = page.get_by_test_id("stDataFrame")
    table.locator("canvas").first.wait_for()
    followed(page)
    table.evaluate(STANDS)  # its columns find their widths
    box = table.bounding_box()
    assert box is not None
    page.mouse.click(box["x"] + at, box["y"] + 18 + 35 * row)


SECTIONS = {
    "Evaluate": ("Run", "Which is best?", "How many folds?"),
    "Results": ("Runs", "Replay"),
    "Studies": ("Studies", "Splits", "Baselines"),
}
"""Of the bar -> the pages behind it; the others stand in the bar themselves."""


def open_from_bar(page: Page, name: str) -> None:
    """Go to a page as a person does, by the bar at the top."""
    bar = page.get_by_test_id("stTopNav")
    for section, names in SECTIONS.items():
        if name in names:
            bar.get_by_text(section, exact=True).click()
            page.get_by_role("menuitem", name=name, exact=True).click()
            return
    bar.get_by_text(name, exact=True).click()


def headed(tab: Page, title: str) -> None:
    """Wait until the page with this title is there."""
    expect(tab.get_by_role("heading", level=1)).to_have_text(title, timeout=PATIENCE)


def drawn(page: Page) -> None:
    """Wait until every figure in sight is drawn, and what is drawn is on the screen."""
    page.wait_for_function(
        "() => [...document.querySelectorAll('.ecv-figure')]"
        ".every(one => one.dataset.drawn === 'true' || !one.checkVisibility())"
    )
    page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")


def followed(page: Page) -> None:
    """Wait until the page has followed the last press: what is old is pale until then."""
    expect(page.get_by_test_id("stStatusWidget")).to_have_count(0)
    expect(page.locator('[data-stale="true"]')).to_have_count(0)


@contextmanager
def watched_tab(where: Browser | BrowserContext) -> Iterator[Page]:
    """A tab of its own session.

    Args:
        where: a browser, for a tab that knows nothing of others; or a context, which keeps what
            was loaded before, and nothing that a page put aside.
    """
    context = where.new_context(viewport=VIEW) if isinstance(where, Browser) else where
    context.set_default_timeout(PATIENCE)
    pages_before = context.pages
    tab = context.new_page()
    tab.add_init_script(STILL)
    errors: list[str] = []

    def note(message: ConsoleMessage) -> None:
        if message.type == "error" and not is_expected(message):
            errors.append(f"{message.text} ({message.location.get('url', '')})")

    tab.on("console", note)
    tab.on("pageerror", lambda error: errors.append(str(error)))
    try:
        yield tab
    finally:
        if context is where:
            if tab.url.startswith("http"):
                tab.evaluate("localStorage.clear()")
            # Those that its test opened, too: they would be drawn again in all tests to come.
            for page in context.pages:
                if page not in pages_before:
                    page.close()
            context.clear_cookies()
            context.clear_permissions()
        else:
            context.close()
    assert not errors, errors
