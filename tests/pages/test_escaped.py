"""Text of others on a page: shown as it is, in the order in which it is written."""

import pytest

from pages.shared.live.state import escaped


@pytest.mark.parametrize("sign", ["\x00", "\x1b", "\x85", "\u061c", "\u202e", "\u2066", "\u2069"])
def test_a_sign_that_nobody_sees_is_a_blank(sign):
    assert escaped(f"a{sign}b") == "a b"


@pytest.mark.parametrize("text", ["a\nb", "Zoë", "\u05d0\u05d1", "a\u00a0b"])
def test_what_people_write_stays(text):
    assert escaped(text) == text
