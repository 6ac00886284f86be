"""The machine to itself: folds on one machine run one after the other, in order of arrival.

A file lock lets one fold compute. Who waits for it has a ticket, a small file that says who it is:
the oldest ticket of a process that is alive comes next. The system gives the lock of a process that
was killed free, and its ticket counts no more, so that nobody waits for the dead.
"""

from __future__ import annotations

import getpass
import json
import logging
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from uuid import uuid4

import psutil
from filelock import FileLock, Timeout

from ecv_core.energy.load import Load
from ecv_core.records.run import QUIET, Progress
from ecv_core.records.spec import RunSpec
from ecv_core.store.ownership import is_alive, this_process

log = logging.getLogger(__name__)

LOOK_SECONDS = 0.25
"""How often a fold that waits looks again."""
SAY_SECONDS = 1.0
"""After so long the log says for whom it waits."""
ASLEEP_SECONDS = 10.0
"""Who waits and has not looked for so long, such as a program that was suspended, loses its turn
until it looks again."""
QUIET_LOOKS = 8
"""So many looks in a row at which other programs use next to nothing make a quiet machine."""
PHASE_LENGTH = 64
"""Characters of a phase that the database keeps."""


@contextmanager
def machine_for(spec: RunSpec, progress: Progress) -> Iterator[None]:
    """Have the machine as a run asks for it: alone, shared, or once nobody else uses it."""
    if spec.share_machine:
        yield
        return
    with machine_alone(progress):
        if spec.wait_for_quiet:
            _wait_for_quiet(progress)
        yield


@contextmanager
def machine_alone(progress: Progress) -> Iterator[None]:
    """Have the machine alone: meters measure all of it, so two folds at once would count twice.

    A lock that cannot be had at all, such as a file of somebody else, is no reason to fail. Who has
    it already, as the body of a tracked loop that evaluates something, need not wait for itself.

    Args: progress: told for whom this waits; it may raise Cancelled. The log has it in full, once.
    """
    user = os.getuid() if hasattr(os, "getuid") else getpass.getuser()
    folder = Path(tempfile.gettempdir()) / f"ecv-fold-{user}"
    machine = FileLock(folder.with_suffix(".lock"), is_singleton=True)
    ticket: Path | None = None
    held = False
    try:
        try:
            if not machine.is_locked:
                folder.mkdir(mode=0o700, exist_ok=True)
                # The clock since boot is the same for all processes, and is never set back.
                name = f"{time.monotonic_ns():020d}-{uuid4().hex[:8]}.json"
                _draw(folder / name)
                ticket = folder / name
            held = _acquired(machine, ticket, progress)
        except OSError as error:
            log.warning("folds of other programs are not waited for: %s", error)
        yield
    finally:
        if held:
            machine.release()
        if ticket is not None:
            ticket.unlink(missing_ok=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Ticket:
    """A place in the queue: names of files are in order of arrival."""

    owner: str
    """As `this_process` names it."""
    pid: int
    command: str
    since: str
    """When it came, or where it computes, when it began to; ISO 8601 in UTC."""
    computes: bool = False

    @property
    def words(self) -> str:
        """For whom one waits."""
        clock = f"{datetime.fromisoformat(self.since).astimezone():%H:%M}"
        return f"waits for process {self.pid} since {clock}: {self.command}"


def _draw(path: Path, *, computes: bool = False) -> None:
    """Have this process wait, or compute, from now on; a file that is whole at any time.

    Raises: OSError.
    """
    ticket = _Ticket(
        owner=this_process(),
        pid=os.getpid(),
        command=_command(),
        since=datetime.now(UTC).isoformat(),
        computes=computes,
    )
    part = path.with_suffix(".part")
    part.write_text(json.dumps(asdict(ticket)))
    part.replace(path)


def _others(mine: Path) -> Iterator[tuple[str, _Ticket]]:
    """File name and ticket of those who compute or look, the oldest first.

    Those of processes that are gone are deleted. Raises: OSError.
    """
    for path in sorted(mine.parent.glob("*.json")):
        if path == mine:
            continue
        with suppress(FileNotFoundError):  # it has had its turn
            last = datetime.fromtimestamp(path.stat().st_mtime, UTC)
            try:
                other = _Ticket(**json.loads(path.read_text()))
                alive = is_alive(other.owner, last)
            except (ValueError, TypeError):  # no ticket, or of another version
                alive = False
            if not alive:
                path.unlink(missing_ok=True)
            elif other.computes or time.time() - last.timestamp() < ASLEEP_SECONDS:
                yield path.name, other


def _acquired(machine: FileLock, ticket: Path | None, progress: Progress) -> bool:
    """Wait for the machine, and say for whom. Raises: OSError; what progress raises."""
    came, told = time.monotonic(), ""
    while True:
        others = [] if ticket is None else list(_others(ticket))
        before = [one for name, one in others if ticket and name < ticket.name]
        if not before:
            try:
                machine.acquire(timeout=LOOK_SECONDS)
            except Timeout:  # of a program that came later and was quicker, or of a version before
                pass
            else:
                if ticket is not None:
                    with suppress(OSError):  # others then do not know since when
                        _draw(ticket, computes=True)
                return True
        whom = next((one for _, one in others if one.computes), before[0] if before else None)
        said = whom.words if whom else "waits for another program's fold"
        progress(said[:PHASE_LENGTH], 0, 0)
        if said != told and time.monotonic() - came >= SAY_SECONDS:
            log.warning("%s; --share-machine waits for nobody", told := said)
        if before:
            time.sleep(LOOK_SECONDS)
        if ticket is not None:
            os.utime(ticket)


def _wait_for_quiet(progress: Progress) -> None:
    """Until other programs have used next to nothing for a while. Raises: what progress raises."""
    quiet, told = 0, False
    while quiet < QUIET_LOOKS:
        before = Load.now()
        time.sleep(LOOK_SECONDS)
        share = Load.now().others_since(before) or 0.0
        quiet = quiet + 1 if share <= QUIET else 0
        said = f"waits for a quiet machine: others use {100 * share:.0f} %"
        if not quiet:
            progress(said, 0, 0)
            if not told:
                log.warning("%s of it, and it is quiet at %g %%", said, 100 * QUIET)
            told = True


def _command() -> str:
    """What was called, as one would type it; of a worker, the program that it works for."""
    words = sys.argv
    if words[:1] in ([], ["-c"]):
        with suppress(psutil.Error):
            words = psutil.Process().parent().cmdline()  # type: ignore[union-attr]
    while len(words) > 1 and Path(words[0]).name.startswith("python"):
        words = words[1:]
    first = words[0] if words else "python"
    name = Path(first).name
    if name == "__main__.py":
        name = "ecv" if Path(first).parent.name == "ecv_core" else Path(first).parent.name
    return " ".join([name, *words[1:]])[:200]
