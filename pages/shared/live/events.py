"""What open pages are told: that something has changed, and what all who watch are shown alike.

A part of a page follows topics, such as `runs 1a2b3c`, and has of each the version that it shows:
a hash of what goes on, with a key of this process. Every page has one WebSocket on which it says
its topics, and is told their versions whenever these have changed. One look at the database serves
all of them; while no page follows anything, nobody looks.

What looks the same to all, such as a run's figure, is made once for each change and sent to those
who hold a token of it. A session is given one when a page is drawn for somebody who may see it, and
it ends with the session. Whoever has none is told versions, which say nothing of what has changed.

A WebSocket and no server-sent events: browsers open six connections to a server for those, and the
seventh tab would wait for ever; a server that ends waits for them; and a proxy that lets no
WebSocket through lets Streamlit not through either.
"""

from __future__ import annotations

import asyncio
import json
import logging
import math
import time
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import blake2b
from secrets import token_bytes, token_urlsafe
from weakref import WeakValueDictionary

from starlette.websockets import WebSocket, WebSocketDisconnect

from ecv_core.records.errors import EcvError
from ecv_core.store.activity import Activity, current_activity
from pages.shared.live.state import manager, store

log = logging.getLogger(__name__)

ALL = "all"
QUEUE = "queue"
RUNS = "runs"
STATES = "states"
FOLDS = "folds"
STEPS = "steps"
SERVER = "server"
_SHARED = "shared"

_BUSY_SECONDS = 0.5
"""Between two looks while something runs."""
_IDLE_SECONDS = 2.0
"""Between two looks while nothing runs."""
_LEAST_SECONDS = 0.1
"""Between two looks, whatever happens."""
_SECONDS_OF_WAIT = 1.0
"""Between two times that pages are told of slow topics: at least."""
_SECONDS_OF_WAIT_PER_PAGE = 0.3
"""The same for each page: the more watch the less often each draws, and together they leave the
machine to the fold."""
_TOLERATED_SECONDS = 0.2
"""A look that is so much too early counts, since the next comes half a second later."""
_PAGE_HAS_GONE = (WebSocketDisconnect, RuntimeError)
"""What sending to a page that has just gone raises; closing it, too."""
_PATIENCE_SECONDS = 2.0
"""For a page that does not take what it is told: it is told nothing more."""
_MOST_CHARACTERS = 4000
"""That a page may say."""
_MOST_LINES = 20
"""That a page may say."""


def _activity() -> Activity:
    """What goes on. The database may have to be opened for it, so not on the server's loop."""
    return current_activity(store())


def _trouble(activity: Activity) -> str | None:
    """Why no run can go on, while any should."""
    if not activity.runs:
        return None
    return manager().trouble


# The topics of each kind show something of all that goes on, or of the runs with these ids.


def _all_runs(activity: Activity, _ids: Sequence[str]) -> Hashable:
    return (activity.stages, activity.removed, activity.newest_fold, _trouble(activity))


def _queue(activity: Activity, _ids: Sequence[str]) -> Hashable:
    waiting = tuple((run.run_id, run.state, run.queued_at) for run in activity.runs)
    return (waiting, _trouble(activity))


def _some_runs(activity: Activity, ids: Sequence[str]) -> Hashable:
    return (activity.of(ids), activity.removed)


def _folds(activity: Activity, ids: Sequence[str]) -> Hashable:
    return activity.of(ids)


def _states(activity: Activity, ids: Sequence[str]) -> Hashable:
    states = tuple((run_id, state, folds > 0) for run_id, state, folds in activity.of(ids))
    return (states, activity.removed)


def _steps(activity: Activity, _ids: Sequence[str]) -> Hashable:
    return (activity.stages, activity.steps)


def _nothing(_now: Activity, _ids: Sequence[str]) -> Hashable:
    return None


_CONTENT_OF_KIND: dict[str, Callable[[Activity, Sequence[str]], Hashable]] = {
    ALL: _all_runs,
    QUEUE: _queue,
    RUNS: _some_runs,
    FOLDS: _folds,
    STATES: _states,
    STEPS: _steps,
    SERVER: _nothing,
}
"""Kind of a topic -> what it shows; a page is told once this is different."""
_SLOW_KINDS = (FOLDS, STEPS)
"""Kinds of topics that pages are told only every few seconds, as the parts that follow them need
not be drawn anew at once."""


def topic(kind: str, ids: Sequence[str]) -> str:
    """What a part of a page can follow.

    Args:
        kind: One of these.
            ALL: beginning, folds and end of every run.
            QUEUE: which run, which wait, and why none can.
            RUNS: beginning, folds and end of the runs with these ids.
            FOLDS: the same, told less often the more watch.
            STATES: beginning and end of these runs, and of their folds only the first.
            STEPS: how far the folds are that are computed.
            SERVER: nothing of runs, and so another version only of another server, or after the
            database was away.
        ids: The ids of the runs.
    """
    return " ".join([kind, *ids])


@dataclass(frozen=True)
class Feed:
    """What all who watch are shown alike: entries of a component's data."""

    name: str
    """No other feed has it."""
    topics: tuple[str, ...]
    """What it shows; it is made anew when one of them has another version."""
    make: Callable[[Activity], Mapping[str, object] | None] = field(compare=False)
    """Gives the entries from what goes on alone; None where there is nothing to show any more."""


@dataclass(frozen=True, eq=False)
class Grant:
    """That a session is told a feed. The session alone keeps it, so that it ends with that."""

    feed: Feed
    until: float = math.inf
    """The time, in Unix seconds, at which it ends in any case."""
    token: str = field(default_factory=lambda: token_urlsafe(16))


@dataclass(frozen=True, eq=False)
class _FeedMessage:
    """What pages are sent of a feed after one look."""

    versions: Sequence[str]
    """Of the topics of the feed."""
    text: str | None
    """The entries of the feed as JSON; None where there is nothing to show."""


@dataclass
class _Page:
    """An open page: what it follows, and what it was sent last."""

    topics: Sequence[str]
    tokens: Sequence[str]
    sent_versions: Mapping[str, str] = field(default_factory=dict)
    """Topic -> the moment of a look and the version then."""
    sent_messages: Sequence[_FeedMessage] = ()


@dataclass
class Events:
    """Who follows what, and the last look at it. All of it happens on the server's loop."""

    _pages: dict[WebSocket, _Page] = field(default_factory=dict)
    _new_page: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when a page says what it follows, which shall not wait for the next look."""
    _key: bytes = field(default_factory=lambda: token_bytes(16))
    _activity_for_slow_topics: Activity | None = None
    """The look that pages were last told of slow topics."""
    _grants: WeakValueDictionary[str, Grant] = field(default_factory=WeakValueDictionary)
    _message_of_feed: Mapping[Feed, _FeedMessage] = field(default_factory=dict)
    """Of each feed that a page follows, as it was at the last look."""

    def grant(self, feed: Feed, until: float = math.inf) -> Grant:
        """A token of the feed, for the session of somebody who may see it until this time."""
        grant = Grant(feed, until)
        self._grants[grant.token] = grant
        return grant

    def version(self, topic: str, activity: Activity) -> str:
        """Differs once what the topic shows does.

        Raises:
            EcvError: If the database cannot be used.
        """
        kind, *ids = topic.split()
        shown = repr(_CONTENT_OF_KIND[kind](activity, ids)).encode()
        return blake2b(shown, digest_size=8, key=self._key).hexdigest()

    async def serve_page(self, socket: WebSocket) -> None:
        """Tell a page for as long as it is open: the route's endpoint."""
        await socket.accept()
        try:
            while True:
                message = await socket.receive()
                if message["type"] != "websocket.receive":
                    return
                page = _page_of_message(message.get("text") or "")
                if page is None:
                    with suppress(*_PAGE_HAS_GONE):
                        await socket.close()
                    return
                self._pages[socket] = page
                self._new_page.set()
        finally:
            self._pages.pop(socket, None)

    async def tell_pages_of_changes(self) -> None:
        """Look what goes on, and tell pages what has changed; again and again until cancelled."""
        while True:
            if not self._pages:
                await self._new_page.wait()
            self._new_page.clear()
            seconds = _IDLE_SECONDS
            if await self._tell_pages_once():
                seconds = _BUSY_SECONDS
            await asyncio.sleep(_LEAST_SECONDS)
            with suppress(TimeoutError):
                await asyncio.wait_for(self._new_page.wait(), seconds - _LEAST_SECONDS)

    async def _tell_pages_once(self) -> bool:
        """Whether anything runs; False where that could not be seen or told, which is logged."""
        feeds: set[Feed] = set()
        for page in self._pages.values():
            feeds.update(grant.feed for grant in self._grants_of(page))
        try:
            activity = await asyncio.to_thread(_activity)
            self._message_of_feed = await asyncio.to_thread(self._messages_of, feeds, activity)
            await self._send_changes(activity)
        except EcvError as error:  # a database may be away for a while
            log.warning("what goes on could not be seen: %s", error)
            # Another key changes every version, so that pages that show the error are drawn anew.
            self._key = token_bytes(16)
            return False
        except Exception:
            # An error of any kind must not end the loop: pages are told again after the next look.
            log.exception("pages could not be told what goes on")
            return False
        return bool(activity.runs)

    def _grants_of(self, page: _Page) -> list[Grant]:
        """Those of its tokens that have not ended."""
        grants = []
        for token in page.tokens:
            grant = self._grants.get(token)
            if grant is not None and grant.until > time.time():
                grants.append(grant)
        return grants

    def _messages_of(self, feeds: Iterable[Feed], activity: Activity) -> dict[Feed, _FeedMessage]:
        return {feed: self._message_now(feed, activity) for feed in feeds}

    def _message_now(self, feed: Feed, activity: Activity) -> _FeedMessage:
        """What a feed shows now; the last message while its topics have the same versions."""
        last_message = self._message_of_feed.get(feed)
        versions = [self.version(topic, activity) for topic in feed.topics]
        if last_message is not None and last_message.versions == versions:
            return last_message
        try:
            entries = feed.make(activity)
        except EcvError:
            raise  # the database is away for all feeds; the caller logs this once
        except Exception:  # an error of one feed must not hide the others
            log.exception("%s could not be shown", feed.name)
            entries = None
        if not entries:
            return _FeedMessage(versions, text=None)
        content = {_SHARED: feed.name, "moment": activity.moment, "entries": entries}
        return _FeedMessage(versions, json.dumps(content))

    async def _send_changes(self, activity: Activity) -> None:
        """Send all pages what has changed, and drop those that do not take it."""
        versions = self._versions(activity)
        sockets = list(self._pages)
        sending = []
        for socket, page in self._pages.items():
            # Both calls note on the page that what they return counts as sent.
            texts = self._take_new_messages(page)
            changed_versions = self._take_changed_versions(page, versions, activity)
            if changed_versions:
                texts.append(json.dumps(changed_versions))
            sending.append(_send(socket, texts))
        errors = await asyncio.gather(*sending, return_exceptions=True)
        for socket, error in zip(sockets, errors, strict=True):
            # A page that does not take messages is told nothing more.
            if isinstance(error, TimeoutError):
                self._pages.pop(socket, None)
            elif error and not isinstance(error, _PAGE_HAS_GONE):
                raise error

    def _versions(self, activity: Activity) -> dict[str, str]:
        """Each topic that a page follows -> the moment of its look, and its version then."""
        activity_for_slow_topics = self._update_slow_topics(activity)
        topics: set[str] = set()
        for page in self._pages.values():
            topics.update(page.topics)
        versions = {}
        for topic in topics:
            activity_told = activity
            if topic.startswith(_SLOW_KINDS):
                activity_told = activity_for_slow_topics
            # The page is drawn anew only for a version that is newer than what it shows.
            versions[topic] = f"{activity_told.moment} {self.version(topic, activity_told)}"
        return versions

    def _update_slow_topics(self, newest: Activity) -> Activity:
        """What pages are told of slow topics: the newest look, but not too often.

        Every page is drawn anew after the wait, so it is longer the more pages watch.
        """
        wait = max(_SECONDS_OF_WAIT, _SECONDS_OF_WAIT_PER_PAGE * len(self._pages))
        told_last = self._activity_for_slow_topics
        if told_last is not None and newest.moment - told_last.moment < wait - _TOLERATED_SECONDS:
            return told_last
        self._activity_for_slow_topics = newest
        return newest

    def _take_new_messages(self, page: _Page) -> list[str]:
        """The texts of the messages that a page was not sent yet; from now on they count as sent.

        A page is sent the messages of those feeds alone of which it holds a grant.
        """
        messages_of_page = []
        new_texts = []
        for grant in self._grants_of(page):
            message = self._message_of_feed.get(grant.feed)
            if message is None:  # a page that was opened after the last look waits for the next
                continue
            messages_of_page.append(message)
            if message.text and message not in page.sent_messages:
                new_texts.append(message.text)
        page.sent_messages = messages_of_page
        return new_texts

    def _take_changed_versions(
        self, page: _Page, versions: Mapping[str, str], activity: Activity
    ) -> Mapping[str, str]:
        """Versions of all that a page follows, once any differs from what it was sent; else none.

        From now on these count as sent.
        """
        newest = {topic: versions[topic] for topic in page.topics}
        if SERVER in newest and len(self._grants_of(page)) < len(page.tokens):
            # A token has ended. A version that the page was never sent has all of it drawn anew,
            # with tokens that its session has now.
            newest[SERVER] = f"{activity.moment} ended"
        for topic, version in newest.items():
            sent_version = page.sent_versions.get(topic, "")
            if _without_moment(version) != _without_moment(sent_version):
                page.sent_versions = newest
                return newest
        return {}


async def _send(socket: WebSocket, texts: Sequence[str]) -> None:
    async with asyncio.timeout(_PATIENCE_SECONDS):
        for text in texts:
            await socket.send_text(text)


def _without_moment(version: str) -> str:
    """A version without the moment of its look."""
    _, _, shown = version.rpartition(" ")
    return shown


def _page_of_message(text: str) -> _Page | None:
    """The topics and tokens that a page says, one a line; None where it says anything else."""
    # Each line of the text is 'shared TOKEN', or a topic such as 'runs 1a2b 3c4d'.
    lines = text.split("\n")
    if len(lines) > _MOST_LINES or len(text) > _MOST_CHARACTERS:
        return None
    topics = []
    tokens = []
    for line in lines:
        kind, _, token_or_ids = line.partition(" ")
        if kind == _SHARED:
            tokens.append(token_or_ids)
        elif kind in _CONTENT_OF_KIND:
            topics.append(line)
        else:
            return None  # no page of this dashboard sends such a line
    return _Page(topics, tokens)


events = Events()
"""Of this process."""
