"""The machine to itself: folds on one machine run one after the other, in order of arrival.

Who waits has a ticket, a small file that says who it is: the oldest ticket of a process that is
alive comes next. The ticket of a process that was killed counts no more, so that nobody waits for
the dead. Folds that no meter looks at compute together, as many as there are cores.
"""

from __future__ import annotations

import json
import logging
import os
import sys
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
from ecv_core.records.errors import printable
from ecv_core.records.parameters import percent_text
from ecv_core.records.run import QUIET, Progress
from ecv_core.records.spec import RunSpec
from ecv_core.store.ownership import is_alive, this_process
from ecv_core.untrusted.files import replacing, when_nobody_reads
from ecv_core.untrusted.private import private_folder, private_text

log = logging.getLogger(__name__)

LOOK_SECONDS = 0.25
"""How often a fold that waits looks again."""
NEXT_SECONDS = 0.05
"""How often the fold that comes next looks again."""
SAY_SECONDS = 1.0
"""How long a fold waits before the log says for whom."""
ASLEEP_SECONDS = 10.0
"""A process that waits and has not looked for so long, such as a program that was suspended, loses
its turn until it looks again."""
QUIET_LOOKS = 8
"""The machine is quiet once other programs use next to nothing at so many looks in a row."""
PHASE_LENGTH = 64
"""Characters of a phase that the database keeps."""


@contextmanager
def machine_for(spec: RunSpec, progress: Progress) -> Iterator[None]:
    """Have the machine as a run asks for it: alone, shared, or once nobody else uses it."""
    if spec.share_machine:
        yield
        return
    # Who waits for quiet has the machine alone even without a meter: other folds are not quiet.
    with machine_alone(progress, metered=not spec.no_energy or spec.wait_for_quiet):
        if spec.wait_for_quiet:
            _wait_for_quiet(progress)
        yield


@contextmanager
def machine_alone(progress: Progress, *, metered: bool = True) -> Iterator[None]:
    """Have the machine alone: meters measure all of it, so two folds at once would count twice.

    Only folds of the same user wait for each other: nobody can make another user wait. Where there
    is no folder of this user alone, that is no reason to fail. Who has the machine already, as the
    body of a tracked loop that evaluates something, need not wait for itself.

    Args:
        progress: Told for whom this waits; it may raise Cancelled. The log has it in full, once.
        metered: If not, others that are not metered have it meanwhile, too.
    """
    # A ticket is a file that holds the place of this process in the queue. Names of tickets are in
    # order of arrival, by the clock since boot, which all processes share and nobody sets back.
    name = f"{time.monotonic_ns():020d}-{uuid4().hex[:8]}.json"
    ticket_path = None
    try:
        try:
            ticket_path = private_folder() / "folds" / name
            _write_ticket(ticket_path, metered=metered, computes=False)
            _wait_for_turn(ticket_path, progress, metered=metered)
        except OSError as error:
            log.warning("folds of other programs are not waited for: %s", error)
        yield
    finally:
        if ticket_path is not None:
            with suppress(OSError):
                # Others wait as long as this ticket is there.
                when_nobody_reads(ticket_path.unlink)


@dataclass(frozen=True, kw_only=True)
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
    """Whether it is its turn; else it waits."""

    @property
    def sentence(self) -> str:
        """What another process says that waits for this one."""
        clock = f"{datetime.fromisoformat(self.since).astimezone():%H:%M}"
        return f"waits for process {self.pid} since {clock}: {printable(self.command)}"


def _write_ticket(path: Path, *, metered: bool, computes: bool) -> None:
    """Have this process wait, or compute, from now on; a file that is whole at any time.

    Raises:
        OSError.
    """
    ticket = _Ticket(
        owner=this_process(),
        pid=os.getpid(),
        command=_command_of_user(),
        since=datetime.now(UTC).isoformat(),
        metered=metered,
        computes=computes,
    )
    with replacing(path) as part:
        part.write_text(json.dumps(asdict(ticket)))


def _wait_for_turn(path: Path, progress: Progress, *, metered: bool) -> None:
    """Wait until this process may compute; its ticket then says so.

    Args:
        path: The path of its ticket.
        progress: Told for whom it waits.
        metered: As of `machine_alone`.

    Raises:
        OSError; what progress raises.
    """
    came_at = time.monotonic()
    sentence_logged = ""
    lock = FileLock(path.parent.with_suffix(".lock"))
    while True:
        with _held(lock):
            # One process at a time looks who computes, and says that it begins itself.
            others = _OtherTickets.read(path)
            if not others.must_be_waited_for(metered=metered):
                _write_ticket(path, metered=metered, computes=True)
                return
        sentence = others.first.sentence
        progress(sentence[:PHASE_LENGTH], 0, 0)
        waits_long = time.monotonic() - came_at >= SAY_SECONDS
        if waits_long and sentence != sentence_logged:
            log.warning("%s; --share-machine waits for nobody", sentence)
            sentence_logged = sentence
        pause = LOOK_SECONDS
        if not others.waiting_before:  # This process comes next.
            pause = NEXT_SECONDS
        time.sleep(pause)
        # Touching its ticket shows that this process is awake.
        os.utime(path)


@contextmanager
def _held(lock: FileLock) -> Iterator[None]:
    """Hold a lock; a process that keeps it for long was suspended, and is not waited for."""
    with suppress(Timeout):
        # If the lock cannot be had in time, the block runs without it.
        lock.acquire(timeout=ASLEEP_SECONDS)
    try:
        yield
    finally:
        lock.release()


@dataclass(frozen=True)
class _OtherTickets:
    """The tickets of other processes, the oldest first."""

    computing: list[_Ticket]
    waiting_before: list[_Ticket]
    """Those that wait and came before this process."""

    @classmethod
    def read(cls, path: Path) -> _OtherTickets:
        """As they are now; this process's own ticket is at the path. Raises: OSError."""
        others = cls([], [])
        for other_path in sorted(path.parent.glob("*.json")):
            ticket = _active_ticket(other_path)
            if ticket is None or ticket.pid == os.getpid():
                continue
            if ticket.computes:
                others.computing.append(ticket)
            elif other_path.name < path.name:
                others.waiting_before.append(ticket)
        return others

    def must_be_waited_for(self, *, metered: bool) -> bool:
        """Whether a fold has to wait for one of them; `metered` says whether it is measured."""
        if self.waiting_before:
            return True
        if not self.computing:
            return False
        if metered or any(ticket.metered for ticket in self.computing):
            return True  # A meter would measure both folds.
        return len(self.computing) >= (os.cpu_count() or 1)

    @property
    def first(self) -> _Ticket:
        """For whom one waits first."""
        return (self.computing or self.waiting_before)[0]


def _active_ticket(path: Path) -> _Ticket | None:
    """The ticket in a file; None where its process is gone or asleep.

    The file of a process that is gone is deleted. Raises: OSError.
    """
    with suppress(FileNotFoundError):
        # The file is gone if its process has had its turn.
        silent_seconds = time.time() - path.stat().st_mtime
        try:
            ticket = _Ticket(**json.loads(private_text(path)))
            has_owner = is_alive(ticket.owner, silent_seconds=silent_seconds)
        except (ValueError, TypeError):
            # The file holds no ticket, or one of another version.
            has_owner = False
        if not has_owner:
            path.unlink(missing_ok=True)
        elif ticket.computes or silent_seconds < ASLEEP_SECONDS:
            return ticket
    return None


def _wait_for_quiet(progress: Progress) -> None:
    """Wait until other programs have used next to nothing for a while.

    Raises:
        What progress raises.
    """
    quiet_looks = 0
    is_logged = False
    while quiet_looks < QUIET_LOOKS:
        load_before = Load.now()
        time.sleep(LOOK_SECONDS)
        share_of_others = Load.now().share_of_others_since(load_before) or 0.0
        if share_of_others <= QUIET:
            quiet_looks += 1
            continue
        quiet_looks = 0
        sentence = f"waits for a quiet machine: others use {percent_text(share_of_others, '.0f')}"
        progress(sentence, 0, 0)
        if not is_logged:
            log.warning("%s of it, and it is quiet at %g %%", sentence, 100 * QUIET)
        is_logged = True


def _command_of_user() -> str:
    """What a user has called, without the interpreter; of a worker, the program it works for.

    At most 200 characters.
    """
    words = sys.argv
    is_worker = not words or words[0] == "-c"
    if is_worker:
        # The parent of a worker is the program that somebody has called.
        with suppress(psutil.Error):
            words = psutil.Process().parent().cmdline()  # type: ignore[union-attr]
    while len(words) > 1 and Path(words[0]).name.startswith("python"):
        words = words[1:]
    if not words:
        return "python"
    if words[0] == "-m" and len(words) > 1:
        # People know the package of `python -m package`.
        words = words[1:]
    program = Path(words[0])
    name = program.name
    if name == "__main__.py":
        # A package that was called so sees the path of its own `__main__.py`.
        name = program.parent.name
    if name == "ecv_core":
        name = "ecv"
    return " ".join([name, *words[1:]])[:200]
