"""Pages that look alike: one draws, and the others are sent what it drew otherwise than before."""

import json

import pytest
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.runtime.forward_msg_cache import populate_hash_if_needed

from ecv_core.store import Going
from pages.components.shared import alike as module
from pages.components.shared import push
from pages.components.shared.alike import Alike, Part
from pages.components.shared.drawing import Drawing


def _sealed(message: ForwardMsg, place: int) -> ForwardMsg:
    message.metadata.delta_path[:] = [0, place]
    populate_hash_if_needed(message)
    return message


def _text(place: int, text: str) -> ForwardMsg:
    message = ForwardMsg()
    message.delta.new_element.markdown.body = text
    return _sealed(message, place)


def _button(place: int, label: str, file_id: str) -> ForwardMsg:
    message = ForwardMsg()
    message.delta.new_element.download_button.label = label
    message.delta.new_element.download_button.deferred_file_id = file_id
    return _sealed(message, place)


def _block(place: int, *, wide: bool = False) -> ForwardMsg:
    message = ForwardMsg()
    message.delta.add_block.allow_empty = wide
    return _sealed(message, place)


def test_a_drawing_differs_from_another_by_what_is_written_elsewhere_or_anew():
    before = Drawing.of([_block(0), _text(1, "2 folds"), _text(2, "ease")])
    after = Drawing.of([_block(0), _text(1, "3 folds"), _text(2, "ease")])
    changes, whole = after.changes(before)
    assert [one.delta.new_element.markdown.body for one in changes] == ["3 folds"]
    assert whole
    assert after.changes(after) == ([], True)
    assert after.look != before.look


@pytest.mark.parametrize(
    "after",
    [
        [_block(0), _text(1, "2 folds"), _text(2, "stopped")],
        [_block(0)],
        [_text(0, "2 folds"), _text(1, "2 folds")],
        [_block(0, wide=True), _text(1, "2 folds")],
        [_block(0), _button(1, "Resume", "a")],
    ],
    ids=["more", "less", "no block", "another block", "another kind"],
)
def test_another_shape_is_not_all_that_can_be_sent(after):
    _, whole = Drawing.of(after).changes(Drawing.of([_block(0), _text(1, "2 folds")]))
    assert not whole


def test_of_another_shape_what_stays_in_its_place_can_be_sent():
    before = Drawing.of([_text(0, "no fold"), _text(1, "none yet"), _block(2)])
    after = Drawing.of([_text(0, "1 fold"), _block(1), _block(2), _button(3, "CSV", "a")])
    changes, whole = after.changes(before)
    assert [one.delta.new_element.markdown.body for one in changes] == ["1 fold"]
    assert not whole


def test_what_every_page_has_of_its_own_is_no_difference_and_is_never_sent():
    mine = Drawing.of([_button(0, "CSV", "file of mine"), _text(1, "2 folds")])
    yours = Drawing.of([_button(0, "CSV", "file of yours"), _text(1, "2 folds")])
    assert mine.look == yours.look
    assert mine.changes(yours) == ([], True)
    other = Drawing.of([_button(0, "CSV of 3", "file of mine"), _text(1, "2 folds")])
    assert other.changes(yours) == ([], False)


def test_a_message_that_is_no_element_makes_no_drawing():
    told = ForwardMsg()
    told.page_info_changed.query_string = "show=ease"
    assert Drawing.of([_text(0, "2 folds"), told]) is None


class _Pages:
    """Three pages of one run with two finished folds, and what each is sent."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.sent = {name: [] for name in "abc"}
        monkeypatch.setattr(push, "push", lambda to, many: self.sent[to].extend(many) or True)
        self.clock = [0.0]
        monkeypatch.setattr(module, "monotonic", lambda: self.clock[0])
        self.parts = {name: {"run": self.part(2)} for name in "abc"}
        self.alike = Alike()

    def part(self, folds: int, *more: ForwardMsg, choice: str = "follow") -> Part:
        signal = ForwardMsg()
        signal.delta.new_element.bidi_component.json = "{}"
        drawing = Drawing.of([_text(0, f"{folds} folds"), _text(1, "ease"), *more])
        return Part(
            key="run",
            signal=signal,
            of=lambda now: now.removed,
            told=folds,
            alike=(choice,),
            drawing=drawing,
        )

    def look(self, folds: int) -> None:
        now = Going(removed=folds)
        for name, parts in self.parts.items():
            if parts["run"].changed(now):
                self.alike.ask(name, parts["run"], now)
        self.alike.have_one_draw()

    def draws(self, name: str, part: Part) -> None:
        self.parts[name]["run"] = part
        self.alike.drawn(name, part, self.parts)

    def told(self, name: str) -> list[str]:
        """Of what that page was sent: texts, 'draw' where it is to draw anew, or 'news'."""
        found = []
        for one in self.sent[name]:
            element = one.delta.new_element
            if element.WhichOneof("type") == "markdown":
                found.append(element.markdown.body)
            else:
                changed = json.loads(element.bidi_component.json)["changed"]
                found.append("draw" if changed else "news")
        self.sent[name].clear()
        return found


@pytest.fixture
def pages(monkeypatch: pytest.MonkeyPatch) -> _Pages:
    return _Pages(monkeypatch)


def test_one_page_draws_for_all_that_are_alike(pages):
    pages.look(3)
    assert [pages.told(name) for name in "abc"] == [["draw"], [], []]
    pages.look(3)  # it has not drawn yet
    assert [pages.told(name) for name in "abc"] == [[], [], []]
    pages.draws("a", pages.part(3))
    assert [pages.told(name) for name in "abc"] == [[], *[["3 folds", "news"]] * 2]
    pages.look(3)
    assert [pages.told(name) for name in "abc"] == [[], [], []]
    pages.look(4)  # and so on: those that were sent something are alike again
    assert [pages.told(name) for name in "abc"] == [["draw"], [], []]


def test_pages_with_another_choice_or_another_look_draw_their_own(pages):
    pages.parts["b"]["run"] = pages.part(2, choice="ease")
    pages.parts["c"]["run"] = pages.part(2, _text(2, "a table that was opened"))
    pages.look(3)
    assert [pages.told(name) for name in "abc"] == [["draw"], ["draw"], ["draw"]]
    pages.draws("a", pages.part(3))
    assert [pages.told(name) for name in "bc"] == [[], []]


def test_where_more_has_changed_than_words_each_page_draws_its_own(pages):
    pages.look(3)
    pages.told("a")
    pages.draws("a", pages.part(3, _button(2, "Report", "file of a")))
    assert [pages.told(name) for name in "abc"] == [[], *[["3 folds", "draw"]] * 2]
    pages.look(4)  # until they have drawn it, what is on them is not known
    assert [pages.told(name) for name in "abc"] == [["draw"], [], []]
    pages.look(4)
    assert [pages.told(name) for name in "abc"] == [[], ["draw"], ["draw"]]


def test_a_page_is_told_one_thing_at_a_time(pages):
    """Two at once are one message to the server, of which Streamlit takes the first alone."""
    bar = pages.part(2)
    bar.key, bar.alike = "running", None
    for folds, told in ((3, ["draw"]), (3, ["draw"]), (3, [])):
        if bar.changed(now := Going(removed=folds)):
            pages.alike.ask("a", bar, now)
        del pages.parts["b"], pages.parts["c"]
        pages.look(folds)
        pages.parts |= {"b": {"run": pages.part(3)}, "c": {"run": pages.part(3)}}
        assert pages.told("a") == told


def test_where_the_page_that_draws_ends_its_part_each_draws_its_own(pages):
    pages.look(3)
    pages.told("a")
    pages.alike.given_up("a", "run")
    assert [pages.told(name) for name in "abc"] == [[], ["draw"], ["draw"]]


def test_nobody_waits_for_a_page_that_does_not_draw_and_another_is_asked_next_time(pages):
    pages.look(3)
    assert pages.told("a") == ["draw"]
    pages.clock[0] = 1.5
    pages.look(3)
    assert [pages.told(name) for name in "abc"] == [[], ["draw"], ["draw"]]
    for name in "bc":
        pages.draws(name, pages.part(3))
    pages.draws("a", pages.part(3))  # late
    pages.look(4)
    assert [pages.told(name) for name in "abc"] == [[], ["draw"], []]


def test_a_page_that_was_drawn_meanwhile_is_sent_nothing_of_before(pages):
    pages.look(3)
    pages.told("a")
    pages.parts["b"]["run"] = pages.part(3, _text(2, "a table that was opened"))
    pages.draws("a", pages.part(3))
    assert [pages.told(name) for name in "bc"] == [[], ["3 folds", "news"]]
