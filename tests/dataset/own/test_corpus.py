"""Small files, one for each form that people have, and what each holds: corpus.csv, by hand."""

import csv
from pathlib import Path

import pytest

from ecv_core.dataset.losses import REPEATED
from ecv_core.records.errors import DatasetError
from tests.dataset.own.conftest import read_path, rows_of

TABLE = Path(__file__).parents[1] / "corpus.csv"
CORPUS = TABLE.with_suffix("")


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
