"""Who has signed out is out everywhere, and comes in again with a newer token alone."""

import pytest

from ecv_core.access.sign_outs import SignOuts


def token(issued, subject="1"):
    return {"iss": "https://id.example.org", "sub": subject, "iat": issued}


@pytest.fixture
def sign_outs():
    return SignOuts()


def test_signing_out_ends_every_sign_in_that_was_seen_of_this_person_alone(sign_outs):
    for issued in (100, 130):  # two browsers
        sign_outs.note(token(issued))
        assert not sign_outs.is_over(token(issued))
    sign_outs.note(token(130, subject="2"))
    sign_outs.sign_out(token(100))
    assert sign_outs.is_over(token(100))
    assert sign_outs.is_over(token(130))
    assert not sign_outs.is_over(token(130, subject="2"))


def test_who_signs_in_again_is_in_though_the_clock_of_the_provider_is_slow(sign_outs):
    sign_outs.sign_out(token(100))
    assert not sign_outs.is_over(token(101))
    assert sign_outs.is_over(token(100))


def test_a_token_that_does_not_say_when_lets_nobody_in(sign_outs):
    assert sign_outs.is_over({"iss": "https://id.example.org", "sub": "1"})
