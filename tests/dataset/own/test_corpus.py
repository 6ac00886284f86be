"""Small files, one for each form that people have, and what each holds: corpus.csv, by hand."""

import csv
import re
from pathlib import Path
from random import Random

import pytest

from ecv_core.dataset.losses import REPEATED
from ecv_core.records.errors import DatasetError
from tests.dataset.own.conftest import read_path, rows_of

TABLE = Path(__file__).parents[1] / "corpus.csv"
CORPUS = TABLE.with_suffix("")
MUTANTS_A_FILE = 42


def forms() -> list[dict[str, str]]:
    with TABLE.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def file_of(form: dict[str, str]) -> str:
    return form["file"]


@pytest.mark.parametrize("form", forms(), ids=file_of)
def test_every_form_is_read_as_it_is_meant_or_refused_with_the_reason(form, tmp_path):
    source = tmp_path / form["file"]
    source.write_bytes((CORPUS / form["file"]).read_bytes())
    if form["refused"]:
        with pytest.raises(DatasetError, match=form["refused"]):
            read_path(source)
        return
    _, content = read_path(source)
    first = [form["user"], form["item"]]
    for name, kind in (("rating", float), ("seconds", int)):
        if form[name]:
            first.append(kind(form[name]))
    rows = rows_of(content)
    if content.interactions.baskets is not None:
        rows = [row[:-1] for row in rows]
    assert list(rows[0]) == first
    lost = sum(content.unused.values()) - content.unused.get(REPEATED, 0)
    assert (len(rows), lost) == (int(form["rows"]), int(form["lost"]))


def test_every_file_of_the_corpus_is_in_its_table():
    assert sorted(form["file"] for form in forms()) == sorted(
        path.name for path in CORPUS.iterdir()
    )


TEXTS = (".csv", ".tsv", ".txt", ".dat", ".data", ".inter", ".psv")
NO_MUTANTS = ("netflix-prize.txt", "one-column.csv", "reviews-with-line-breaks.csv")
"""Files that are refused, and one in which a row is more than a line."""


def drop_quote(text: str, draw: Random) -> str:
    places = [place for place, sign in enumerate(text) if sign == '"']
    if not places:
        return text
    place = draw.choice(places)
    return text[:place] + text[place + 1 :]


def add_quote(text: str, draw: Random) -> str:
    place = draw.randrange(len(text))
    return text[:place] + '"' + text[place:]


def drop_sign(text: str, draw: Random) -> str:
    place = draw.randrange(len(text))
    return text[:place] + text[place + 1 :]


def open_a_field(text: str, draw: Random) -> str:
    places = [place for place, sign in enumerate(text) if sign in ",;\t|"]
    if not places:
        return text
    place = draw.choice(places)
    return text[: place + 1] + '"' + text[place + 1 :]


def drop_field(text: str, draw: Random) -> str:
    lines = text.splitlines(keepends=True)
    place = draw.randrange(len(lines))
    for separator in ("\t", ";", "|", ","):
        lines[place] = lines[place].partition(separator)[2] or lines[place]
    return "".join(lines)


def cut_off(text: str, draw: Random) -> str:
    return text[: draw.randrange(1, len(text))]


MUTATIONS = (drop_quote, add_quote, drop_sign, open_a_field, drop_field, cut_off)


def filled_lines(text: str) -> int:
    return sum(1 for line in re.split(r"\r\n|\r|\n", text) if line)


def mutants() -> list[str]:
    names = []
    for form in forms():
        if form["file"].endswith(TEXTS) and form["file"] not in NO_MUTANTS:
            names.append(form["file"])
    return names


@pytest.mark.slow
@pytest.mark.parametrize("name", mutants())
def test_no_line_of_a_damaged_file_is_lost_in_silence(name, tmp_path):
    content = (CORPUS / name).read_bytes()
    encoding = "latin-1"
    if content.startswith(b"\xff\xfe"):
        encoding = "utf-16"
    text = content.decode(encoding)
    draw = Random(name)
    for _ in range(MUTANTS_A_FILE):
        mutation = draw.choice(MUTATIONS)
        damaged = mutation(text, draw)
        source = tmp_path / name
        source.write_bytes(damaged.encode(encoding))
        try:
            layout, read = read_path(source)
        except DatasetError:
            continue  # said
        above = re.split(r"\r\n|\r|\n", damaged)[: layout.skip]
        no_rows = filled_lines("\n".join(above)) + layout.header
        assert read.rows + no_rows == filled_lines(damaged), mutation.__name__
        assert len(read.interactions) + sum(read.unused.values()) == read.rows
