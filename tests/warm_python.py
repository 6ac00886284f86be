"""A `python` that has loaded the libraries already: each command is a fork of one warm process.

Documents have commands by the dozen, each of which would load the same libraries for seconds. What
the commands see is as ever: arguments, folder, environment, input, output, exit code, and a process
of their own.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import json
import os
import runpy
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Iterator
from importlib.machinery import PathFinder
from pathlib import Path
from typing import NoReturn

from ecv_core.jobs.executors import warm_up
from ecv_core.records.plugins import import_environment_plugins

ROOT = Path(__file__).resolve().parents[1]
PLUGINS = {"ECV_PLUGINS", "ECV_RULES"}
_LIBRARIES = (
    *("ecv_core.cli", "ecv_core.fold", "ecv_core.library.track", "ecv_core.jobs"),
    *("ecv_core.store", "ecv_core.jobs.reported_scores", "pandas"),
)
_CLIENT = """
import json, os, socket, sys
with socket.socket(socket.AF_UNIX) as asked:
    asked.connect({address!r})
    socket.send_fds(asked, [b"?"], [0, 1, 2])
    words = json.dumps([sys.argv[1:], os.getcwd(), dict(os.environ)]).encode()
    asked.sendall(len(words).to_bytes(8, "big") + words)
    ended = asked.recv(1)
sys.exit(ended[0] if ended else 1)
"""


@contextlib.contextmanager
def warm_python() -> Iterator[Path]:
    """A folder for the beginning of PATH, with a program `python`."""
    folder = Path(tempfile.mkdtemp(prefix="warm-", dir="/tmp"))  # a socket's path is short
    address = str(folder / "socket")
    (folder / "client.py").write_text(_CLIENT.format(address=address), "utf-8")
    program = folder / "python"
    program.write_text(f"""#!/bin/sh\nexec "{sys.executable}" -IS "{folder}/client.py" "$@"\n""")
    program.chmod(0o755)
    server = subprocess.Popen(
        [sys.executable, "-m", "tests.warm_python", address],
        cwd=ROOT,
        env={name: value for name, value in os.environ.items() if name not in PLUGINS},
        start_new_session=True,
    )
    try:
        deadline = time.monotonic() + 120
        while not Path(address).exists():
            assert server.poll() is None, "the warm process ended"
            assert time.monotonic() < deadline, "the warm process does not listen"
            time.sleep(0.05)
        yield folder
    finally:
        os.killpg(server.pid, signal.SIGKILL)  # and what it may still do
        server.wait()
        shutil.rmtree(folder, ignore_errors=True)


def _serve(address: str) -> list[str]:
    """Answers until it is killed; in the fork that does a command, gives its arguments."""
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(f"{address}.new")
        listening.listen()
        os.rename(f"{address}.new", address)  # it listens as soon as it is there
        asked, _ = listening.accept()
        while os.fork():
            asked.close()
            with contextlib.suppress(ChildProcessError):
                while os.waitpid(-1, os.WNOHANG)[0]:
                    pass  # who has answered before
            asked, _ = listening.accept()
    with asked:
        _, files, _, _ = socket.recv_fds(asked, 1, 3)
        with asked.makefile("rb") as sent:
            words, folder, environment = json.loads(sent.read(int.from_bytes(sent.read(8), "big")))
        if child := os.fork():
            _, status = os.waitpid(child, 0)
            asked.sendall(bytes([os.waitstatus_to_exitcode(status) & 255]))
            os._exit(0)
    for number, file in enumerate(files):
        os.dup2(file, number)
        os.close(file)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    tempfile.tempdir = None
    return words


def _perform(words: list[str]) -> None:
    """As Python does with its arguments; PYTHONPATH is read anew."""
    paths = os.environ.get("PYTHONPATH", "")
    first = "" if words[0] in ("-m", "-c") else str(Path(words[0]).resolve().parent)
    own = str(ROOT)
    sys.path[:] = [
        first,
        *filter(None, paths.split(os.pathsep)),
        *(p for p in sys.path if p != own),
    ]
    _forget_another_copy()
    if PLUGINS & os.environ.keys():  # read where registries are looked at, which was before
        import_environment_plugins()
    if words[0] == "-c":
        sys.argv = ["-c", *words[2:]]
        exec(compile(words[1], "<string>", "exec"), {"__name__": "__main__"})
    elif words[0] == "-m":
        sys.argv = words[1:]
        runpy.run_module(words[1], run_name="__main__", alter_sys=True)
    else:
        sys.argv = words
        runpy.run_path(words[0], run_name="__main__")


def _forget_another_copy() -> None:
    """Where the path leads to a copy of the project, that copy is the one to import."""
    found = PathFinder.find_spec("ecv_core")
    if found is not None and found.origin != sys.modules["ecv_core"].__file__:
        for name in [one for one in sys.modules if one.partition(".")[0] in ("ecv_core", "tests")]:
            del sys.modules[name]


def _end(code: object) -> NoReturn:
    """Leave as Python does, but for taking the libraries apart, which takes as long as loading."""
    for thread in threading.enumerate():
        if thread is not threading.current_thread() and not thread.daemon:
            thread.join()
    atexit._run_exitfuncs()
    if isinstance(code, str):
        print(code, file=sys.stderr)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code & 255 if isinstance(code, int) else code is not None)


if __name__ == "__main__":
    for name in _LIBRARIES:
        __import__(name)
    warm_up()
    gc.freeze()  # so that a fork does not look at, and copy, all that is there
    given = _serve(sys.argv[1])
    code: object = 1
    try:
        _perform(given)
        code = None
    except SystemExit as end:
        code = end.code
    finally:
        if sys.exc_info()[0] is not None:
            traceback.print_exc()
        _end(code)
