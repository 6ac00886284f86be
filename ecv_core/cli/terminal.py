"""What a command writes on a terminal: a name in somebody's file cannot command the terminal."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, redirect_stderr, redirect_stdout
from typing import TextIO

from ecv_core.untrusted.texts import blank_hidden_characters


@contextmanager
def visible_on_terminals() -> Iterator[None]:
    """Write no control character to stdout or stderr where it is a terminal; files get every sign.

    A return to the beginning of the line stays on stderr, where progress bars need it. What cannot
    be written to stderr is lost: it only tells of a run, which is worth more.
    """
    with ExitStack() as until_the_end:
        if sys.stdout.isatty():
            stdout = _VisibleText(sys.stdout)
            until_the_end.enter_context(redirect_stdout(stdout))
        stderr: _Stream = sys.stderr
        if stderr.isatty():
            stderr = _VisibleText(sys.stderr, kept="\r")
        until_the_end.enter_context(redirect_stderr(_DispensableText(stderr)))
        yield


def replace_closed_streams() -> None:
    """Give a program that was started without stdout or stderr, as by `>&-`, one that goes nowhere.

    Else the next file that is opened, such as the database, takes the place of the closed stream,
    and what a library written in C prints there ends up in it.
    """
    if sys.stdout is None:
        sys.stdout = _open_to_nowhere(1)
    if sys.stderr is None:
        sys.stderr = _open_to_nowhere(2)


def _open_to_nowhere(descriptor: int) -> TextIO:
    """A stream that goes nowhere, under this number; programs that are started inherit it."""
    # The system gives the lowest free number, which is another one where stdin is closed too.
    nowhere = os.open(os.devnull, os.O_WRONLY)
    if nowhere != descriptor:
        os.dup2(nowhere, descriptor)
        os.close(nowhere)
    os.set_inheritable(descriptor, True)
    return os.fdopen(descriptor, "w", encoding="utf-8", closefd=False)


def discard_stdout() -> None:
    """Let what stdout has kept back go nowhere, so that Python ends without an error."""
    _discard(sys.stdout)


def _discard(stream: _Stream) -> None:
    """Let what a stream has kept back, and whatever comes after it, go nowhere."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


@contextmanager
def flushed_stdout() -> Iterator[None]:
    """Write what stdout has kept back: an error is raised here, and not when Python ends.

    Where the command itself has failed, that is what is raised, whatever becomes of its output.
    """
    try:
        yield
    except SystemExit:
        # Argparse ends so after --help.
        sys.stdout.flush()
        raise
    except BaseException:
        try:
            sys.stdout.flush()
        except OSError:
            discard_stdout()
        raise
    sys.stdout.flush()


def escape_what_stdout_lacks() -> None:
    r"""Write `\u03b1` for a sign that the encoding of stdout has not, as in a pipe of Windows.

    UTF-8 has every sign.
    """
    if isinstance(sys.stdout, io.TextIOWrapper) and sys.stdout.encoding.lower() != "utf-8":
        sys.stdout.reconfigure(errors="backslashreplace")


class _DispensableText(io.TextIOBase):
    """Writes to a stream until that cannot be written to, as where its reader is gone."""

    def __init__(self, stream: _Stream) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        try:
            self._stream.write(text)
        except OSError:
            _discard(self._stream)
        return len(text)

    def flush(self) -> None:
        try:
            self._stream.flush()
        except OSError:
            _discard(self._stream)

    def isatty(self) -> bool:
        return self._stream.isatty()

    def fileno(self) -> int:
        return self._stream.fileno()


class _VisibleText(io.TextIOBase):
    """Writes on a terminal what can be seen.

    Args:
        terminal: The terminal that is written to.
        kept: A control character that goes there all the same.
    """

    def __init__(self, terminal: TextIO, kept: str = "\n") -> None:
        self._terminal = terminal
        self._kept = kept

    def write(self, text: str) -> int:
        parts = text.split(self._kept)
        self._terminal.write(self._kept.join([blank_hidden_characters(part) for part in parts]))
        return len(text)

    def flush(self) -> None:
        self._terminal.flush()

    def isatty(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._terminal.fileno()


_Stream = TextIO | _VisibleText
"""What this program writes to."""
