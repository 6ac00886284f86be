"""What runs on a node: a fold in a process of its own, which can be killed, where its data are.

A Dask worker has one such process for all its folds, so that imports and data stay warm. The worker
itself only waits, so that the scheduler hears from it whatever a fit does.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from enum import Enum, auto
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
    Throttled,
    WorkerDied,
    Workers,
    WrongAnswer,
    node_here,
    portable,
)
from ecv_core.jobs.plan import FoldTask
from ecv_core.records import __version__
from ecv_core.records.errors import Cancelled, EcvError, RunError
from ecv_core.records.run import FoldResult, Progress
from ecv_core.records.spec import RunSpec
from ecv_core.splits.exchange import stored_folds_path
from ecv_core.store.environment import host
from ecv_core.untrusted.files import opened, replacing
from ecv_core.untrusted.private import private_folder

if TYPE_CHECKING:
    from distributed import Client


# The data of a task, found on a node by their content, or sent there once.


CHUNK_BYTES = 8 << 20
"""Of a file, sent at once."""


@dataclass(frozen=True, kw_only=True)
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
        content = f"{self.key} {self.folds_sha256} {self.files}"
        return f"ecv-data-{hashlib.sha256(content.encode()).hexdigest()[:32]}"


class DataMissing(RunError):
    """A node lacks the data of a task, and nobody has sent them yet."""


def content_of(spec: RunSpec) -> Content:
    """What a run needs, as it is here. Raises: DatasetError; FoldsError."""
    files = []
    for name, path in _needed_files(spec).items():
        files.append((name, datasets.file_sha256(path)))
    return Content(
        dataset=spec.dataset,
        key=datasets.source_key(datasets.entry(spec.dataset)),
        folds_sha256=spec.folds_sha256,
        files=tuple(files),
    )


def send(client: Client, spec: RunSpec, content: Content) -> None:
    """Give the cluster what a run needs, in chunks, for whichever node asks for it."""
    chunks = {name: _send_file(client, path) for name, path in _needed_files(spec).items()}
    client.publish_dataset(chunks, name=content.name, override=True)


def folder_of_content(content: Content, get_client: Callable[[], Client]) -> str | None:
    """On a node: the folder of datasets that has the content; None for the usual one.

    Raises:
        DataMissing where nobody has sent what this node lacks.
        RunError: Where it cannot be kept.
    """
    if is_in_usual_folder(content):
        return None
    folder = _folder_for_sent_data(content)
    # All files are received together, where one is missing.
    for name, sha256 in content.files:
        if not _has_content(folder / name, sha256):
            _receive(content, folder, get_client())
            break
    return str(folder)


def is_in_usual_folder(content: Content) -> bool:
    """Whether this machine has the content where datasets usually are."""
    with suppress(EcvError):
        if content.folds_sha256:
            stored_folds_path(fold.folds_folder(), content.folds_sha256)
        return datasets.source_key(datasets.entry(content.dataset)) == content.key
    return False


def _receive(content: Content, folder: Path, client: Client) -> None:
    """Write into a folder what was sent of the content. Raises: as `folder_of_content`."""
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
                f"the dataset {content.dataset} cannot be saved in {folder}: {error.strerror}; "
                "make room there, or set ECV_DATA_DIR on the nodes to a place with room"
            ) from error
        except Exception as error:
            # A chunk may have been on a node that is gone.
            raise DataMissing(content.dataset) from error
        if not _has_content(folder / name, sha256):
            raise DataMissing(content.dataset)


def _folder_for_sent_data(content: Content) -> Path:
    """Where a node keeps what it was sent: a folder of datasets of its own."""
    parent = datasets.data_dir()
    with suppress(OSError):
        # If the folder cannot be made, it cannot be written to either, which is seen below.
        parent.mkdir(parents=True, exist_ok=True)
    if not os.access(parent, os.W_OK):
        parent = private_folder() / "datasets"
    return parent / "sent" / content.name


def _needed_files(spec: RunSpec) -> dict[str, Path]:
    """Path below a folder of datasets -> where it is here, of all that a run needs."""
    files: dict[str, Path] = {}
    entry = datasets.entry(spec.dataset)
    if not entry.generated:
        path = datasets.locate(entry)
        if path is not None:
            files |= _dataset_files(path)
    if spec.folds_sha256:
        folds_path = stored_folds_path(fold.folds_folder(), spec.folds_sha256)
        files[f"{fold.folds_folder().name}/{folds_path.name}"] = folds_path
    return files


def _dataset_files(path: Path) -> dict[str, Path]:
    """The file of a dataset by its path below its folder of datasets.

    Where that is in a folder of its own, the files beside it belong to the dataset too.
    """
    for folder in datasets.search_dirs():
        if path.is_relative_to(folder):
            files = [path]
            if path.parent != folder:
                files = sorted(filter(Path.is_file, path.parent.iterdir()))
            return {str(file.relative_to(folder)): file for file in files}
    return {}


def _send_file(client: Client, path: Path) -> list[Any]:
    """Give a file to the cluster; what stands for its chunks there, in their order."""
    chunks = []
    with opened(path) as file:
        while chunk := file.read(CHUNK_BYTES):
            chunks.append(client.scatter(chunk, hash=False))
    return chunks


def _has_content(path: Path, sha256: str) -> bool:
    return path.is_file() and datasets.file_sha256(path) == sha256


# The process that computes.


TELL_SECONDS = 1.0
"""How often a node says how far a fold is."""
LOOK_SECONDS = 0.2
"""How often a node looks whether its task was cancelled."""


class NodeUse(Enum):
    """Who computes on a node beside a worker of ours."""

    ALONE = auto()
    """Nobody: an allocation gives it the node for itself."""
    SHARED = auto()
    """Others of our workers."""
    UNKNOWN = auto()
    """Perhaps other programs, whose folds have to be waited for."""


@dataclass(frozen=True, kw_only=True)
class Call:
    """A task on its way to a node."""

    key: str
    """Of the task, as the scheduler knows it."""
    topic: str
    """Under which the node says how far it is."""
    task: FoldTask
    compute: Compute
    content: Content
    """The data that it needs."""
    versions: Mapping[str, str]
    """That the node must have too."""
    node_use: NodeUse


Answer = list[tuple[int, FoldResult]]
"""The index of each spec in the task, and its result."""


_process_lock = threading.Lock()


@lru_cache
def _process_of_worker() -> Workers:
    """The one process of this Dask worker that computes, started when it is first needed."""
    return Workers()


def run_task(call: Call) -> Answer:
    """A task on the worker that this is called on. Raises: EcvError."""
    from distributed import get_client, get_worker

    refusal = refusal_of_versions(host(), call.versions, versions())
    if refusal is not None:
        raise RunError(refusal)
    worker = get_worker()
    node_name = host()
    if call.node_use is NodeUse.SHARED:
        node_name = f"{node_name}/{worker.name}"
    folder = folder_of_content(call.content, get_client)

    def report(phase: str, step: int, steps: int) -> None:
        worker.log_event(call.topic, {"key": call.key, "at": (phase, step, steps)})

    worker.log_event(call.topic, {"key": call.key, "begun": node_name})
    with _process_lock:
        # One process computes all folds of this worker, one at a time.
        process = _process_of_worker()
        process.compute = partial(compute_on_node, call.compute, folder, call.node_use, node_name)
        process.environment = {}
        if call.node_use is not NodeUse.UNKNOWN:
            process.environment = _own_temporary_folder()
        process.submit(call.task, Throttled(report, TELL_SECONDS))
        answer = []
        while True:
            if _is_cancelled(worker, call.key):
                process.cancel(call.task)
                raise Cancelled
            for message in process.finished(LOOK_SECONDS):
                if isinstance(message, Computed):
                    answer.append((message.spec_index, message.result))
                elif isinstance(message, Ended):
                    if message.error is not None:
                        raise _named_after_node(message.error, node_name)
                    return answer


def packed_answer(run: Callable[[Call], Answer], call: Call) -> bytes:
    """What a node answers to a call, or its error, as bytes that the coordinator itself reads.

    Dask would read it in a thread of its own, and tell nobody where that fails.
    """
    try:
        return pickle.dumps(run(call))
    except Exception as raised:  # noqa: BLE001  the driver says what it means
        return pickle.dumps(portable(raised))


def read_answer(answer: object, node: str) -> list[tuple[Any, Any]]:
    """What `packed_answer` gave, as pairs of a spec's index and a result; neither is checked yet.

    Args:
        answer: The bytes.
        node: The node that they came from, for the sentence.

    Raises:
        WrongAnswer for what cannot be read, or is no list of pairs.
        EcvError: The one that was packed.
    """
    if not isinstance(answer, bytes):
        raise WrongAnswer(f"{node} answered with {type(answer).__name__}, not with bytes")
    try:
        content = pickle.loads(answer)
    except (Exception, SystemExit) as error:
        # Reading a pickle imports modules, and one of these may call `exit`.
        raise WrongAnswer(
            f"the answer of {node} cannot be read here ({type(error).__name__}: {error})"
        ) from error
    if isinstance(content, EcvError):
        # The node has sent its error in place of an answer.
        raise content
    # An answer has a pair for each configuration: its index in the task, and the fold's result.
    if not isinstance(content, list):
        raise WrongAnswer(f"{node} answered with {type(content).__name__}, not with a list")
    for pair in content:
        if type(pair) is not tuple or len(pair) != 2:
            raise WrongAnswer(f"{node} answered with {type(pair).__name__}, not with a pair")
    return content


def _is_cancelled(worker: Any, key: str) -> bool:  # noqa: ANN401  Dask's workers have no types
    """Whether a task was cancelled, or its worker cut off: Dask itself ends nothing that runs."""
    from distributed import Status

    if worker.status in (Status.closing, Status.closed, Status.failed):
        return True
    task = worker.state.tasks.get(key)
    return task is None or task.state == "cancelled"


def _named_after_node(error: Exception, node: str) -> Exception:
    """The error that has ended a task; one of a process that died says on which node that was."""
    if isinstance(error, WorkerDied):
        (how_it_ended,) = error.args
        return WorkerDied(f"{how_it_ended} on the node {node}")
    return error


def versions() -> dict[str, str]:
    """The versions here of what decides scores, by name."""
    from importlib.metadata import version

    return {"e-fold": __version__, "numpy": version("numpy"), "torch": version("torch")}


def refusal_of_versions(
    node: str, versions_here: Mapping[str, str], versions_there: Mapping[str, str]
) -> str | None:
    """Why a node with these versions computes nothing, in a sentence; None where they are equal.

    Args:
        node: Its name.
        versions_here: The versions of the coordinator, as of `versions`.
        versions_there: The versions of the node.
    """
    differences = []
    for name, version in versions_here.items():
        if versions_there.get(name) != version:
            differences.append(f"{name} {versions_there.get(name)} and not {version}")
    if not differences:
        return None
    return f"the node {node} was refused: it has {', '.join(differences)}; install the same there"


_USUAL_FOLDER = os.environ.get("ECV_DATA_DIR", "")
"""Where datasets are on this node, before a task names another folder."""


def compute_on_node(
    compute: Compute,
    folder: str | None,
    node_use: NodeUse,
    node_name: str,
    specs: Sequence[RunSpec],
    index: int,
    progress: Progress,
) -> Results:
    """In the node's process: compute where the data are, and say on which node that was.

    Args:
        compute: What is done with the task.
        folder: The folder of datasets, that has the data; None for the usual one.
        node_use: Who else computes on the node.
        node_name: The name of the node.
        specs: The specs of the task, as of `Compute`.
        index: The index of its fold.
        progress: Told every step.
    """
    os.environ["ECV_DATA_DIR"] = folder or _USUAL_FOLDER
    if node_use is NodeUse.SHARED:
        # The energy of these folds is then marked as measured on a shared machine.
        specs = [replace(spec, share_machine=True) for spec in specs]
    # SLURM counts the joules of the node so far, so that those of a fold are a difference.
    joules_before = _node_joules(node_use)
    for spec_index, result in compute(specs, index, progress):
        joules = _node_joules(node_use)
        joules_spent = None
        if joules is not None and joules_before is not None:
            joules_spent = max(joules - joules_before, 0.0)
        joules_before = joules
        node = result.node or node_here(result.total_seconds)
        node = replace(node, host=node_name, slurm_joules=joules_spent)
        yield spec_index, replace(result, node=node)


def _node_joules(node_use: NodeUse) -> float | None:
    """What SLURM has counted of this node; None where others may use it, or nothing counts."""
    if node_use is NodeUse.ALONE:
        return slurm_joules()
    return None


def _own_temporary_folder() -> dict[str, str]:
    """Variables of an environment in which folds of other workers here are not waited for."""
    folder = private_folder() / f"node-{os.getpid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    return {"TMPDIR": str(folder)}
