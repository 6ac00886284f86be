"""What can go wrong, as one tree. Every message says what is wrong, the value, and the way out.

EcvError
├── InputError            a user's mistake: exit code 2, one clear sentence on the page
│   ├── UnknownName       an id that no registry or catalogue knows
│   ├── DatasetError      a dataset that is missing, damaged, or not what the catalogue promises
│   ├── FoldsError        a fold file, or a number of folds, that does not fit the data
│   ├── RightsError       somebody asks for what they may not do here
│   └── NotInstalled      a package of an extra is missing; an ImportError too
├── StoreError            the database cannot be read or written
│   └── DamagedRun        one run of it cannot be read; the others can
└── RunError              a run that was going and failed: exit code 1
    └── Cancelled         someone asked the run to stop; not a failure

Terminated, outside the tree, goes through everything: the program is told to end.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from difflib import get_close_matches

_CONTROL = re.compile(r"[\x00-\x1f\x7f\x85\u2028\u2029\ud800-\udfff]+")
"""What breaks a line, and halves of characters, which no database takes."""
_LONG_WORD = re.compile(r"(\S{100})\S{101,}")


class EcvError(Exception):
    """Base of every error raised on purpose here; its text is fit to show to a user.

    It is one line. A word that is longer than any path or id, such as a value of 5,000 characters,
    is cut short.
    """

    def __str__(self) -> str:
        return _LONG_WORD.sub(r"\1...", _CONTROL.sub(" ", super().__str__()))


class InputError(EcvError):
    """What the user asked for is not possible; the message says why and what would be."""


class UnknownName(InputError):
    """An id that is not known, with the ids that are."""

    def __init__(self, kind: str, name: str, known_names: Iterable[str]) -> None:
        names = sorted(known_names)
        hint = ""
        for close_name in get_close_matches(name, names, n=1):
            hint = f"did you mean '{close_name}'? "
        way_out = "there is none"
        if names:
            way_out = f"{hint}choose one of: {', '.join(names)}"
        super().__init__(f"no {kind} is called '{name}'; {way_out}")

    def __reduce__(self) -> tuple[object, ...]:
        # Unpickling an exception calls its class with its text, but this one takes other arguments.
        return InputError, self.args


class DatasetError(InputError):
    """A dataset that is missing, damaged, or not what its catalogue entry promises."""


class FoldsError(InputError):
    """Folds that do not fit the data: a bad fold file, or more folds than the data can fill."""


class RightsError(InputError):
    """Somebody asks for what they may not do here, or more of it than a limit allows."""


class StoreError(EcvError):
    """The database of runs cannot be read or written."""


class DamagedRun(StoreError):
    """One run of the database cannot be read; the others can."""


class RunError(EcvError):
    """A run that had started could not go on."""


class Cancelled(RunError):
    """The run was asked to stop."""


class Terminated(BaseException):
    """The system tells this program to end (SIGTERM, SIGHUP); what it computed is kept."""


def shown(value: object, most: int = 40) -> str:
    """The beginning of a value in one line of printable characters, for a message."""
    return " ".join(printable(str(value)[:most]).split())


def printable(text: str) -> str:
    """With a blank for each other sign: PostgreSQL takes no NUL, and nothing half a character."""
    return "".join(sign if sign.isprintable() else " " for sign in text)


# Packages that only some of the work needs, and the sentence where one is missing.


EXTRAS = {
    "models": ("torch", "lenskit", "myfm", "numba"),
    "sklearn": ("sklearn", "joblib"),
    "energy": ("codecarbon", "pynvml"),
    "figures": ("plotly", "matplotlib", "jinja2", "fpdf"),
    "tune": ("optuna",),
    "dashboard": ("streamlit", "authlib", "httpx2", "segno", "starlette"),
    "postgres": ("psycopg",),
    "cluster": ("dask", "distributed", "dask_jobqueue"),
    "download": ("requests",),
}
"""Extra of the package -> what it brings, by the names under which it is imported."""


class NotInstalled(InputError, ImportError):
    """A package that only some of the work needs is missing, and how it is installed."""


@contextmanager
def explain_missing_extras() -> Iterator[None]:
    """Turn the error of a package of an extra that is missing into its sentence.

    Raises:
        NotInstalled.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        sentence = what_to_install(error)
        if sentence is None:
            raise
        raise NotInstalled(sentence) from error


def what_to_install(error: BaseException) -> str | None:
    """The sentence for a package of an extra that is not installed; None for any other error."""
    if not isinstance(error, ModuleNotFoundError):
        return None
    root = (error.name or "").partition(".")[0]
    for packages in EXTRAS.values():
        if root in packages:
            return how_to_install(root)
    return None


def how_to_install(package: str) -> str:
    """The sentence for a package that is not installed: by its extra, where it is of one."""
    needed = f"this needs {package}, which is not installed; install it with pip install"
    for extra, packages in EXTRAS.items():
        if package in packages:
            return f"{needed} 'e-fold[{extra}]', or everything with pip install 'e-fold[all]'"
    return f"{needed} {package}"
