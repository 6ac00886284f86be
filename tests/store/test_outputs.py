"""No output of any command or function takes the place of a database."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

import ecv_core as ecv
from ecv_core import cli
from ecv_core.records.errors import InputError
from ecv_core.records.run import RunState
from ecv_core.records.spec import RunSpec
from ecv_core.store.outputs import check_output, write_output
from ecv_core.store.store import Store, open_store
from ecv_core.untrusted import files
from tests.fake_folds import fold_result

SPEC = RunSpec(dataset="synthetic", algorithm="popular", k=5, rule="never")


@pytest.fixture
def run_id() -> str:
    """Of a finished run in the database of this test, whose rows are in its -wal still."""
    store = open_store()
    (run_id,) = store.create([SPEC], owner="me")
    for fold in range(5):
        store.add_fold(run_id, fold_result(fold, 0.5), stopped_at=None)
    store.finish(run_id, RunState.FINISHED)
    return run_id


def same(path: Path, folder: Path) -> Path:
    return path


def spelt_otherwise(path: Path, folder: Path) -> Path:
    (folder / "below").mkdir()
    return folder / "below" / ".." / path.name


def link_to(path: Path, folder: Path) -> Path:
    link = folder / "link.svg"
    link.symlink_to(path)
    return link


def other_name(path: Path, folder: Path) -> Path:
    """A hard link."""
    name = folder / "name.svg"
    os.link(path, name)
    return name


def through_a_folder(path: Path, folder: Path) -> Path:
    (folder / "elsewhere").symlink_to(folder)
    return folder / "elsewhere" / path.name


SPELLINGS = [same, spelt_otherwise, link_to, other_name, through_a_folder]


@pytest.mark.parametrize("spelling", SPELLINGS)
@pytest.mark.parametrize("ending", ["", "-wal", "-shm"])
def test_our_database_and_what_belongs_to_it_is_no_place_for_an_output(
    run_id: str, tmp_path: Path, ending: str, spelling: Callable[[Path, Path], Path]
) -> None:
    store = open_store()
    with store.transaction("kept open"):
        path = spelling(tmp_path / f"runs.sqlite{ending}", tmp_path)
        assert path.exists()
        before = path.read_bytes()
        with pytest.raises(InputError, match=r"is the database of runs, or belongs to it"):
            write_output(path, "a page")
        assert path.read_bytes() == before


def test_a_journal_that_is_not_there_yet_is_none_either(run_id: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="belongs to it"):
        check_output(tmp_path / "runs.sqlite-journal")


def test_the_database_of_another_program_that_has_it_open_is_none(tmp_path: Path) -> None:
    theirs = tmp_path / "theirs.sqlite"
    store = Store(f"sqlite:///{theirs}")
    with store.transaction("kept open"):
        for path in (theirs, tmp_path / "theirs.sqlite-wal"):
            with pytest.raises(InputError, match="a program has open"):
                check_output(path)


def test_a_file_that_is_only_called_like_one_is_written(tmp_path: Path) -> None:
    path = tmp_path / "my-journal"
    for text in ("one", "two"):
        write_output(path, text)
        assert path.read_text() == text


COMMANDS: dict[str, list[str]] = {
    "report": ["report", "RUN", "-o", "FILE"],
    "export": ["export", "RUN", "-o", "FILE"],
    "show": ["show", "RUN", "--json", "FILE"],
    "runs": ["runs", "--json", "FILE"],
    "backup": ["backup", "FILE"],
    "run": ["run", "synthetic", "popular", "-k", "2", "--no-energy", "--json", "FILE"],
}


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("ending", ["", "-wal"])
def test_no_command_writes_over_the_database(
    run_id: str, tmp_path: Path, command: str, ending: str, capsys: pytest.CaptureFixture[str]
) -> None:
    store = open_store()
    with store.transaction("kept open"):
        path = str(tmp_path / f"runs.sqlite{ending}")
        words = [{"RUN": run_id, "FILE": path}.get(word, word) for word in COMMANDS[command]]
        assert cli.main(words) == 2
    assert "is the database of runs, or belongs to it" in capsys.readouterr().err
    assert [len(run.folds) for run in open_store().runs()] == [5]


@pytest.mark.parametrize("command", ["figure", "folds"])
def test_nor_where_its_name_ends_as_a_picture_or_folds_do(
    tmp_path: Path, command: str, monkeypatch: pytest.MonkeyPatch, run_id: str, capsys
) -> None:
    path = tmp_path / {"figure": "mine.svg", "folds": "mine.csv"}[command]
    path.symlink_to(tmp_path / "runs.sqlite")
    words = {
        "figure": ["figure", run_id, "--kind", "efold", "--out", str(path)],
        "folds": ["folds", "synthetic", str(path)],
    }
    assert cli.main(words[command]) == 2
    assert "database of runs" in capsys.readouterr().err


def test_the_board_and_the_library_write_over_it_no_more(run_id: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is the database of runs"):
        ecv.report(run_id, tmp_path / "runs.sqlite")
    (tmp_path / "board").mkdir()
    (tmp_path / "board" / "index.html").symlink_to(tmp_path / "runs.sqlite")
    assert cli.main(["board", "site", str(tmp_path / "board")]) == 2
    assert [len(run.folds) for run in open_store().runs()] == [5]


def test_a_file_is_on_disk_before_it_takes_its_place_and_its_folder_after(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In this order, or a power cut may leave an empty file under the name of the old one."""
    steps: list[str] = []
    sync = os.fsync
    replace = Path.replace

    def noted_sync(handle: int) -> None:
        name = Path(os.readlink(f"/proc/self/fd/{handle}"))
        steps.append(f"sync {name.suffix or 'folder'}")
        sync(handle)

    def noted_replace(path: Path, target: Path) -> Path:
        steps.append("replace")
        return replace(path, target)

    monkeypatch.setattr(files.os, "fsync", noted_sync)
    monkeypatch.setattr(Path, "replace", noted_replace)
    write_output(tmp_path / "page.html", "a page")
    assert steps == ["sync .part", "replace", "sync folder"]
