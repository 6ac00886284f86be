"""A real PostgreSQL server for tests that must hold on every database."""

from __future__ import annotations

import contextlib
import os
import pwd
import shutil
import signal
import sqlite3
import subprocess
import tempfile
import time
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest
import sqlalchemy as sa

from ecv_core.store import engine
from ecv_core.store.store import Store, open_store

PROGRAMS = max(Path("/usr/lib/postgresql").glob("*/bin"), default=None)
"""Of PostgreSQL; None where it is not on this machine."""
_NUMBERS = count()


class PostgresServer:
    """In a folder of its own, reached by a socket there; nothing is open to the network."""

    def __init__(self, programs: Path) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="pg-", dir="/tmp"))  # a socket's path is short
        self._who = "postgres" if os.geteuid() == 0 else None  # the server refuses to run as root
        if self._who:
            os.chown(self._folder, pwd.getpwnam(self._who).pw_uid, -1)
        data = self._folder / "data"
        subprocess.run(
            [
                programs / "initdb",
                "-D",
                data,
                "-U",
                "ecv",
                "-A",
                "trust",
                "--no-sync",
                "-E",
                "UTF8",
            ],
            user=self._who,
            cwd=self._folder,
            check=True,
            capture_output=True,
        )
        self._programs = programs
        self._engine = sa.create_engine(self._url("public"), isolation_level="AUTOCOMMIT")
        self.start()

    def start(self) -> None:
        """Have it answer, for the first time or again."""
        settings = {"listen_addresses": "", "unix_socket_directories": self._folder, "fsync": "off"}
        self._process = subprocess.Popen(
            [
                str(self._programs / "postgres"),
                *("-D", str(self._folder / "data")),
                *(f"--{name}={value}" for name, value in settings.items()),
            ],
            user=self._who,
            cwd=self._folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self._wait()

    def go_away(self) -> None:
        """End it; what is in it comes back with `start`."""
        self._engine.dispose()
        self._process.send_signal(signal.SIGINT)  # fast: waits for no client, as SIGTERM does
        self._process.wait(120)

    def run(self, program: str, *words: str) -> bytes:
        """What one of PostgreSQL's own programs prints, such as pg_dump, on this server."""
        where = ["-h", str(self._folder), "-U", "ecv", "-d", "postgres"]
        done = subprocess.run(
            [self._programs / program, *where, *words], check=True, capture_output=True
        )
        return done.stdout

    def _url(self, name: str) -> str:
        return f"postgresql://ecv@/postgres?host={self._folder}&options=-csearch_path%3D{name}"

    def _wait(self) -> None:
        deadline = time.monotonic() + 120
        while True:
            try:
                self._engine.connect().close()
            except sa.exc.OperationalError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.05)
            else:
                return

    def database(self) -> str:
        """The address of a new, empty database: a schema, which takes a hundredth of the time."""
        name = f"runs_{next(_NUMBERS)}"
        with self._engine.connect() as connection:
            connection.exec_driver_sql(f"CREATE SCHEMA {name}")
        return self._url(name)

    def forget(self) -> None:
        """End whoever has a database open still; what is in it goes with the server."""
        with self._engine.connect() as connection:
            connection.exec_driver_sql(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE backend_type = 'client backend' AND pid != pg_backend_pid()"
            )

    def stop(self) -> None:
        self.go_away()
        shutil.rmtree(self._folder, ignore_errors=True)


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    if PROGRAMS is None:
        pytest.skip("PostgreSQL is not on this machine")
    server = PostgresServer(PROGRAMS)
    yield server
    server.stop()


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.slow)])
def each_database(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> Iterator[None]:
    """The test runs on every database: SQLite, as tests have it, and PostgreSQL."""
    if request.param == "sqlite":
        yield
        return
    server: PostgresServer = request.getfixturevalue("postgres")
    url = server.database()
    monkeypatch.setenv("ECV_DATABASE_URL", url)
    yield
    server.forget()


@pytest.fixture(scope="session", autouse=True)
def tables_by_script(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """New files of SQLite in this process get the tables of the first: a fifth of the time."""
    first = tmp_path_factory.mktemp("database") / "runs.sqlite"
    open_store(f"sqlite:///{first}")
    with contextlib.closing(sqlite3.connect(first)) as connection:
        lines = connection.iterdump()
        script = "\n".join(lines).replace("BEGIN TRANSACTION", "BEGIN IMMEDIATE", 1)
    make_tables = engine._make_tables

    def run_script(database: sa.Engine) -> None:
        """Give an empty file its tables, and then look at them as ever."""
        path = database.url.database
        if database.dialect.name == "sqlite" and path and _is_empty_file(path):
            # Whatever is wrong, or was quicker, is then met by the program itself.
            with (
                contextlib.suppress(sqlite3.Error),
                contextlib.closing(sqlite3.connect(path, isolation_level=None)) as connection,
            ):
                connection.executescript(f"PRAGMA synchronous=OFF;\n{script}")
        make_tables(database)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(engine, "_make_tables", run_script)
        yield


def _is_empty_file(path: str) -> bool:
    try:
        return os.path.getsize(path) == 0
    except OSError:
        return False


@pytest.fixture
def store(each_database: None) -> Store:
    """An empty one, on every database."""
    return open_store()
