"""docs/reproduction.md says what the recorded runs say."""

import re

import pytest

from scripts import reproduction


@pytest.mark.parametrize("name", ["headline", "more"])  # the others take a minute: --check
def test_the_page_is_up_to_date(name):
    text = reproduction.PAGE.read_text(encoding="utf-8")
    now = reproduction.SECTIONS[name]()
    assert reproduction.section(text, name) == now, "run python -m scripts.reproduction"


def test_every_table_of_the_page_is_generated_and_filled():
    text = reproduction.PAGE.read_text(encoding="utf-8")
    inside = "".join(reproduction.section(text, name) for name in reproduction.SECTIONS)
    rows = re.findall(r"^\|.*\|$", text, flags=re.MULTILINE)
    assert len(rows) > 20
    assert [row for row in rows if row not in inside] == []


def test_a_page_without_markers_is_refused():
    with pytest.raises(ValueError, match="no markers of the section 'rules'"):
        reproduction.section("# A page", "rules")
