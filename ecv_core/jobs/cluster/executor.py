"""Tasks on the nodes of a Dask cluster, one at a time on each; what a file says of a site."""

from __future__ import annotations

import hashlib
import json
import logging
import queue
import re
import subprocess
import threading
import time
import tomllib
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, fields
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from annotated_types import Ge

from ecv_core.jobs.cluster.node import (
    Call,
    Content,
    DataMissing,
    NodeUse,
    content_of,
    packed_answer,
    read_answer,
    refusal_of_versions,
    run_task,
    send,
    versions,
)
from ecv_core.jobs.executors import Begun, Compute, Computed, Ended, Finished, compute
from ecv_core.jobs.plan import FoldTask
from ecv_core.records import codec
from ecv_core.records.errors import EcvError, InputError, RunError, shown
from ecv_core.records.run import Progress
from ecv_core.store.engine import database_url
from ecv_core.store.ownership import is_gone, this_process
from ecv_core.untrusted.files import content_of as content_of_file

if TYPE_CHECKING:
    from distributed import Client, Future


# A node as a site's scheduler is asked for it: a TOML file -> a checked record.


MAX_SITE_BYTES = 1_000_000
_WALLTIME = re.compile(r"(\d+-)?\d{1,3}:\d{2}:\d{2}")
_MEMORY = re.compile(r"\d+(\.\d+)? ?([kMGT]i?)?B", re.IGNORECASE)


@dataclass(frozen=True, kw_only=True)
class Site:
    """A node as a site gives it out; every key of the file is one of these fields."""

    on: str = ""
    """What it is, as `--on` takes it: 'slurm', 'tcp://host:8786'; by default the file's name."""
    nodes: Annotated[int, Ge(1)] = 1
    """That a site's scheduler is asked for."""
    partition: str = ""
    """Or queue; empty for the site's default."""
    account: str = ""
    """Or project, that the hours are booked on."""
    walltime: str = "08:00:00"
    """A node is given back after so long; what it was computing is computed again elsewhere."""
    memory: str = "16GB"
    """Of a node."""
    cores: Annotated[int, Ge(1)] = 1
    """Of a node."""
    exclusive: bool = True
    """Whether nobody else computes on a node meanwhile: without it joules are not the fold's own.
    """
    environment: tuple[str, ...] = ()
    """Lines of shell before a worker starts: 'module load python', 'source venv/bin/activate'."""
    lines: tuple[str, ...] = ()
    """More of what the scheduler is asked for: '--gres=gpu:1'."""
    interface: str = ""
    """The network by which nodes reach the coordinator, such as 'ib0'; by default its host name."""
    python: str = ""
    """The interpreter on the nodes; by default this one."""
    logs: str = ""
    """A folder for what the jobs print; nowhere by default."""


def read_site(path: Path | None) -> Site:
    """The site that a file describes; without one everything at its default.

    Raises:
        InputError: For what is no such file, with the key and the value.
    """
    if path is None:
        return Site()
    try:
        content = content_of_file(path, at_most=MAX_SITE_BYTES)
        keys = tomllib.loads(content.decode("utf-8"))
    except OSError as error:
        raise InputError(f"the site's file {path} cannot be read: {error.strerror}") from error
    except ValueError as error:
        # The file is no TOML, or no text at all.
        raise InputError(f"the site's file {path} is not valid TOML: {error}") from error
    allowed = [field.name for field in fields(Site)]
    for name in keys:
        if name not in allowed:
            raise InputError(
                f"the site's file {path} has the unknown key '{name}'; choose from: "
                f"{', '.join(allowed)}"
            )
    try:
        site = codec.read(Site, json.dumps(keys, default=str))
    except ValueError as error:
        raise InputError(
            f"the site's file {path} is wrong: {codec.what_is_wrong(error)}"
        ) from error
    _check_form(path, "walltime", site.walltime, _WALLTIME, "02:30:00 or 1-00:00:00")
    _check_form(path, "memory", site.memory, _MEMORY, "16GB")
    return site


def _check_form(path: Path, key: str, value: str, form: re.Pattern[str], example: str) -> None:
    """Refuse a value that is not written as its key needs it. Raises: InputError."""
    if not form.fullmatch(value):
        raise InputError(
            f"the site's file {path} is wrong: its {key} must be like {example}, but is '{value}'"
        )


# The executor.


log = logging.getLogger(__name__)

MAX_RESENDS = 3
"""How often a fold that is lost with its node is computed again."""
BACK_SECONDS = 120.0
"""How long a scheduler that is gone is waited for."""
SEND_SECONDS = 20.0
"""How long a result may take from its node to here."""
LOOK_SECONDS = 5.0
"""How often the executor looks whether nodes are missing, and which tasks wait for one."""
COUNT_SECONDS = 1.0
"""How often the scheduler is asked which nodes there are: with 200 of them its answer is long."""
IDLE_SECONDS = 30.0
"""How long nodes that a site gave out are kept without a task."""


@dataclass(kw_only=True)
class _Submission:
    """A task, from its submission to its end."""

    task: FoldTask
    progress: Progress
    name: str
    """The same for the same task, also after this program was started again."""
    content: Content
    """The data that it needs."""
    future: Future[Any] | None = None
    attempt: int = 0
    """How often its data were sent."""
    begun_on: str = ""
    """The name of the node that has begun with it; empty while it waits for one."""
    submitted_at: datetime

    @property
    def node(self) -> str:
        """Which node computes it, for a sentence."""
        if self.begun_on:
            return f"the node {self.begun_on}"
        return "a node"


class DaskExecutor:
    """One fold at a time on a node; a lost one is computed again elsewhere."""

    def __init__(
        self,
        client: Client,
        cluster: Any = None,  # noqa: ANN401  Dask's clusters have no type in common
        *,
        nodes: int | None = None,
        site: Site | None = None,
        node_use: NodeUse = NodeUse.UNKNOWN,
        compute: Compute = compute,
    ) -> None:
        """Nothing is computed yet.

        Args:
            client: The client of the cluster's scheduler.
            cluster: The cluster that was started with it, and ends with it; None for somebody
                else's.
            nodes: The nodes that a site is asked for; by default as many as there are.
            site: How the nodes are asked for, where a scheduler gives them out.
            node_use: Who computes on a node beside its worker.
            compute: What a node does with a task.

        Raises:
            InputError: For nodes with other versions, or none that takes folds.
        """
        self._client = client
        self._cluster = cluster
        self._nodes = nodes
        self._site = site or Site()
        self._node_use = node_use
        self._compute = compute
        self._database_id = hashlib.sha256(database_url().encode()).hexdigest()[:16]
        """Names the database without telling where it is: who goes on with it finds its tasks on
        the scheduler."""
        self._topic = f"ecv-{self._database_id}"
        self._scheduler_stays = cluster is None
        """Whether the scheduler goes on after this program, and so what it computes for us."""
        self._tasks: dict[FoldTask, _Submission] = {}
        self._events: queue.SimpleQueue[tuple[_Submission, Future[Any] | None]] = (
            queue.SimpleQueue()
        )
        """Tasks that have ended, with their future, or begun on a node, without one."""
        self._sent_data_names: set[str] = set()
        """Names of the data that were sent."""
        self._workers: Mapping[str, Any] = {}
        """What the scheduler last said of those that take folds, by address."""
        self._workers_read_at = 0.0
        """When it said so, by `time.monotonic`."""
        self._waiting_reported_at = 0.0
        """When it was last said which tasks wait for a node, by `time.monotonic`."""
        self._versions = versions()
        self._check_nodes()
        self._published_before: Collection[Any] = ()
        """Names of the futures that were on the scheduler before."""
        # A scheduler of somebody else keeps the folds of a program that has ended, which a later
        # program can take over.
        if self._scheduler_stays:
            self._published_before = client.list_datasets()
        client.subscribe_topic(self._topic, self._take_event)

    @property
    def capacity(self) -> int:
        """As many as there are nodes, or will be."""
        return self._nodes or max(1, len(self._fold_workers()))

    # -- what the driver asks -----------------------------------------------------------------

    def submit(self, task: FoldTask, progress: Progress) -> None:
        """Give it to the scheduler. Raises: DatasetError, FoldsError for data that are not here."""
        # The task is named after what it computes, so that another program finds it on the
        # scheduler again.
        specs = " ".join(spec.to_json() for spec, _ in sorted(task.folds, key=str))
        name = hashlib.sha256(f"{specs} {task.fold}".encode()).hexdigest()[:32]
        submission = _Submission(
            task=task,
            progress=progress,
            name=name,
            content=content_of(task.specs[0]),
            submitted_at=datetime.now().astimezone(),
        )
        self._tasks[task] = submission
        self._request_nodes()
        self._take_over_or_submit_to_dask(submission)

    def finished(self, seconds: float) -> Finished:
        self._request_nodes_and_report_waiting()
        end = time.monotonic() + seconds
        while self._tasks:
            try:
                submission, future = self._events.get(timeout=max(0.0, end - time.monotonic()))
            except queue.Empty:
                return
            if self._tasks.get(submission.task) is not submission:
                continue  # The task was cancelled meanwhile.
            if future is None:
                yield Begun(task=submission.task, node=submission.begun_on)
            elif submission.future is future:
                # A future that is no longer the submission's is of a node that has lost the task
                # since.
                yield from self._outcome(submission, future)
                # Only the first outcome is waited for; others are taken if they are there already.
                end = time.monotonic()

    def cancel(self, task: FoldTask) -> None:
        submission = self._tasks.pop(task, None)
        if submission is not None and submission.future is not None and self._scheduler_answers:
            with suppress(OSError):
                self._client.cancel(submission.future, force=True)
                self._release_future(submission)
        self._schedule_giving_back()

    def close(self) -> None:
        """End everything, and give the nodes back."""
        for task in list(self._tasks):
            self.cancel(task)
        if self._scheduler_answers:
            with suppress(OSError):
                # A scheduler that ends at this moment keeps nothing anyway.
                for name in self._sent_data_names:
                    self._client.unpublish_dataset(name)
        self._client.close(timeout=SEND_SECONDS)
        if self._cluster is not None:
            self._cluster.close()

    # -- a task -------------------------------------------------------------------------------

    def _submit_to_dask(self, submission: _Submission) -> None:
        # The key is new each time: Dask would answer a key that it knows with the earlier outcome.
        key = f"ecv-{submission.name}-{time.time_ns()}"
        call = Call(
            key=key,
            topic=self._topic,
            task=submission.task,
            compute=self._compute,
            content=submission.content,
            versions=self._versions,
            node_use=self._node_use,
        )
        submission.begun_on = ""
        future = self._client.submit(
            packed_answer,
            run_task,
            call,
            key=key,
            resources={"node": 1},
            # A bet, which is a fold that may turn out not to be needed, has the priority -1, and so
            # comes after all others, with 0.
            priority=-int(submission.task.bet),
            pure=False,
        )
        # Published, the task outlasts this program, and a later one can take it over by its name.
        if self._scheduler_stays:
            with suppress(OSError):
                # A scheduler that ends at this moment loses the task, too.
                self._client.publish_dataset(future, name=self._published_name(submission))
        self._await(submission, future)

    def _await(self, submission: _Submission, future: Future[Any]) -> None:
        """Have `finished` see when the future of a task is done."""
        submission.future = future
        future.add_done_callback(lambda done: self._events.put((submission, done)))

    def _outcome(self, submission: _Submission, future: Future[Any]) -> Finished:
        """What has become of a task that has ended; nothing where it was lost and goes on."""
        error: Exception | None = None
        try:
            results = self._results(submission, future)
        except Exception as raised:  # noqa: BLE001  the driver says what it was
            error = raised
        else:
            if results is None:
                # The task is computed or sent again, so that it has no outcome yet.
                return
            for spec_index, result in results:
                yield Computed(task=submission.task, spec_index=spec_index, result=result)
        self._tasks.pop(submission.task, None)
        self._release_future(submission)
        self._schedule_giving_back()
        yield Ended(task=submission.task, error=error)

    def _results(
        self, submission: _Submission, future: Future[Any]
    ) -> list[tuple[Any, Any]] | None:
        """Indices of specs, each with its result; None where the task was lost and goes on.

        Raises:
            What ended the task: RunError where it was lost for good; any other of its own.
        """
        from distributed import KilledWorker

        try:
            return read_answer(future.result(timeout=SEND_SECONDS), submission.node)
        except TimeoutError:
            # The result was lost on its way. Dask computes the task again, which is waited for.
            submission.progress(f"wait for the result of {submission.node}", 0, 0)
            self._await(submission, future)
            return None
        except KilledWorker:
            raise _lost_with_nodes(submission) from None
        except DataMissing as missing:
            if self._resend(submission):
                return None
            raise RunError(
                f"the dataset {missing} did not reach {submission.node}; resume the run to send it "
                "again"
            ) from None
        except EcvError:
            raise
        except Exception:
            # The error is of Dask, or one that nobody expected.
            if not future.cancelled() and future.status != "lost":
                raise
            submission.progress("wait for the Dask scheduler to come back", 0, 0)
            if self._wait_for_scheduler():
                self._take_over_or_submit_to_dask(submission)
                return None
            raise RunError(
                "the Dask scheduler is gone; finished folds are kept: start it again, then resume"
            ) from None

    def _resend(self, submission: _Submission) -> bool:
        """Send the data of a task, and submit it once more; False after too many attempts."""
        submission.attempt += 1
        if submission.attempt > MAX_RESENDS:
            return False
        self._sent_data_names.add(submission.content.name)
        # Where the scheduler is lost now, so are the data, and the task fails as before.
        with suppress(OSError):
            send(self._client, submission.task.specs[0], submission.content)
        self._release_future(submission)
        self._submit_to_dask(submission)
        return True

    @property
    def _scheduler_answers(self) -> bool:
        """Whether the scheduler is there: else Dask would wait for it with each question."""
        return bool(self._client.status == "running")

    def _wait_for_scheduler(self) -> bool:
        """Wait for the scheduler, if it may come back; whether it has done so in time."""
        end = time.monotonic() + BACK_SECONDS
        while self._scheduler_stays and time.monotonic() < end:
            with suppress(OSError):
                if self._scheduler_answers:
                    self._published_before = self._client.list_datasets()
                    self._client.subscribe_topic(self._topic, self._take_event)
                    return True
            time.sleep(0.5)
        return False

    # -- found again after this program was restarted or cut off ------------------------------

    def _published_name(self, submission: _Submission) -> str:
        """Under which the scheduler keeps a task's future for whoever goes on with it."""
        return f"ecv/{self._database_id}/{this_process()}/{submission.name}"

    def _take_over_or_submit_to_dask(self, submission: _Submission) -> None:
        """Go on with what the scheduler computes already, or give it the task."""
        if not self._take_over(submission):
            self._submit_to_dask(submission)

    def _take_over(self, submission: _Submission) -> bool:
        """Await what this program, or one that is gone, has begun for this database, if anything.

        Returns:
            Whether there is such a task on the scheduler.
        """
        for published in self._published_before:
            match = re.fullmatch(f"ecv/{self._database_id}/(.+)/{submission.name}", str(published))
            if match is None:
                continue
            owner = match[1]
            if owner == this_process() or is_gone(owner):
                with suppress(KeyError, OSError):
                    # If the scheduler has lost the task by now, it is submitted anew.
                    future = self._client.get_dataset(published)
                    self._client.unpublish_dataset(published)
                    self._client.publish_dataset(future, name=self._published_name(submission))
                    self._await(submission, future)
                    return True
        return False

    def _release_future(self, submission: _Submission) -> None:
        """Have the scheduler keep nothing of a task any more."""
        if submission.future is not None:
            submission.future.release()
        if self._scheduler_stays and self._scheduler_answers:
            with suppress(OSError):
                self._client.unpublish_dataset(self._published_name(submission))

    # -- nodes --------------------------------------------------------------------------------

    def _fold_workers(self) -> Mapping[str, Any]:
        """The workers that take folds, by address, as they were at most a moment ago."""
        is_old = time.monotonic() - self._workers_read_at >= COUNT_SECONDS
        if self._scheduler_answers and (is_old or not self._workers):
            with suppress(OSError):
                # If the scheduler ends at this moment, the workers of the last look stand.
                workers = {}
                for address, worker in self._client.scheduler_info().get("workers", {}).items():
                    if worker["resources"].get("node"):
                        workers[address] = worker
                self._workers = workers
            self._workers_read_at = time.monotonic()
        return self._workers

    def _check_nodes(self) -> None:
        """Refuse workers that take no folds, and nodes of other versions. Raises: InputError."""
        workers = self._client.scheduler_info()["workers"]
        fold_workers = self._fold_workers()
        if workers and not fold_workers:
            raise InputError(
                f"none of the {len(workers)} workers of this Dask scheduler takes folds; "
                "start them with: dask worker ADDRESS --nthreads 1 --no-nanny --resources node=1"
            )
        if not fold_workers:
            return

        def name_and_versions() -> Any:  # noqa: ANN401  sent by value: any version there answers
            from importlib.metadata import version
            from socket import gethostname

            from ecv_core.records import __version__

            versions = {"e-fold": __version__}
            for library in ("numpy", "torch"):
                versions[library] = version(library)
            return gethostname(), versions

        answers = self._client.run(name_and_versions, workers=list(fold_workers), on_error="return")
        for address, answer in answers.items():
            if isinstance(answer, Exception):
                raise InputError(
                    f"the node {address} was refused: it cannot report its versions "
                    f"({type(answer).__name__}: {answer}); install the same e-fold and Python there"
                )
            name, node_versions = answer
            refusal = refusal_of_versions(name, self._versions, node_versions)
            if refusal is not None:
                raise InputError(refusal)

    def _take_event(self, event: tuple[float, Mapping[str, Any]]) -> None:
        """Take what a node says of a task, and when; it is not checked yet."""
        _, message = event
        try:
            self._pass_on(message)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            log.warning("a node's message about a fold cannot be read: %s", shown(error))

    def _pass_on(self, message: Mapping[str, Any]) -> None:
        """Tell whoever waits for a task what `run_task` says of it on a node.

        Raises:
            AttributeError, KeyError, TypeError or ValueError: For any other message.
        """
        for submission in list(self._tasks.values()):
            if submission.future is None or submission.future.key != message["key"]:
                continue
            if "begun" in message:
                submission.begun_on = shown(message["begun"])
                self._events.put((submission, None))
            else:
                phase, step, steps = message["at"]
                submission.progress(shown(phase), int(step), int(steps))

    def _request_nodes_and_report_waiting(self) -> None:
        """Now and then, say which tasks wait for a node, and ask again for nodes that are gone."""
        if time.monotonic() - self._waiting_reported_at < LOOK_SECONDS:
            return
        self._waiting_reported_at = time.monotonic()
        self._request_nodes()
        for submission in self._tasks.values():
            waited = datetime.now().astimezone() - submission.submitted_at
            if not submission.begun_on and waited.total_seconds() >= LOOK_SECONDS:
                since = f"{submission.submitted_at:%H:%M}"
                submission.progress(f"wait for a node since {since}{self._slurm_position()}", 0, 0)

    def _request_nodes(self) -> None:
        """Ask a site that gives nodes out for as many as there are tasks, lost ones among them."""
        if self._nodes is not None:
            # With a number of nodes, a cluster was started that can be asked for more.
            self._cluster.scale(min(self._nodes, max(1, len(self._tasks))))

    def _schedule_giving_back(self) -> None:
        """Give the nodes back if nothing comes for a while."""
        if self._nodes is not None and not self._tasks:
            timer = threading.Timer(IDLE_SECONDS, self._give_back)
            timer.daemon = True
            timer.start()

    def _give_back(self) -> None:
        if not self._tasks and self._scheduler_answers:
            self._cluster.scale(0)

    def _slurm_position(self) -> str:
        """Our job's place in SLURM's queue, for a sentence; empty where that is not known."""
        job_name = getattr(self._cluster, "ecv_job_name", "")
        if not job_name:
            return ""
        # The names of pending jobs: the highest priority first, then by number.
        command = ["squeue", "--noheader", "--states=PD", "--sort=-p,i", "--format=%j"]
        if self._site.partition:
            command.append(f"--partition={self._site.partition}")
        # A ValueError says that the job is no longer in the list.
        with suppress(OSError, subprocess.SubprocessError, ValueError):
            output = subprocess.run(command, capture_output=True, text=True, timeout=5).stdout
            return f", place {output.split().index(job_name) + 1} in the queue"
        return ""


def _lost_with_nodes(submission: _Submission) -> RunError:
    """What to say of a task that was lost too often."""
    return RunError(
        f"fold {submission.task.fold} was lost {MAX_RESENDS + 1} times with the node that "
        f"computed it, the last time with {submission.node}; finished folds are kept: find out "
        "what ends the nodes (memory, walltime, preemption), then resume"
    )
