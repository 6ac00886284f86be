"""A CSV that a spreadsheet opens computes nothing, and comes back as it was."""

from __future__ import annotations

import io

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ecv_core.records.interactions import Interactions
from ecv_core.splits import split
from ecv_core.splits.exchange import folds_csv, read_split, split_archive
from ecv_core.untrusted.disarming import armed, csv_of, disarmed

CMD = "=cmd|' /C calc'!A0"


@pytest.mark.parametrize(
    ("text", "written"),
    [
        (CMD, "'" + CMD),
        ("@SUM(A1)", "'@SUM(A1)"),
        ("-x", "'-x"),
        ("'=x", "''=x"),  # one that looks disarmed is told apart
        (" =1+1", "' =1+1"),
        ("\uff1d1+1", "'\uff1d1+1"),
        ("a;=1+1", "a;'=1+1"),  # where semicolons part cells, as in much of Europe
        ("a\n=1+1", "a\n'=1+1"),
        ("-5", "-5"),  # numbers are harmless
        ("+4.5e-3", "+4.5e-3"),
        ("'tis", "'tis"),
        ("a=b", "a=b"),
        ("", ""),
    ],
)
def test_a_formula_gets_an_apostrophe(text, written):
    assert disarmed(pa.array([text])).to_pylist() == [written]
    assert armed(pa.array([written])).to_pylist() == [text]


@given(st.lists(st.text(st.sampled_from("'=+-@\t\r\n; \uff1d15a"), max_size=6), min_size=1))
def test_every_text_comes_back(texts):
    found = armed(disarmed(pa.array(texts, pa.string()))).to_pylist()
    assert found == [text for text in texts]


def test_folds_of_ids_that_are_formulas_are_read_back():
    users, items = np.divmod(np.arange(16, dtype=np.int32), 4)
    data = Interactions(
        dataset="odd",
        users=users.astype(np.int32),
        items=items.astype(np.int32),
        user_ids=np.array([CMD, "'" + CMD, "-1", "@x"]),
        item_ids=np.array(["=1+1", "b", "c", "d"]),
    )
    folds = split(data, "user-k-fold", 4, 1)
    content = folds_csv(data, folds)
    assert not any(line.startswith((b"=", b"@", b'"=', b'"@')) for line in content.splitlines())
    assert np.array_equal(read_split(content, data).assignment, folds.assignment)
    elsewhere = content.replace(b"'@x", b"@x").replace(b"'=1+1", b"=1+1")
    assert elsewhere != content  # another program's file has the ids as they are
    assert np.array_equal(read_split(elsewhere, data).assignment, folds.assignment)
    archive = split_archive(data, split(data, "random-holdout", 2, 1))
    again = read_split(archive, data)
    assert again.k == 2


def test_a_table_with_such_a_name_is_disarmed():
    table = csv_of(pd.DataFrame({"name": [CMD, "x", None], "=n": [-1.5, 2.0, 3.0]}))
    found = pd.read_csv(io.StringIO(table))
    assert list(found.columns) == ["name", "'=n"]
    assert found["name"].tolist()[:2] == ["'" + CMD, "x"]
    assert found["'=n"].tolist() == [-1.5, 2.0, 3.0]
