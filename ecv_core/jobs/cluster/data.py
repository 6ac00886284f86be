"""The data of a task, found on a node by their content, or sent there once."""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import ecv_core.dataset as datasets
from ecv_core import fold
from ecv_core.records.errors import EcvError, RunError
from ecv_core.records.spec import RunSpec
from ecv_core.splits.exchange import stored_folds_path
from ecv_core.untrusted.files import replacing

if TYPE_CHECKING:
    from distributed import Client

CHUNK_BYTES = 8 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Content:
    """What a run needs of the disk: its dataset, and the fold file that it was split by."""

    dataset: str
    key: str
    """Names the dataset's content, as of `dataset.source_key`."""
    folds_sha256: str | None
    files: tuple[tuple[str, str], ...]
    """Path below a folder of datasets, and SHA-256, of what makes up all of it."""

    @property
    def name(self) -> str:
        """Under which it is sent."""
        told = f"{self.key} {self.folds_sha256} {self.files}"
        return f"ecv-data-{hashlib.sha256(told.encode()).hexdigest()[:32]}"


class DataMissing(RunError):
    """A node lacks the data of a task, and nobody has sent them yet."""


def content_of(spec: RunSpec) -> Content:
    """What a run needs, as it is here. Raises: DatasetError; FoldsError."""
    return Content(
        dataset=spec.dataset,
        key=datasets.source_key(spec.dataset),
        folds_sha256=spec.folds_sha256,
        files=tuple((name, datasets.file_sha256(path)) for name, path in _files(spec)),
    )


def send(client: Client, spec: RunSpec, content: Content) -> None:
    """Give the cluster what a run needs, in chunks, for whichever node asks for it."""
    chunks = {name: list(_sent(client, path)) for name, path in _files(spec)}
    client.publish_dataset(chunks, name=content.name, override=True)


def place(content: Content, get_client: Callable[[], Client]) -> str | None:
    """On a node: the folder of datasets that has the content; None for the usual one.

    Raises: DataMissing where nobody has sent what lacks; RunError where it cannot be kept.
    """
    if has(content):
        return None
    folder = _folder(content)
    if not all(_is(folder / name, sha256) for name, sha256 in content.files):
        _receive(content, folder, get_client())
    return str(folder)


def has(content: Content) -> bool:
    """Whether this machine has the content where datasets usually are."""
    with suppress(EcvError):
        if content.folds_sha256:
            stored_folds_path(fold.folds_folder(), content.folds_sha256)
        return datasets.source_key(content.dataset) == content.key
    return False


def _receive(content: Content, folder: Path, client: Client) -> None:
    try:
        chunks: Mapping[str, Sequence[Any]] = client.get_dataset(content.name)
    except KeyError:
        raise DataMissing(content.dataset) from None
    for name, sha256 in content.files:
        try:
            with replacing(folder / name) as part, part.open("wb") as file:
                for chunk in chunks[name]:
                    file.write(chunk.result())
        except OSError as error:
            raise RunError(
                f"the dataset {content.dataset} cannot be kept in {folder}: {error.strerror}; make "
                "room there, or set ECV_DATA_DIR on the nodes to a place with room"
            ) from error
        except Exception as error:  # a chunk was on a node that is gone
            raise DataMissing(content.dataset) from error
        if not _is(folder / name, sha256):
            raise DataMissing(content.dataset)


def _folder(content: Content) -> Path:
    """Where a node keeps what it was sent: a folder of datasets of its own."""
    usual = datasets.data_dir()
    with suppress(OSError):
        usual.mkdir(parents=True, exist_ok=True)
    parent = usual if os.access(usual, os.W_OK) else Path(tempfile.gettempdir()) / "ecv-datasets"
    return parent / "sent" / content.name


def _files(spec: RunSpec) -> Iterator[tuple[str, Path]]:
    """Path below a folder of datasets, and where it is here, of all that a run needs."""
    entry = datasets.entry(spec.dataset)
    path = None if entry.generated else datasets.locate(entry)
    if path is not None:
        folder = next(one for one in datasets.search_dirs() if path.is_relative_to(one))
        name = path.relative_to(folder)
        beside = sorted(path.parent.iterdir()) if len(name.parts) > 1 else [path]
        yield from ((str(one.relative_to(folder)), one) for one in beside if one.is_file())
    if spec.folds_sha256:
        path = stored_folds_path(fold.folds_folder(), spec.folds_sha256)
        yield f"{fold.folds_folder().name}/{path.name}", path


def _sent(client: Client, path: Path) -> Iterator[Any]:
    with path.open("rb") as file:
        while chunk := file.read(CHUNK_BYTES):
            yield client.scatter(chunk, hash=False)


def _is(path: Path, sha256: str) -> bool:
    return path.is_file() and datasets.file_sha256(path) == sha256
