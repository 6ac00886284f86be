"""What the parsers know: commands that nearly are, completion in a shell."""

import argparse
import contextlib
import shutil
import subprocess
from importlib import import_module

import pytest

from ecv_core import cli


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
