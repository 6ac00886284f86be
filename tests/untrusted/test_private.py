"""What somebody else of the machine has planted among temporary files is not used."""

import os
import stat
import tempfile

import pytest

from ecv_core.energy.meter import recalled, remember
from ecv_core.jobs import machine
from ecv_core.records.run import no_progress
from ecv_core.untrusted.private import private_folder, private_text

USER = os.getuid()
SOMEBODY_ELSE = 4711


@pytest.fixture(autouse=True)
def everybodys(monkeypatch, tmp_path):
    """A folder for temporary files that everybody writes to, and no folder of the session."""
    folder = tmp_path / "tmp"
    folder.mkdir()
    folder.chmod(0o1777)
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    monkeypatch.delenv("XDG_RUNTIME_DIR", raising=False)
    return folder


def plant_link(folder, target):
    target.mkdir(mode=0o700)
    (folder / f"ecv-{USER}").symlink_to(target)


def test_the_private_folder_is_made_for_its_user_alone(everybodys):
    folder = private_folder()
    assert folder == everybodys / f"ecv-{USER}"
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert private_folder() == folder


def test_a_planted_link_is_not_followed(everybodys, tmp_path):
    plant_link(everybodys, tmp_path / "mine")
    with pytest.raises(PermissionError, match="set TMPDIR"):
        private_folder()
    remember("watts", 5.0)
    with machine.machine_alone(no_progress):
        pass
    assert list((tmp_path / "mine").iterdir()) == []


def test_a_folder_that_others_can_enter_is_refused_and_not_made_over(everybodys):
    folder = everybodys / f"ecv-{USER}"
    folder.mkdir()
    folder.chmod(0o777)
    with pytest.raises(PermissionError):
        private_folder()
    assert stat.S_IMODE(folder.stat().st_mode) == 0o777


def test_a_folder_of_somebody_else_is_refused(everybodys, monkeypatch):
    (everybodys / f"ecv-{SOMEBODY_ELSE}").mkdir(mode=0o700)
    monkeypatch.setattr(os, "getuid", lambda: SOMEBODY_ELSE)
    with pytest.raises(PermissionError):
        private_folder()


def test_a_place_in_which_others_can_put_a_folder_in_place_of_ours_is_refused(everybodys):
    everybodys.chmod(0o777)  # without the sticky bit
    with pytest.raises(PermissionError):
        private_folder()


def test_the_folder_of_the_session_serves_where_the_name_is_taken(
    everybodys, tmp_path, monkeypatch
):
    (everybodys / f"ecv-{USER}").write_text("taken")
    session = tmp_path / "session"
    session.mkdir(mode=0o700)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(session))
    assert private_folder() == session / f"ecv-{USER}"


def test_planted_facts_of_the_machine_are_not_believed(everybodys, tmp_path):
    remember("watts", 5.0)
    assert recalled("watts") == 5.0
    private_folder().rename(tmp_path / "planted")
    (everybodys / f"ecv-{USER}").symlink_to(tmp_path / "planted")
    assert recalled("watts") is None


def test_a_planted_ticket_keeps_nobody_waiting(everybodys, tmp_path, monkeypatch, caplog):
    folder = everybodys / f"ecv-{USER}" / "folds"
    folder.mkdir(parents=True)
    folder.parent.chmod(0o777)
    parent = os.getppid()
    name = machine.this_process().replace(f":{os.getpid()}:", f":{parent}:")
    monkeypatch.setattr(machine, "is_alive", lambda owner, *, silent_seconds: True)
    ticket = machine._Ticket(
        owner=name,
        pid=parent,
        command="planted",
        since="2026-01-01T00:00:00+00:00",
        metered=True,
        computes=True,
    )
    (folder / "0.json").write_text(machine.json.dumps(machine.asdict(ticket)))
    monkeypatch.setattr(machine.time, "sleep", lambda seconds: pytest.fail("it waits"))
    with machine.machine_alone(no_progress):
        pass
    assert "not waited for" in caplog.text


def test_text_is_read_of_plain_files_of_this_user_alone(tmp_path, monkeypatch):
    plain = tmp_path / "plain"
    plain.write_text("mine")
    assert private_text(plain) == "mine"
    (tmp_path / "link").symlink_to(plain)
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "link", tmp_path / "pipe"):
        with pytest.raises(OSError, match=r"\w"):
            private_text(path)
    monkeypatch.setattr(os, "getuid", lambda: SOMEBODY_ELSE)
    with pytest.raises(PermissionError):
        private_text(plain)


def test_a_command_is_shown_without_control_characters():
    ticket = machine._Ticket(
        owner="here:1:1",
        pid=1,
        command="ecv run \x1b]0;mine\x07",
        since="2026-01-01T00:00:00+00:00",
        metered=True,
        computes=True,
    )
    assert ticket.sentence.isprintable()
