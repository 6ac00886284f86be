"""What runs on a node: a fold in a process of its own, which can be killed, where its data are.

A Dask worker has one such process for all its folds, so that imports and data stay warm. The worker
itself only waits, so that the scheduler hears from it whatever a fit does.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ecv_core import dataset as datasets
from ecv_core import fold
from ecv_core.energy.real_meters import slurm_joules
from ecv_core.jobs.executors import (
    Compute,
    Computed,
    Ended,
    Results,
    Seldom,
    WorkerDied,
    Workers,
    node_here,
)
from ecv_core.jobs.plan import FoldTask
from ecv_core.records import __version__
from ecv_core.records.errors import Cancelled, EcvError, RunError
from ecv_core.records.run import FoldResult, Progress
from ecv_core.records.spec import RunSpec
from ecv_core.splits.exchange import stored_folds_path
from ecv_core.store.environment import host
from ecv_core.untrusted.files import replacing

if TYPE_CHECKING:
    from distributed import Client


# The data of a task, found on a node by their content, or sent there once.


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
        key=datasets.source_key(datasets.entry(spec.dataset)),
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
        return datasets.source_key(datasets.entry(content.dataset)) == content.key
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


# The process that computes.


TELL_SECONDS = 1.0
"""How often a node says how far a fold is."""
LOOK_SECONDS = 0.2


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A task on its way to a node."""

    key: str
    topic: str
    """Under which the node says how far it is."""
    task: FoldTask
    compute: Compute
    content: Content
    """The data that it needs."""
    versions: Mapping[str, str]
    """That the node must have too."""
    alone: bool | None
    """Whether it has the node for itself, by an exclusive allocation, or shares it with others of
    our workers; either way no lock of the machine is needed. None where that is not known."""


Answer = list[tuple[int, FoldResult]]
"""Place of the spec and its result."""


_busy = threading.Lock()


@lru_cache
def _process() -> Workers:
    """The process of this worker that computes, started when it is first needed."""
    return Workers()


def run_task(call: Call) -> Answer:
    """A task on the worker that this is called on. Raises: EcvError."""
    from distributed import Status, get_client, get_worker

    if differ := differences(call.versions, versions()):
        raise RunError(f"the node {host()} was refused: it has {differ}; install the same there")
    here = get_worker()
    name = host() if call.alone is not False else f"{host()}/{here.name}"
    folder = place(call.content, get_client)

    def tell(phase: str, step: int, steps: int) -> None:
        here.log_event(call.topic, {"key": call.key, "at": (phase, step, steps)})

    here.log_event(call.topic, {"key": call.key, "begun": name})
    with _busy:
        process, found = _process(), []
        process.compute = partial(compute_there, call.compute, folder, call.alone, name)
        process.surroundings = _own_folder() if call.alone is not None else {}
        process.submit(call.task, Seldom(tell, TELL_SECONDS))
        while True:
            # Cancelled, or cut off from the scheduler: Dask itself ends nothing that runs.
            task = here.state.tasks.get(call.key)
            closes = here.status in (Status.closing, Status.closed, Status.failed)
            if closes or task is None or task.state == "cancelled":
                process.cancel(call.task)
                raise Cancelled
            for said in process.finished(LOOK_SECONDS):
                if isinstance(said, Computed):
                    found.append((said.place, said.result))
                elif not isinstance(said, Ended):
                    continue
                elif isinstance(said.error, WorkerDied):
                    raise WorkerDied(f"{said.error.how} on the node {name}")
                elif said.error is not None:
                    raise said.error
                else:
                    return found


def versions() -> dict[str, str]:
    """Of what decides scores, here."""
    from importlib.metadata import version

    return {"e-fold": __version__} | {name: version(name) for name in ("numpy", "torch")}


def differences(wanted: Mapping[str, str], there: Mapping[str, str]) -> str:
    """'numpy 2.1 and not 2.4'; empty where all is the same."""
    return ", ".join(
        f"{name} {there.get(name)} and not {version}"
        for name, version in wanted.items()
        if there.get(name) != version
    )


_USUAL = os.environ.get("ECV_DATA_DIR", "")


def compute_there(
    compute: Compute,
    folder: str | None,
    alone: bool | None,
    name: str,
    specs: Sequence[RunSpec],
    index: int,
    progress: Progress,
) -> Results:
    """In the node's process: compute where the data are, and say where that is."""
    os.environ["ECV_DATA_DIR"] = folder or _USUAL
    if alone is False:  # their energy is then said to be shared
        specs = [replace(spec, share_machine=True) for spec in specs]
    before = slurm_joules() if alone else None
    for at, result in compute(specs, index, progress):
        now = slurm_joules() if alone else None
        spent = None if before is None or now is None else max(now - before, 0.0)
        before = now
        here = result.node or node_here(result.total_seconds)
        yield at, replace(result, node=replace(here, host=name, slurm_joules=spent))


def _own_folder() -> dict[str, str]:
    """Surroundings in which folds of other workers on this machine are not waited for."""
    folder = Path(tempfile.gettempdir()) / f"ecv-node-{os.getpid()}"
    folder.mkdir(exist_ok=True)
    return {"TMPDIR": str(folder)}
