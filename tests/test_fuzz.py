"""Damaged files, odd commands and odd runs: each is read, or refused in one short sentence."""

from __future__ import annotations

import json
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ecv_core.analysis.score_files import read_contenders
from ecv_core.records.errors import InputError
from ecv_core.store.document import run_document
from ecv_core.store.imports import read_run
from ecv_core.store.recorded import recorded_runs

ROOT = Path(__file__).resolve().parents[1]
TEXTS = st.lists(st.lists(st.text(max_size=9), min_size=1, max_size=4), min_size=1, max_size=9)
JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=9), inner),
)


@pytest.mark.slow
def test_two_hundred_cases_in_a_process_of_one_gigabyte():
    """`make torture` has five thousand."""
    words = [sys.executable, "-m", "benchmarks.fuzz", "--cases", "200", "--seed", "18"]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    assert done.stdout.startswith("200 cases, ")


@settings(max_examples=50)
@example(rows=[["", "0", "00", "000"], ["", "", "", ""]])  # columns without a cell
@given(rows=TEXTS)
def test_any_table_is_scores_or_one_sentence(rows, tmp_path_factory):
    path = tmp_path_factory.getbasetemp() / "any.csv"
    content = "\n".join(",".join(row) for row in rows)
    path.write_bytes(content.encode("utf-8", errors="surrogatepass"))
    said = ""
    try:
        read_contenders(path)
    except InputError as error:
        said = str(error)
    assert len(said) < 400
    assert len(said.splitlines()) < 2


@settings(max_examples=50)
@given(document=JSON)
def test_any_json_is_no_run_and_said_so(document):
    with pytest.raises(
        InputError, match=r"is not a run that e-fold exported|which is too large a number"
    ):
        read_run(json.dumps(document).encode(), "x.json")


@cache
def exported_run() -> str:
    return json.dumps(run_document(recorded_runs()[0]))


def containers_in(value) -> list:
    """A JSON document, and every list and object in it that has something in it."""
    inner = []
    if isinstance(value, dict):
        inner = list(value.values())
    if isinstance(value, list):
        inner = value
    if not inner:
        return []
    containers = [value]
    for part in inner:
        containers += containers_in(part)
    return containers


@settings(max_examples=50)
@given(data=st.data())
def test_a_run_with_anything_in_another_place_is_read_or_one_sentence(data):
    document = json.loads(exported_run())
    containers = containers_in(document)
    container = containers[data.draw(st.integers(0, len(containers) - 1))]
    keys = range(len(container))
    if isinstance(container, dict):
        keys = [*container, "another"]
    container[data.draw(st.sampled_from(keys))] = data.draw(JSON)
    said = ""
    try:
        read_run(json.dumps(document).encode(), "x.json")
    except InputError as error:
        said = str(error)
    assert len(said) < 800
    assert len(said.splitlines()) < 2
