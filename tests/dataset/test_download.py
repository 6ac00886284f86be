import hashlib
import io
import resource
import threading
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest

from ecv_core import dataset as datasets
from ecv_core.dataset import DatasetEntry
from ecv_core.records.errors import Cancelled, DatasetError

U_DATA = "".join(
    f"{u}\t{i}\t{r}\t881250949\n"
    for u, i, r in np.random.default_rng(0).integers(1, 10**6, (20_000, 3))
).encode()


def archive(data: bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as made:
        made.writestr("ml-100k/u.data", data)
    return buffer.getvalue()


class Server(ThreadingHTTPServer):
    """Serves `body` at every path, as `mode` says."""

    body = archive(U_DATA)
    mode = "whole"


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        if self.server.mode == "missing":
            self.send_error(404)
            return
        self.send_response(200)
        if self.server.mode != "no length":
            self.send_header("Content-Length", str(len(self.server.body)))
        self.end_headers()
        cut = self.server.mode == "cut"
        self.wfile.write(self.server.body[: len(self.server.body) // 2 if cut else None])

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    for name in ("no_proxy", "NO_PROXY"):
        monkeypatch.setenv(name, "127.0.0.1")
    with Server(("127.0.0.1", 0), Handler) as made:
        thread = threading.Thread(target=made.serve_forever, args=(0.01,))
        thread.start()
        yield made
        made.shutdown()
        thread.join()


@pytest.fixture
def entry(server: Server) -> DatasetEntry:
    """ml-100k, but with the server's archive."""
    known = datasets.entry("ml-100k")
    file = replace(
        known.files[0],
        url=f"http://127.0.0.1:{server.server_port}/ml-100k.zip",
        sha256=hashlib.sha256(U_DATA).hexdigest(),
    )
    return replace(known, files=(file, *known.files[1:]))


def silent(done: int, total: int) -> None:
    pass


def fails(entry: DatasetEntry, folder: Path, reason: str) -> None:
    """Asserts that a download fails for this reason, says the ways out, and leaves nothing."""
    with pytest.raises(DatasetError) as caught:
        datasets.download(entry, silent)
    message = str(caught.value)
    assert message.startswith(f"downloading ml-100k from {entry.url} failed: ")
    assert reason in message
    assert f"put your own copy into {folder} as ml-100k.zip or ml-100k.csv" in message
    assert "\n" not in message
    assert not folder.is_dir() or list(folder.iterdir()) == []


def test_a_download_arrives_whole_and_reports_its_bytes(
    entry: DatasetEntry, server: Server, data_folder: Path
):
    seen: list[tuple[int, int]] = []
    path = datasets.download(entry, lambda done, total: seen.append((done, total)))
    size = len(server.body)
    assert path == data_folder / "ml-100k.zip"
    assert path.read_bytes() == server.body
    assert [entry.name for entry in data_folder.iterdir()] == ["ml-100k.zip"]
    assert seen[-1] == (size, size)
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)
    assert {total for _, total in seen} == {size}
    assert datasets.locate(entry) == path


def test_a_server_that_does_not_say_the_size_is_fine(
    entry: DatasetEntry, server: Server, data_folder: Path
):
    server.mode = "no length"
    assert datasets.download(entry, silent).read_bytes() == server.body


def test_the_data_folder_is_made(
    entry: DatasetEntry, data_folder: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("ECV_DATA_DIR", str(data_folder / "new" / "er"))
    assert datasets.download(entry, silent).parent == data_folder / "new" / "er"


def test_a_cut_download_leaves_nothing_and_the_next_one_succeeds(
    entry: DatasetEntry, server: Server, data_folder: Path
):
    server.mode = "cut"
    fails(entry, data_folder, "stopped answering before the file was complete")
    server.mode = "whole"
    assert datasets.download(entry, silent).read_bytes() == server.body


def test_a_cut_download_keeps_the_file_that_was_there(
    entry: DatasetEntry, server: Server, data_folder: Path
):
    (data_folder / "ml-100k.zip").write_text("old")
    server.mode = "cut"
    with pytest.raises(DatasetError):
        datasets.download(entry, silent)
    assert (data_folder / "ml-100k.zip").read_text() == "old"


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (
            archive(U_DATA[:-20]),
            "the downloaded file is not the dataset (ml-100k/u.data has SHA-256",
        ),
        (
            b"<html>We have moved</html>",
            "the downloaded file is not the dataset (the ZIP archive is damaged",
        ),
    ],
)
def test_content_that_is_not_the_dataset_is_thrown_away(
    entry: DatasetEntry, server: Server, data_folder: Path, body: bytes, reason: str
):
    server.body = body
    fails(entry, data_folder, reason)


def test_a_file_the_server_does_not_have(entry: DatasetEntry, server: Server, data_folder: Path):
    server.mode = "missing"
    fails(entry, data_folder, "the server answered 404 Not Found")


def test_a_server_that_is_not_there(entry: DatasetEntry, data_folder: Path):
    away = replace(entry.files[0], url="http://127.0.0.1:9/ml-100k.zip")
    fails(replace(entry, files=(away,)), data_folder, "the server cannot be reached")


def test_a_cancelled_download_leaves_nothing(entry: DatasetEntry, data_folder: Path):
    def cancel(done: int, total: int) -> None:
        raise Cancelled("cancelled")

    with pytest.raises(Cancelled):
        datasets.download(entry, cancel)
    assert list(data_folder.iterdir()) == []


def test_a_folder_that_cannot_be_written_to(
    entry: DatasetEntry, data_folder: Path, monkeypatch: pytest.MonkeyPatch
):
    blocked = data_folder.parent / "file"
    blocked.touch()
    monkeypatch.setenv("ECV_DATA_DIR", str(blocked / "data"))
    fails(entry, blocked / "data", "cannot be written to")


@contextmanager
def no_file_larger_than(size: int) -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_disk_that_fills_up_leaves_nothing(entry: DatasetEntry, data_folder: Path):
    with no_file_larger_than(10_000):
        fails(entry, data_folder, "cannot be written to")


def test_what_a_killed_download_left_is_cleared_away(entry: DatasetEntry, data_folder: Path):
    import os

    old, young = (data_folder / f".ml-100k.zip-{name}.part" for name in ("old", "young"))
    old.touch()
    young.touch()
    os.utime(old, (0, 0))
    datasets.download(entry, silent)
    assert not old.exists()
    assert young.exists()  # it may be someone else's, still going


@pytest.mark.parametrize("dataset_id", ["synthetic", "mine"])
def test_a_dataset_without_a_source_cannot_be_downloaded(data_folder: Path, dataset_id: str):
    (data_folder / "mine.csv").touch()
    with pytest.raises(DatasetError, match=rf"'{dataset_id}' cannot be downloaded"):
        datasets.download(datasets.entry(dataset_id), silent)
