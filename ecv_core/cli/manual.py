"""`completion` and `man`: what the parsers know, for a shell and for man."""

from __future__ import annotations

import argparse
import re

from ecv_core._version import __version__
from ecv_core.cli import COMMANDS, parsers
from ecv_core.cli.output import OK


def completion_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", choices=("bash", "zsh"))
    parser.epilog = 'in ~/.bashrc or ~/.zshrc: eval "$(ecv completion bash)"'
    parser.set_defaults(command=completion)


def man_options(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(command=man)


def completion(options: argparse.Namespace) -> int:
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
    return OK


def man(_options: argparse.Namespace) -> int:
    print(f'.TH ECV 1 "" "e-fold {__version__}" "e-fold"')
    print(".SH NAME\necv \\- e-fold cross-validation of recommender systems")
    print(".SH SYNOPSIS\n.B ecv\n.I COMMAND\n[options]\n.SH COMMANDS")
    for name, parser in _declared().items():
        print(f".SS {name}\n{_troff(COMMANDS[name][1])}.\n.nf\n{_troff(parser.format_help())}\n.fi")
    print(
        ".SH EXIT STATUS\n0: done. 1: a run failed. 2: bad input, said in one line before anything "
        "starts. 130: stopped; finished folds are kept."
    )
    return OK


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
