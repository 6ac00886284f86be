"""The command line: `python -m ecv_core ...`; its words and JSON are a contract other tools use."""

from __future__ import annotations

import argparse
import errno
import gc
import json
import logging
import os
import re
import signal
import sys
import traceback
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, redirect_stderr
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn

from ecv_core.cli.terminal import (
    discard_stdout,
    escape_what_stdout_lacks,
    flushed_stdout,
    replace_closed_streams,
    visible_on_terminals,
)
from ecv_core.records import __version__
from ecv_core.records.errors import EcvError, InputError, RunError, Terminated, UnknownName

OK = 0
FAILED = 1
BAD_INPUT = 2
INTERRUPTED = 130

COMMANDS = {
    "datasets": ("data_commands", "List the datasets, and show which are on disk."),
    "download": ("data_commands", "Show the licence of a dataset, and download it."),
    "add": ("data_commands", "Add a file of your own as a dataset."),
    "remove": ("data_commands", "Delete a dataset that you added."),
    "folds": ("data_commands", "Write the folds of a split to a file, for use elsewhere."),
    "run": ("run_command", "Evaluate an algorithm on a dataset."),
    "resume": ("runs_commands", "Continue a run that was interrupted."),
    "runs": ("runs_commands", "List the runs, and show which can be resumed."),
    "show": ("runs_commands", "Show the result of a run, fold by fold."),
    "export": ("run_files_commands", "Write a run as JSON, which `import` reads."),
    "delete": ("runs_commands", "Delete runs."),
    "study": ("plan_commands", "Run every algorithm on every dataset; can be resumed."),
    "compare": ("compare_command", "Test which of several runs is better, by paired tests."),
    "gate": (
        "gate_command",
        "Check whether a candidate is worse than a baseline; the exit code says so.",
    ),
    "orders": ("orders_command", "Show where a rule stops over every order of the folds."),
    "select": (
        "select_command",
        "Find the best of several contenders in as few folds as possible.",
    ),
    "tune": (
        "plan_commands",
        "Find the best parameters of an algorithm in as few folds as possible.",
    ),
    "power": (
        "plan_commands",
        "Show which metric tells configurations apart, and which parameter matters.",
    ),
    "track": ("track_commands", "Evaluate a model that your own code trains, with ask and tell."),
    "ask": ("track_commands", "Write the next fold of a tracked run to files."),
    "tell": ("track_commands", "Report the scores of a fold of a tracked run."),
    "bridge": ("bridge_command", "Evaluate a model of RecBole or Cornac, in its own environment."),
    "import": ("run_files_commands", "Add a run that was exported elsewhere."),
    "report": ("run_files_commands", "Write a run, or several, as one HTML page."),
    "figure": ("papers_commands", "Write a figure for a paper, as wide as a column."),
    "reproduce": (
        "papers_commands",
        "Show the tables and figures of five papers beside ours.",
    ),
    "board": ("papers_commands", "Check a result that somebody submits."),
    "dashboard": ("shell_commands", "Open the dashboard in a browser."),
    "completion": (
        "shell_commands",
        "Print a script that lets a shell complete commands and options.",
    ),
    "backup": ("run_files_commands", "Copy all runs into one file, even while they are in use."),
}
"""Every command, in the order in which `--help` lists them: its module in this package, which loads
when the command is used, and its help. `NAME_options` of that module adds the options to a parser,
and `NAME_command` carries them out; what fails raises EcvError."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; gives its exit code: 0, 1 for a failed run, 2 for bad input.

    `gate` has 1 and 3 for what it says of a candidate, and 2 for every error.
    """
    words = _words_after_program(arguments)
    failure_code = code_of_failure(words)
    # Pydantic would look for plug-ins of its own in every package that is installed.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    replace_closed_streams()
    escape_what_stdout_lacks()
    try:
        with (
            flushed_stdout(),
            _signals_end_command(),
            visible_on_terminals(),
            _warnings_on_stderr(),
        ):
            options = parse(words)
            if not gc.isenabled():
                # `__main__` switches the garbage collector off while modules are loaded. It need
                # never look through what they hold, so that is frozen before it is switched on.
                gc.freeze()
                gc.enable()
            return _carry_out(options)
    except RunError as error:
        return _complain(error, failure_code)
    except EcvError as error:
        return _complain(error, BAD_INPUT)
    except (KeyboardInterrupt, Terminated):
        return _complain(
            f"stopped; folds that have finished are kept, and '{program()} resume' continues a run "
            "that had begun",
            INTERRUPTED,
        )
    except BrokenPipeError:
        # Whoever reads the output has closed it, as `head` does, which is no error.
        discard_stdout()
        return OK
    except OSError as error:
        return _complain_of_file(error, failure_code)
    except Exception as error:  # noqa: BLE001  it is raised again, or shown in full
        return _end_unforeseen(error, failure_code)


def _words_after_program(arguments: Sequence[str] | None) -> list[str]:
    """The arguments, or those that were typed where there are none."""
    if arguments is None:
        arguments = sys.argv[1:]
    return list(arguments)


_WAYS_OUT = {
    errno.ENOSPC: "free some disk space",
    errno.EDQUOT: "free some of the space that you may use there",
    errno.EIO: "see whether the disk is sound, or choose another one",
    errno.EROFS: "choose a folder that can be written to",
    errno.EACCES: "choose a folder that you may write to",
    errno.EPERM: "choose a folder that you may write to",
}
"""By the number of an error of a file."""


def _complain_of_file(error: OSError, failure_code: int) -> int:
    """Say which file cannot be used, and the way out; gives the exit code."""
    if error.errno == errno.ENAMETOOLONG:
        name = str(error.filename)[:100]
        return _complain(f"{name}... is too long for a file name", BAD_INPUT)
    names_file = error.filename is not None
    # Without a file, it was a process or a connection that may not be used.
    is_refused_elsewhere = isinstance(error, PermissionError) and not names_file
    if error.errno not in _WAYS_OUT or is_refused_elsewhere:
        return _end_unforeseen(error, failure_code)
    if names_file:
        what = f"{error.filename} cannot be used"
    else:
        what = "the output cannot be written"
        discard_stdout()
    return _complain(f"{what}: {error.strerror}; {_WAYS_OUT[error.errno]}", failure_code)


def _end_unforeseen(error: Exception, failure_code: int) -> int:
    """Let Python show an error that nobody foresaw, and end with 1.

    Returns:
        The exit code of a command whose 1 has a meaning; the error is shown here then.
    """
    # A missing package has its sentence in `__main__`.
    if failure_code == FAILED or isinstance(error, ModuleNotFoundError):
        raise error
    traceback.print_exception(error)
    return failure_code


def code_of_failure(arguments: Sequence[str] | None = None) -> int:
    """The exit code where a command fails for another reason than bad input."""
    words = _words_after_program(arguments)
    if words[:1] == ["gate"]:
        # The command gate ends with 1 if the candidate is worse, so its errors have another code.
        return BAD_INPUT
    return FAILED


def _carry_out(options: argparse.Namespace) -> int:
    """Run the command that the options name, with what options of all commands ask for.

    Returns:
        The exit code of a command that has one of its own, such as `gate`; else OK.
    """
    # With some commands --json names no file. It is True or False there, and the JSON goes to
    # stdout.
    if isinstance(getattr(options, "json", None), str):
        check_target(options.json)
    if getattr(options, "meter", None):
        # Most commands meter nothing, so this is imported only here.
        from ecv_core.cli.options import use_meters

        use_meters(options)
    if not options.quiet:
        return options.command(options) or OK
    # Progress and notes go to stderr, and so do errors, which are printed after this.
    with open(os.devnull, "w", encoding="utf-8") as nowhere, redirect_stderr(nowhere):
        return options.command(options) or OK


class _WarningLine(logging.Handler):
    """A warning as a line of its own, above a progress bar where there is one."""

    def emit(self, record: logging.LogRecord) -> None:
        line = self.format(record)
        if "tqdm" in sys.modules:
            sys.modules["tqdm"].tqdm.write(line, file=sys.stderr)
        else:
            print(line, file=sys.stderr)


@contextmanager
def _warnings_on_stderr() -> Iterator[None]:
    """What the library warns of, such as for whom a fold waits, goes to stderr."""
    handler = _WarningLine(logging.WARNING)
    log = logging.getLogger("ecv_core")
    log.addHandler(handler)
    try:
        yield
    finally:
        log.removeHandler(handler)


@contextmanager
def _signals_end_command() -> Iterator[None]:
    """SIGTERM and SIGHUP end a command in good order: its run can be resumed."""

    def end(_number: int, _frame: object) -> NoReturn:
        raise Terminated

    handlers_before = {}
    try:
        for name in ("SIGTERM", "SIGHUP"):
            if hasattr(signal, name):
                number = getattr(signal, name)
                handlers_before[number] = signal.signal(number, end)
    except ValueError:
        # Only a main thread may set handlers. A program that calls this in another one ends
        # commands in its own way.
        pass
    try:
        yield
    finally:
        for number, handler in handlers_before.items():
            signal.signal(number, handler)


def program() -> str:
    """What is typed to get here."""
    name = os.path.basename(sys.argv[0])
    if name in ("ecv", "ecv.exe"):
        return "ecv"
    return "python -m ecv_core"


def parse(words: Sequence[str]) -> argparse.Namespace:
    """The options of these arguments, with the function that carries them out as `command`.

    Raises:
        InputError: For arguments that make no command.
    """
    names: Iterable[str] = COMMANDS
    if words and words[0] in COMMANDS:
        # Building a parser takes time, so only the named command gets one.
        names = words[:1]
    elif words and not words[0].startswith("-"):
        raise UnknownName("command", words[0], COMMANDS)
    parser, _ = command_line(names)
    # `--score -1e-05` is parsed as `--score=-1e-05`.
    options = parser.parse_args(_with_joined_numbers(words))
    if hasattr(options, "folds"):
        # `--folds 5` becomes `-k 5`; `--folds folds.csv` names a file, and stays.
        _move_number_of_folds_to_k(options)
    return options


_OPTION = re.compile("--[a-z][a-z-]*")
_NEGATIVE_NUMBER = re.compile(r"-(\d+\.?\d*|\.\d+)(e[+-]?\d+)?|-inf", re.IGNORECASE)


def _with_joined_numbers(words: Sequence[str]) -> list[str]:
    """The arguments with `--score -1e-05` as `--score=-1e-05`.

    Apart, argparse takes -1e-05, as programs print small numbers, for an option.
    """
    joined: list[str] = []
    for word in words:
        if joined and _OPTION.fullmatch(joined[-1]) and _NEGATIVE_NUMBER.fullmatch(word):
            joined[-1] += f"={word}"
        else:
            joined.append(word)
    return joined


def _move_number_of_folds_to_k(options: argparse.Namespace) -> None:
    """Take `--folds 5` as `-k 5`, where there is no file of that name."""
    # A file may be called by a number, too: then it is the file that is meant.
    is_number = re.fullmatch("[0-9]{1,6}", str(options.folds))
    if not is_number or os.path.exists(options.folds):
        return
    if options.k not in (None, int(options.folds)):
        raise InputError(
            f"-k is {options.k}, but --folds is {options.folds}; leave one of them out"
        )
    options.k = int(options.folds)
    options.folds = None


def command_line(
    names: Iterable[str] = COMMANDS,
) -> tuple[argparse.ArgumentParser, dict[str, CommandParser]]:
    """The parser of a command line with some commands, and the parser of each command."""
    parser = _Parser(prog=program(), description="e-fold cross-validation.")
    parser.add_argument(
        "--version",
        action="version",
        version=f"e-fold {__version__}",
        help="Show the version and exit.",
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND", parser_class=CommandParser)
    parsers = {}
    for name in names:
        _, summary = COMMANDS[name]
        parsers[name] = commands.add_parser(name, help=summary, command=name)
    return parser, parsers


class _Parser(argparse.ArgumentParser):
    """A parser whose help is whole sentences, and whose errors are those of bad input."""

    def __init__(self, **options: Any) -> None:  # noqa: ANN401
        super().__init__(allow_abbrev=False, add_help=False, **options)
        self.add_argument("-h", "--help", action="help", help="Show this help and exit.")

    def error(self, message: str) -> NoReturn:
        """Refuse bad arguments like any other bad input: in one line."""
        raise InputError(f"{message}; see '{self.prog} --help'")


class CommandParser(_Parser):
    """The parser of one command, which learns its options when it is first asked to parse."""

    def __init__(self, *, command: str, **options: Any) -> None:  # noqa: ANN401
        super().__init__(**options)
        self._command = command

    def declare(self) -> None:
        """Load the command's module, and add its options; a parser declares once."""
        module_name, _ = COMMANDS[self._command]
        module = import_module(f"{__name__}.{module_name}")
        getattr(module, f"{self._command}_options")(self)
        self.set_defaults(command=getattr(module, f"{self._command}_command"))
        self.add_argument(
            "-q",
            "--quiet",
            action="store_true",
            help="Show errors only, without progress and notes.",
        )

    def parse_known_args(self, *args: Any, **options: Any) -> Any:  # noqa: ANN401
        self.declare()
        namespace, unknown = super().parse_known_args(*args, **options)
        if unknown:
            # Refused here, the error names this command and its help; the main parser would name
            # itself.
            self.error(f"unrecognized arguments: {' '.join(unknown)}")
        return namespace, unknown


def _complain(error: EcvError | str, code: int) -> int:
    with visible_on_terminals():
        print(f"error: {' '.join(str(error).split())}", file=sys.stderr)
    return code


def check_target(target: str, option: str = "--json") -> None:
    """Refuse a file that cannot be written, before any work is done.

    Args:
        target: The file, or - for stdout.
        option: The option that names it, for the sentence.
    """
    if target == "":
        raise InputError(f"{option} names no file; give one, or - for stdout")
    if target == "-":
        return
    from ecv_core.store.outputs import check_folder, check_output

    path = Path(target)
    check_folder(path, option=f"{option} ")
    if path.is_dir():
        raise InputError(f"{option} {target} is a folder; give a file in it")
    check_output(path)


def write_answer(options: argparse.Namespace, document: dict[str, Any], text: str) -> None:
    """Write the document where --json says, and print what it says in words beside it."""
    write_json(document, options.json)
    if options.json != "-":
        _print_answer(text)


def _print_answer(text: str) -> None:
    """Print to stdout; that a reader has seen enough leaves the exit code to the command."""
    try:
        print(text, flush=True)
    except BrokenPipeError:
        discard_stdout()


def say(text: str) -> None:
    """Tell a person something that is no part of the answer, which goes to stdout."""
    print(text, file=sys.stderr)


def write_json(document: dict[str, Any], target: str | None, option: str = "--json") -> None:
    """Write the document to this file, to stdout for '-', or nowhere for None."""
    if target is None:
        return
    text = json.dumps(document, indent=2)
    if target == "-":
        _print_answer(text)
        return
    from ecv_core.store.outputs import WAY_OUT_OF_FILE, write_output

    try:
        write_output(Path(target), text + "\n")
    except OSError as error:
        raise RunError(
            f"{option} {target} cannot be written: {error.strerror}; everything else is kept: "
            f"{WAY_OUT_OF_FILE}"
        ) from None
