"""A lecture on phones: what the lecturer's page sends, who may send it, and what bets count."""

from contextlib import ExitStack

import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient

from ecv_core.records.errors import InputError
from pages.shared.live.classroom import (
    MOST_ROOMS,
    PATH,
    classroom_routes,
    close_room,
    is_open,
    new_room,
)
from pages.shared.live.phones import is_local
from pages.shared.live.tabs import BROWSER, MOST_OF_AN_ADDRESS, tabs

QUESTION = {
    "round": 7,
    "parts": [{"label": "Fold", "options": ["3", "4"]}, {"label": "Off", "options": ["a", "b"]}],
}


@pytest.fixture
def room():
    room = new_room()
    yield room
    close_room(room)


@pytest.fixture
def client():
    app = Starlette(routes=classroom_routes())
    with TestClient(tabs.guard(app)) as client:
        yield client


def host_of(client, room):
    return client.websocket_connect(f"{PATH}{room.code}/host")


def phone_of(client, room):
    return client.websocket_connect(f"{PATH}{room.code}/phone")


def joined(phone, name):
    phone.send_text(name)
    return phone.receive_json()


def test_phones_show_what_the_lecturers_page_sends_late_ones_too(client, room):
    with host_of(client, room) as host, phone_of(client, room) as phone:
        host.send_text(room.key)
        assert host.receive_json() == {"phones": 0, "bets": 0}
        assert joined(phone, "a") == {"phone": 1}
        assert host.receive_json() == {"phones": 1, "bets": 0}
        host.send_json({"title": "Replay", "lines": ["After 3 folds: go on."]})
        assert phone.receive_json() == {"title": "Replay", "lines": ["After 3 folds: go on."]}
        host.send_json({"lines": ["After 4 folds: stop."]})
        assert phone.receive_json() == {"lines": ["After 4 folds: stop."]}
        with phone_of(client, room) as late:
            shown = joined(late, "b")
            assert shown == {"phone": 2, "title": "Replay", "lines": ["After 4 folds: stop."]}


def test_only_the_lecturers_page_may_send(client, room):
    with host_of(client, room) as stranger:
        stranger.send_text("no key")
        assert stranger.receive_json() == {"ended": True}


def test_a_phone_keeps_its_number_when_it_comes_back(client, room):
    with phone_of(client, room) as first, phone_of(client, room) as second:
        joined(first, "a")
        joined(second, "b")
    with phone_of(client, room) as again:
        assert joined(again, "b")["phone"] == 2


def test_the_last_bet_of_a_phone_counts_and_others_than_those_asked_for_do_not(client, room):
    with host_of(client, room) as host, phone_of(client, room) as phone:
        host.send_text(room.key)
        joined(phone, "a")
        host.send_json({"question": QUESTION})
        assert phone.receive_json() == {"question": QUESTION}
        bets = [
            {"round": 7, "picks": [0, 1]},
            {"round": 7, "picks": [1, 1]},
            {"round": 8, "picks": [0, 0]},  # another round
            {"round": 7, "picks": [0]},  # one part is missing
            {"round": 7, "picks": [0, 2]},  # there is no third option
            ["no bet"],
        ]
        for bet in bets:
            phone.send_json(bet)
        told = {}
        for _ in range(2 + 1 + len(bets)):
            told = host.receive_json()
        assert told == {"phones": 1, "bets": 1}
        assert room.bets == {1: (1, 1)}


def test_no_bet_counts_once_the_outcome_is_told(client, room):
    with host_of(client, room) as host, phone_of(client, room) as phone:
        host.send_text(room.key)
        joined(phone, "a")
        host.send_json({"question": QUESTION, "outcome": {"phones": {}, "others": "Over."}})
        phone.receive_json()
        phone.send_json({"round": 7, "picks": [0, 1]})
        for _ in range(4):
            told = host.receive_json()
        assert told == {"phones": 1, "bets": 0}


def test_a_new_question_begins_without_bets(client, room):
    room.bets[1] = (0, 0)
    with host_of(client, room) as host:
        host.send_text(room.key)
        host.send_json({"question": QUESTION})
        assert [host.receive_json()["bets"], host.receive_json()["bets"]] == [1, 0]


def test_a_lecture_that_is_over_has_no_page_and_says_so_to_phones(client):
    room = new_room()
    assert client.get(f"{PATH}{room.code}").status_code == 200
    close_room(room)
    assert not is_open(room)
    assert client.get(f"{PATH}{room.code}").status_code == 404
    with phone_of(client, room) as phone:
        assert phone.receive_json() == {"ended": True}


def test_a_phone_that_sends_nonsense_and_hangs_up_is_no_error(room):
    app = Starlette(routes=classroom_routes())

    async def hung_up(scope, receive, send):
        async def send_until_closed(message):
            if message["type"] == "websocket.close":
                raise OSError("the client has disconnected")  # as uvicorn does
            await send(message)

        await app(scope, receive, send_until_closed)

    with phone_of(TestClient(hung_up), room) as phone:
        joined(phone, "a")
        phone.send_text("{")


def test_a_phone_gets_no_cookie(client, room):
    page = client.get(f"{PATH}{room.code}", headers={"accept": "text/html"})
    assert BROWSER not in page.cookies


def test_more_phones_follow_than_strangers_of_one_address_may_have_tabs(client, room):
    with ExitStack() as phones:
        for number in range(MOST_OF_AN_ADDRESS + 5):
            phone = phones.enter_context(phone_of(client, room))
            assert joined(phone, f"phone {number}")["phone"] == number + 1


def test_there_are_so_many_lectures_and_no_more():
    rooms = [new_room() for _ in range(MOST_ROOMS)]
    with pytest.raises(InputError, match=str(MOST_ROOMS)):
        new_room()
    for room in rooms:
        close_room(room)
    assert len({room.code for room in rooms}) == MOST_ROOMS


@pytest.mark.parametrize(
    ("host", "local"),
    [
        ("localhost", True),
        ("127.0.0.1", True),
        ("::1", True),
        ("192.168.0.7", False),
        ("e-fold.example.org", False),
    ],
)
def test_phones_cannot_open_an_address_of_this_machine_alone(host, local):
    assert is_local(host) is local


def test_the_code_of_an_address_has_the_size_of_the_standard():
    # Version 3 holds 53 bytes at level L: 17 + 4 * 3 squares, and four of white on each side.
    from pages.shared.live.phones import _qr_code

    svg = _qr_code("http://192.0.2.2:55554/classroom/hbapywe9")
    assert 'viewBox="0 0 37 37"' in svg
    assert "<title>QR code of the address</title>" in svg
