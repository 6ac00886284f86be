"""What the parsers know: commands that nearly are, completion in a shell."""

import argparse
import contextlib
import errno
import os
import shutil
import subprocess
import sys
from importlib import import_module

import pytest

from ecv_core import cli
from ecv_core.__main__ import run


def test_a_command_that_nearly_is_one_is_asked_for(capsys):
    assert cli.main(["rnu", "synthetic"]) == 2
    said = capsys.readouterr().err
    assert said.startswith("error: no command is called 'rnu'; did you mean 'run'? choose one of")


def test_an_option_that_is_none_is_refused_in_the_words_of_the_command(capsys):
    assert cli.main(["run", "synthetic", "popular", "--rul", "never"]) == 2
    said = capsys.readouterr().err
    assert said.startswith("error: unrecognized arguments: --rul never; see '")
    assert said.endswith(" run --help'\n")


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash here")
def test_a_shell_completes_commands_and_their_options(capsys):
    assert cli.main(["completion", "bash"]) == 0
    script = capsys.readouterr().out

    def completed(*words: str) -> list[str]:
        typed = " ".join(f"'{word}'" for word in words)
        ask = (
            f"COMP_WORDS=({typed}); COMP_CWORD={len(words) - 1}; "
            "$(complete -p ecv | sed 's/.*-F \\([^ ]*\\).*/\\1/'); echo ${COMPREPLY[@]}"
        )
        bash = subprocess.run(["bash", "-c", script + ask], capture_output=True, text=True)
        assert not bash.stderr
        return bash.stdout.split()

    assert completed("ecv", "ex") == ["export"]
    assert sorted(completed("ecv", "run", "--sp")) == ["--speculate", "--split", "--split-param"]
    assert sorted(completed("ecv", "tell", "--sc")) == ["--score", "--scores"]


@pytest.mark.parametrize("name", cli.COMMANDS)
def test_every_command_has_its_help(name, capsys):
    with contextlib.suppress(SystemExit):
        cli.main([name, "--help"])
    assert f" {name} [-h]" in capsys.readouterr().out


class _Declared(argparse.ArgumentParser):
    """A parser that keeps the help of the arguments that a command declares."""

    def __init__(self):
        self.help_of = {}
        super().__init__(add_help=False)

    def add_argument(self, *names, **options):
        self.help_of[names[0]] = options.get("help", "")
        return super().add_argument(*names, **options)

    def add_mutually_exclusive_group(self, **options):
        group = super().add_mutually_exclusive_group(**options)
        group.add_argument = self.add_argument
        return group


@pytest.mark.parametrize("name", cli.COMMANDS)
def test_help_is_whole_sentences(name):
    module, summary = cli.COMMANDS[name]
    parser = _Declared()
    getattr(import_module(f"ecv_core.cli.{module}"), f"{name}_options")(parser)
    for argument, text in {name: summary, **parser.help_of}.items():
        assert text[:1].isupper(), f"{argument}: {text}"
        assert text.endswith((".", "...")), f"{argument}: {text}"


@pytest.mark.parametrize("buffering", ["", "1"])
@pytest.mark.parametrize(
    ("redirection", "code", "words"),
    [
        (">&-", 0, ""),
        ("2>&-", 0, ""),
        (">&- 2>&-", 0, ""),
        (
            "> /dev/full",
            1,
            "error: the output cannot be written: No space left on device; free some disk space\n",
        ),
    ],
)
def test_a_stream_that_is_closed_or_full_is_no_traceback(buffering, redirection, code, words):
    shell = f"{sys.executable} -m ecv_core datasets {redirection}"
    environment = os.environ | {"PYTHONUNBUFFERED": buffering}
    ended = subprocess.run(
        ["bash", "-c", shell], env=environment, stderr=subprocess.PIPE, text=True, check=False
    )
    assert (ended.returncode, ended.stderr) == (code, words)


@pytest.mark.parametrize(
    ("words", "code"), [("run synthetic popular -k 2 --rule never --no-energy", 0), ("gate x y", 2)]
)
def test_nothing_fails_where_stderr_cannot_be_written(words, code):
    """A run failed there after its first fold, and `gate` said that the candidate was worse."""
    shell = f"{sys.executable} -m ecv_core {words} 2> /dev/full"
    ended = subprocess.run(["bash", "-c", shell], check=False, capture_output=True)
    assert ended.returncode == code


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (OSError(errno.EDQUOT, "Disk quota exceeded", "f.csv"), "error: f.csv cannot be used: "),
        (OSError(errno.EIO, "Input/output error", "f.csv"), "error: f.csv cannot be used: "),
        (PermissionError(errno.EACCES, "Permission denied", "f"), "error: f cannot be used: "),
        (PermissionError(errno.EPERM, "Operation not permitted"), "Traceback "),  # of no file
        (ZeroDivisionError("a bug"), "Traceback "),
    ],
)
def test_no_error_of_a_gate_says_that_the_candidate_is_worse(error, words, monkeypatch, capsys):
    def fail(_options):
        raise error

    monkeypatch.setattr(cli, "parse", lambda _: argparse.Namespace(command=fail, quiet=False))
    assert cli.main(["gate", "a", "b"]) == 2
    assert capsys.readouterr().err.startswith(words)
    if isinstance(error, OSError) and error.filename:
        assert cli.main(["run"]) == 1


def test_a_missing_package_says_not_that_the_candidate_is_worse(monkeypatch):
    def fail(_):
        raise ModuleNotFoundError("No module named 'scipy'", name="scipy")

    monkeypatch.setattr(cli, "parse", fail)
    monkeypatch.setattr("gc.disable", lambda: None)  # it would be off for all further tests
    for command, code in [("gate", 2), ("run", 1)]:
        monkeypatch.setattr(sys, "argv", ["ecv", command])
        assert run() == code


FAILS_AFTER_ITS_OUTPUT = """
import argparse, sys
from ecv_core import cli
from ecv_core.records.errors import RunError

def command(options):
    print("a line")
    raise RunError("it failed")

cli.parse = lambda arguments: argparse.Namespace(command=command, quiet=False)
sys.exit(cli.main([]))
"""


@pytest.mark.parametrize("redirection", ["> /dev/full", "| true; exit ${PIPESTATUS[0]}"])
def test_what_a_command_fails_by_is_said_where_its_output_cannot_be_written(redirection, tmp_path):
    script = tmp_path / "fails.py"
    script.write_text(FAILS_AFTER_ITS_OUTPUT)
    ended = subprocess.run(
        ["bash", "-c", f"{sys.executable} {script} {redirection}"],
        env=os.environ | {"PYTHONUNBUFFERED": "", "PYTHONPATH": os.pathsep.join(sys.path)},
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    assert (ended.returncode, ended.stderr) == (1, "error: it failed\n")


def test_programs_that_are_started_have_the_streams_that_were_closed_too():
    child = "import sys; sys.exit(None in (sys.stdout, sys.stderr))"
    parent = (
        "import subprocess, sys; from ecv_core.cli import terminal; "
        "terminal.replace_closed_streams(); "
        "sys.exit(subprocess.call([sys.executable, '-c', sys.argv[1]]))"
    )
    shell = f'{sys.executable} -c "{parent}" "{child}" >&- 2>&-'
    assert subprocess.run(["bash", "-c", shell], check=False).returncode == 0


@pytest.mark.parametrize("buffering", ["", "1"])
def test_the_exit_code_of_a_gate_stands_where_nobody_reads_its_answer(buffering, tmp_path):
    path = tmp_path / "scores.csv"
    rows = [f"old,{fold},0.{50 + fold}\nbad,{fold},0.{20 + 2 * fold}" for fold in range(5)]
    path.write_text("\n".join(["model,fold,ndcg", *rows]))
    gate = f"{sys.executable} -m ecv_core gate {path}#old {path}#bad"
    shell = f"{gate} | true; echo ${{PIPESTATUS[0]}}"
    environment = os.environ | {"PYTHONUNBUFFERED": buffering}
    ended = subprocess.run(["bash", "-c", shell], env=environment, capture_output=True, text=True)
    assert (ended.stdout, ended.stderr) == ("1\n", "")


def test_help_names_no_default_that_a_command_does_not_have(capsys):
    """`orders` asks for alpha, and `track` for its metric."""
    for command, option in [("orders", "--alpha"), ("track", "--metric")]:
        with pytest.raises(SystemExit):
            cli.main([command, "--help"])
        help_text = capsys.readouterr().out.split(f"\n  {option} ")[1]
        assert "Default" not in help_text.split("\n  -")[0]


def test_the_help_of_run_gives_no_default_to_what_has_to_be_given(capsys):
    with pytest.raises(SystemExit):
        cli.main(["run", "--help"])
    options, rules = capsys.readouterr().out.split("\nrules, ")
    assert "Precision: tolerance (has to be given), adjust_by (none)" in rules
    assert "e-fold: alpha=0.0001" in rules
    tolerance = " ".join(options.split("\n  --tolerance ")[1].split("\n  -")[0].split())
    assert tolerance.endswith("For the rule precision. It has no default.")


@pytest.mark.parametrize("word", ["-1e-05", "-.5", "-3.E2", "-7", "-inf"])
def test_a_negative_number_is_a_value_and_no_option(word):
    options = cli.parse(["tell", "1a2b", "0", "--score", word])
    assert options.score == float(word)


def test_a_command_that_is_stopped_promises_no_run_that_may_not_have_begun(monkeypatch, capsys):
    def stop(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(cli, "parse", stop)
    assert cli.main(["run", "ml-1m", "item-knn"]) == 130
    assert capsys.readouterr().err == (
        "error: stopped; folds that have finished are kept, and 'python -m ecv_core resume' "
        "continues a run that had begun\n"
    )
