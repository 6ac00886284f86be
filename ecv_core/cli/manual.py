"""`completion` and `man`, for a shell and for man; `dashboard`, the pages for a browser."""

from __future__ import annotations

import argparse
import os
import re
import sys
from importlib import import_module

from ecv_core.cli import COMMANDS, parsers
from ecv_core.records import __version__
from ecv_core.records.places import DASHBOARD


def completion_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", choices=("bash", "zsh"))
    parser.epilog = 'in ~/.bashrc or ~/.zshrc: eval "$(ecv completion bash)"'


def man_options(_parser: argparse.ArgumentParser) -> None:
    """It has none."""


def completion_command(options: argparse.Namespace) -> None:
    """Print a script: commands first, then the options of the command, else files."""
    cases = "\n".join(
        f"    {name}) words={' '.join(_options_of(parser))!r} ;;"
        for name, parser in _declared().items()
    )
    if options.shell == "zsh":
        print("autoload -U +X compinit bashcompinit && compinit && bashcompinit")
    print(f"""_ecv() {{
  local words="" now="${{COMP_WORDS[COMP_CWORD]}}"
  if [ "$COMP_CWORD" = 1 ]; then words='{" ".join(COMMANDS)} --help --version'
  elif [ "${{now#-}}" != "$now" ]; then case "${{COMP_WORDS[1]}}" in
{cases}
  esac; fi
  COMPREPLY=($(compgen -W "$words" -- "$now"))
}}
complete -o default -F _ecv ecv""")


def man_command(_options: argparse.Namespace) -> None:
    print(f'.TH ECV 1 "" "e-fold {__version__}" "e-fold"')
    print(".SH NAME\necv \\- e-fold cross-validation of recommender systems")
    print(".SH SYNOPSIS\n.B ecv\n.I COMMAND\n[options]\n.SH COMMANDS")
    for name, parser in _declared().items():
        print(f".SS {name}\n{_troff(COMMANDS[name][1])}.\n.nf\n{_troff(parser.format_help())}\n.fi")
    print(
        ".SH EXIT STATUS\n0: done. 1: a run failed. 2: bad input, said in one line before anything "
        "starts. 130: stopped; finished folds are kept."
    )


def _declared() -> dict[str, argparse.ArgumentParser]:
    found = parsers()[1]
    for parser in found.values():
        parser.declare()
    return dict(found)


def _options_of(parser: argparse.ArgumentParser) -> list[str]:
    """As its help lists them, at the beginning of a line."""
    listed = re.findall(r"^  (-.*?)(?:  |$)", parser.format_help(), re.MULTILINE)
    return [word for line in listed for word in re.findall(r"(?<![\w-])--?[a-zA-Z][\w-]*", line)]


def _troff(text: str) -> str:
    safe = text.strip().replace("\\", "\\e").replace("-", "\\-")
    return re.sub(r"^(?=[.'])", r"\\&", safe, flags=re.MULTILINE)


def dashboard_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--port", type=int, help="where it listens; by default 8501 or the next")
    parser.add_argument("--headless", action="store_true", help="do not open a browser")


def dashboard_command(options: argparse.Namespace) -> None:
    """Become Streamlit's server; it ends with Ctrl-C."""
    import_module("streamlit")  # its absence is a sentence
    words = [sys.executable, "-m", "streamlit", "run", str(DASHBOARD / "app.py")]
    words += [f"--server.port={options.port}"] if options.port else []
    words += ["--server.headless=true"] if options.headless else []
    os.execv(sys.executable, words)
