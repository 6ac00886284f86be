"""The machine to itself: folds on one machine run one after the other, in order of arrival.

Who waits has a ticket, a small file that says who it is: the oldest ticket of a process that is
alive comes next. The ticket of a process that was killed counts no more, so that nobody waits for
the dead. Folds that no meter looks at compute together, as many as there are cores.
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
from filelock import FileLock

from ecv_core.energy.load import Load
from ecv_core.records.run import QUIET, Progress
from ecv_core.records.spec import RunSpec
from ecv_core.store.ownership import is_alive, this_process

log = logging.getLogger(__name__)

LOOK_SECONDS = 0.25
"""How often a fold that waits looks again."""
NEXT_SECONDS = 0.05
"""How often the one that comes next does."""
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
    with machine_alone(progress, metered=not spec.no_energy or spec.wait_for_quiet):
        if spec.wait_for_quiet:
            _wait_for_quiet(progress)
        yield


@contextmanager
def machine_alone(progress: Progress, *, metered: bool = True) -> Iterator[None]:
    """Have the machine alone: meters measure all of it, so two folds at once would count twice.

    A folder that cannot be written, such as one of somebody else, is no reason to fail. Who has the
    machine already, as the body of a tracked loop that evaluates something, need not wait for
    itself.

    Args:
        progress: told for whom this waits; it may raise Cancelled. The log has it in full, once.
        metered: if not, others that are not metered have it meanwhile, too.
    """
    user = os.getuid() if hasattr(os, "getuid") else getpass.getuser()
    folder = Path(tempfile.gettempdir()) / f"ecv-fold-{user}"
    # The clock since boot is the same for all processes, and is never set back.
    ticket = folder / f"{time.monotonic_ns():020d}-{uuid4().hex[:8]}.json"
    try:
        try:
            folder.mkdir(mode=0o700, exist_ok=True)
            _draw(ticket, metered=metered)
            _wait_for_turn(ticket, FileLock(folder.with_suffix(".lock")), progress, metered=metered)
        except OSError as error:
            log.warning("folds of other programs are not waited for: %s", error)
        yield
    finally:
        with suppress(OSError):
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
    metered: bool
    computes: bool

    @property
    def words(self) -> str:
        """For whom one waits."""
        clock = f"{datetime.fromisoformat(self.since).astimezone():%H:%M}"
        return f"waits for process {self.pid} since {clock}: {self.command}"


def _draw(path: Path, *, metered: bool, computes: bool = False) -> None:
    """Have this process wait, or compute, from now on; a file that is whole at any time.

    Raises: OSError.
    """
    ticket = _Ticket(
        owner=this_process(),
        pid=os.getpid(),
        command=_command(),
        since=datetime.now(UTC).isoformat(),
        metered=metered,
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


def _wait_for_turn(ticket: Path, gate: FileLock, progress: Progress, *, metered: bool) -> None:
    """Until this one may compute; its ticket then says so. Raises: OSError; what progress raises.

    Args: gate: one at a time looks who computes and begins.
    """
    came, told, cores = time.monotonic(), "", os.cpu_count() or 1
    while True:
        with gate:
            others = [(name, one) for name, one in _others(ticket) if one.pid != os.getpid()]
            there = [one for _, one in others if one.computes]
            before = [one for name, one in others if not one.computes and name < ticket.name]
            alone = metered or any(one.metered for one in there) or len(there) >= cores
            if not before and not (there and alone):
                _draw(ticket, metered=metered, computes=True)
                return
        said = (there or before)[0].words
        progress(said[:PHASE_LENGTH], 0, 0)
        if said != told and time.monotonic() - came >= SAY_SECONDS:
            log.warning("%s; --share-machine waits for nobody", told := said)
        time.sleep(LOOK_SECONDS if before else NEXT_SECONDS)
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
