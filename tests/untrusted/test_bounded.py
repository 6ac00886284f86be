"""Reading in a process of its own: what it answers, what it may take, and what is read here."""

from __future__ import annotations

import gzip
import io
import json
import zipfile
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ecv_core.analysis.score_files import read_contenders
from ecv_core.fold import import_folds
from ecv_core.jobs.plans.track import read_table
from ecv_core.records.errors import DatasetError, FoldsError, InputError
from ecv_core.store.document import run_document
from ecv_core.store.imports import read_run
from ecv_core.store.recorded import recorded_runs
from ecv_core.untrusted import bounded, limits
from tests import read_jobs


def test_it_answers_with_the_value_and_says_how_far_it_is():
    said: list[tuple[object, ...]] = []
    found = bounded.run_in_child(
        read_jobs.telling, 2, what="it", report=lambda *news: said.append(news)
    )
    assert found == "done"
    assert said == [("read", 0, 2), ("read", 1, 2)]


def test_what_its_report_raises_ends_it():
    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        bounded.run_in_child(read_jobs.telling, 10**9, what="it", report=stop)


def test_beyond_a_limit_or_dead_it_is_one_sentence(monkeypatch):
    monkeypatch.setenv("ECV_MAX_READ_MB", "64")
    assert bounded.run_in_child(read_jobs.held, 8, what="it") == 8 << 20
    with pytest.raises(FoldsError, match="it needs more than 64 MB of memory to read"):
        bounded.run_in_child(read_jobs.held, 500, what="it", error=FoldsError)
    with pytest.raises(InputError, match=r"it ended the process that read it \(SIGABRT\)"):
        bounded.run_in_child(read_jobs.dying, what="it")
    monkeypatch.setenv("ECV_MAX_READ_SECONDS", "1")
    with pytest.raises(InputError, match="it takes longer than 1 seconds to read"):
        bounded.run_in_child(read_jobs.slow, what="it")


def test_what_arrow_reserves_is_not_what_a_file_needs(monkeypatch):
    """Its own allocator reserves a gigabyte at once where the limit allows it."""
    monkeypatch.setenv("ECV_MAX_READ_MB", "1300")
    assert bounded.run_in_child(read_jobs.held_beside_arrow, 300, what="it") == 301 << 20


def test_what_is_refused_there_is_refused_here_and_what_is_broken_is_no_users_mistake():
    with pytest.raises(DatasetError, match="it is no table"):
        bounded.run_in_child(read_jobs.refusing, what="it")
    with pytest.raises(RuntimeError, match="reading it failed: KeyError"):
        bounded.run_in_child(read_jobs.broken, what="it")


def test_small_is_little_text_that_is_not_packed(tmp_path):
    little, much = b"a,b\n" * 99, b"a,b\n" * limits.READ_HERE_BYTES

    def zipped(content: bytes) -> bytes:
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("a.csv", content)
        return buffer.getvalue()

    def small(content: bytes) -> bool:
        path = tmp_path / "it"
        path.write_bytes(content)
        return bounded.is_small(path)

    assert small(little)
    assert not small(much)
    assert not any(map(small, (gzip.compress(little), zipped(little), b"PAR1...")))
    assert bounded.is_small(tmp_path / "missing")


@pytest.fixture(params=[b"a,0,0.5,1\n", b"a"], ids=["rows", "one line"])
def bomb(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A gz of 0.4 MB that unpacks to 400 MB; a table of them takes more."""
    path = tmp_path / "bomb.csv.gz"
    piece = request.param * ((10 << 18) // len(request.param))
    packed = gzip.compress(piece)
    path.write_bytes(gzip.compress(b"contender,fold,score,user_id\n") + packed * 150)
    return path


@pytest.mark.slow
@pytest.mark.parametrize(
    "read",
    [read_contenders, read_table, partial(import_folds, "synthetic")],
    ids=["scores", "told", "folds"],
)
def test_a_bomb_is_refused(bomb, read, monkeypatch):
    monkeypatch.setenv("ECV_MAX_READ_MB", "150")
    with pytest.raises(InputError, match=r"150 MB of memory|cannot be read as a"):
        read(bomb)


def test_equal_rows_without_number_are_refused_by_their_number(tmp_path, monkeypatch):
    """Three million of them take 50 kB: so many are known before any is read."""
    column = pa.array(["a"] * 3_000_000).dictionary_encode()
    path = tmp_path / "equal.parquet"
    pq.write_table(pa.table({"contender": column, "fold": column, "score": column}), path)
    assert path.stat().st_size < 100_000
    monkeypatch.setattr(limits, "MAX_SCORE_ROWS", 2_000_000)
    monkeypatch.setattr(bounded, "run_in_child", lambda function, *given, **_: function(*given))
    with pytest.raises(InputError, match=r"3,000,000 rows.* 2,000,000"):
        read_contenders(path)


def test_many_contenders_folds_and_users_are_too_many(tmp_path):
    path = tmp_path / "many.csv"
    rows = [f"a,{fold},0.5" for fold in range(limits.MAX_SCORE_FOLDS + 1)]
    path.write_text("\n".join(["contender,fold,score", *rows]))
    with pytest.raises(InputError, match=r"folds \(201\)"):
        read_contenders(path)


def test_a_run_of_thirty_thousand_folds_is_refused():
    document = run_document(recorded_runs()[0])
    document["folds"] = [{"fold": at} for at in range(30_000)]
    with pytest.raises(InputError, match="30,000 values, and at most 1,000 are read"):
        read_run(json.dumps(document).encode(), "run.json")


@pytest.mark.slow
def test_a_run_with_three_million_lists_is_read_without_them():
    document = run_document(recorded_runs()[0])
    document["made_with"] = "LISTS"
    lists = f"[{'[],' * 3_000_000}[]]"
    read = read_run(json.dumps(document).replace('"LISTS"', lists).encode(), "run.json")
    assert read.run.spec == recorded_runs()[0].spec
