"""The command line: `python -m ecv_core ...`; its words and JSON are a contract other tools use."""

from __future__ import annotations

import argparse
import errno
import logging
import os
import re
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stderr
from dataclasses import dataclass
from importlib import import_module
from typing import Any, NoReturn

from ecv_core._version import __version__
from ecv_core.cli.output import BAD_INPUT, FAILED, INTERRUPTED, OK
from ecv_core.records.errors import EcvError, InputError, RunError, Terminated, UnknownName
from ecv_core.records.plugins import naming_code


@dataclass(frozen=True, slots=True)
class Command:
    """A command by name, so that nothing of it loads before it is used."""

    help: str
    module: str
    """In this package."""
    options: str
    """Its function that adds the options to a parser, and sets `command` to what carries it out:
    parsed options -> exit code."""


COMMANDS = {
    "datasets": Command(
        "list the datasets, and which are on disk", "data_commands", "datasets_options"
    ),
    "download": Command(
        "download a dataset, after its licence is shown", "data_commands", "download_options"
    ),
    "add": Command("keep a file of your own as a dataset", "data_commands", "add_options"),
    "rename": Command(
        "give a dataset that was added another name", "data_commands", "rename_options"
    ),
    "remove": Command("delete a dataset that was added", "data_commands", "remove_options"),
    "folds": Command("write a split for others to use", "data_commands", "folds_options"),
    "run": Command("evaluate an algorithm on a dataset", "run_command", "run_options"),
    "resume": Command("go on with a run that was cut off", "runs_commands", "resume_options"),
    "runs": Command("the runs there are, and which can go on", "runs_commands", "runs_options"),
    "show": Command("what a run found, and each of its folds", "runs_commands", "show_options"),
    "export": Command("a run as JSON, for `import`", "runs_commands", "export_options"),
    "delete": Command("delete runs", "runs_commands", "delete_options"),
    "study": Command(
        "datasets x algorithms x splits, recorded; resumable", "study_command", "study_options"
    ),
    "orders": Command(
        "what a rule does over every order of the folds", "orders_command", "orders_options"
    ),
    "select": Command(
        "which of several contenders is best, in as few folds as it takes",
        "select_command",
        "select_options",
    ),
    "tune": Command(
        "the best parameters of an algorithm, in as few folds as it takes",
        "tune_command",
        "tune_options",
    ),
    "power": Command(
        "which metric tells configurations apart, and which parameter matters",
        "tune_command",
        "power_options",
    ),
    "track": Command(
        "evaluate a model of your own, with ask and tell", "track_commands", "track_options"
    ),
    "ask": Command("the next fold of a tracked run, as files", "track_commands", "ask_options"),
    "tell": Command("what a fold of a tracked run gave", "track_commands", "tell_options"),
    "import": Command("keep a run that was exported elsewhere", "share_commands", "import_options"),
    "report": Command(
        "a run as one HTML page, to print or to send", "share_commands", "report_options"
    ),
    "figure": Command(
        "a picture for a paper, in a column's width", "figure_command", "figure_options"
    ),
    "reproduce": Command(
        "every table and figure of the papers, cell by cell, beside ours",
        "reproduce_command",
        "reproduce_options",
    ),
    "dashboard": Command("the pages, in a browser", "dashboard_command", "dashboard_options"),
    "completion": Command(
        "a script with which a shell completes commands and options", "manual", "completion_options"
    ),
    "man": Command("the manual page, for man -l", "manual", "man_options"),
    "backup": Command("all runs as one file, while in use", "share_commands", "backup_options"),
    "restore": Command("all runs from such a file", "share_commands", "restore_options"),
}
"""Every command, in the order in which `--help` lists them."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; gives its exit code: 0, 1 for a failed run, 2 for bad input."""
    try:
        with _told_to_end(), _warnings_shown():
            options = parse(arguments)
            command: Callable[[argparse.Namespace], int] = options.command
            if getattr(options, "meter", None):
                import_module("ecv_core.cli.options").use_meters(options)
            with naming_code(), _quiet(options.quiet):  # what is typed here may name code to import
                return command(options)
    except RunError as error:
        return _complain(error, FAILED)
    except EcvError as error:
        return _complain(error, BAD_INPUT)
    except (KeyboardInterrupt, Terminated):
        return _complain(
            f"stopped; finished folds are kept: '{program()} resume' goes on with the run",
            INTERRUPTED,
        )
    except BrokenPipeError:  # the reader of our output has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return OK
    except OSError as error:
        if error.errno != errno.ENAMETOOLONG:
            raise
        return _complain(f"{str(error.filename)[:100]}... is too long for a file name", BAD_INPUT)


@contextmanager
def _quiet(asked: bool) -> Iterator[None]:
    """Nothing on the way: no progress, no notes; the result and errors alone."""
    if not asked:
        yield
        return
    with open(os.devnull, "w", encoding="utf-8") as nothing, redirect_stderr(nothing):
        yield


class _Line(logging.Handler):
    """A warning as a line of its own, above a progress bar where there is one."""

    def emit(self, record: logging.LogRecord) -> None:
        """Write it."""
        tqdm = sys.modules.get("tqdm")
        write = print if tqdm is None else tqdm.tqdm.write
        write(self.format(record), file=sys.stderr)


@contextmanager
def _warnings_shown() -> Iterator[None]:
    """What the library warns of, such as for whom a fold waits, goes to stderr."""
    line, log = _Line(logging.WARNING), logging.getLogger("ecv_core")
    log.addHandler(line)
    try:
        yield
    finally:
        log.removeHandler(line)


@contextmanager
def _told_to_end() -> Iterator[None]:
    """SIGTERM and SIGHUP end a command in good order: its run can be resumed."""

    def end(_number: int, _frame: object) -> NoReturn:
        raise Terminated

    numbers = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    try:
        before = [signal.signal(number, end) for number in numbers]
    except ValueError:  # not in the main thread: the program has ways of its own
        numbers, before = [], []
    try:
        yield
    finally:
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)


def program() -> str:
    """What is typed to get here."""
    name = os.path.basename(sys.argv[0])
    return "ecv" if name in ("ecv", "ecv.exe") else "python -m ecv_core"


def parse(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """The options of these arguments, with the function that carries them out as `command`.

    Raises: InputError for arguments that make no command.
    """
    words = list(sys.argv[1:] if arguments is None else arguments)
    if words and not words[0].startswith("-") and words[0] not in COMMANDS:
        raise UnknownName("command", words[0], COMMANDS)
    parser, _ = parsers()
    options = parser.parse_args(words)
    number = re.fullmatch("[0-9]{1,6}", str(getattr(options, "folds", None)))
    if number and not os.path.exists(options.folds):
        if options.k not in (None, int(options.folds)):
            raise InputError(f"-k {options.k} and --folds {options.folds} differ; leave one out")
        options.k, options.folds = int(options.folds), None  # a number of them is no file
    return options


def parsers() -> tuple[argparse.ArgumentParser, dict[str, _Lazy]]:
    """The parser of the command line, and that of each command, which knows its options later."""
    parser = _Parser(prog=program(), description="e-fold cross-validation", allow_abbrev=False)
    parser.add_argument("--version", action="version", version=f"e-fold {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND", parser_class=_Lazy)
    return parser, {
        name: commands.add_parser(name, help=command.help, declared=command)
        for name, command in COMMANDS.items()
    }


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """Refuse bad arguments like any other bad input: in one line."""
        raise InputError(f"{message}; see '{self.prog} --help'")


class _Lazy(_Parser):
    """The parser of one command, which learns its options when it is first asked to parse."""

    def __init__(self, *, declared: Command, **options: Any) -> None:  # noqa: ANN401
        super().__init__(allow_abbrev=False, **options)
        self._declared: Command | None = declared

    def declare(self) -> None:
        """Learn the options."""
        if (command := self._declared) is not None:
            self._declared = None
            home = import_module(f"{__name__}.{command.module}")
            declare: Callable[[argparse.ArgumentParser], None] = getattr(home, command.options)
            declare(self)
            self.add_argument(
                "-q", "--quiet", action="store_true", help="no progress and no notes; errors alone"
            )

    def parse_known_args(self, *given: Any, **named: Any) -> Any:  # noqa: ANN401
        self.declare()
        return super().parse_known_args(*given, **named)


def _complain(error: EcvError | str, code: int) -> int:
    print(f"error: {' '.join(str(error).split())}", file=sys.stderr)
    return code
