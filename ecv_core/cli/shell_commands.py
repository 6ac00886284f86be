"""`completion`, for a shell; `dashboard`, the pages for a browser."""

from __future__ import annotations

import argparse
import os
import sys
from importlib import import_module

from ecv_core.cli import command_line
from ecv_core.records.places import DASHBOARD


def completion_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", choices=("bash", "zsh", "tcsh"), help="The shell.")
    parser.epilog = (
        'For bash, put this into ~/.bashrc: eval "$(ecv completion bash)"; for zsh, put it into '
        "~/.zshrc with zsh in place of bash."
    )


def completion_command(options: argparse.Namespace) -> None:
    """Print a script with which a shell completes commands and their options."""
    import shtab

    parser, commands = command_line()
    parser.prog = "ecv"
    # A command declares its options once it is used; completion needs those of all.
    for command in commands.values():
        command.declare()
    print(shtab.complete(parser, options.shell))


def dashboard_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--port", type=int, help="Port to listen on. Default: 8501, or the next one that is free."
    )
    parser.add_argument("--headless", action="store_true", help="Do not open a browser.")


def dashboard_command(options: argparse.Namespace) -> None:
    """Become Streamlit's server; it ends with Ctrl-C."""
    # If Streamlit is not installed, this raises the error that says how to install it, before
    # Streamlit's process takes the place of this one.
    import_module("streamlit")
    command = [sys.executable, "-m", "streamlit", "run", str(DASHBOARD / "app.py")]
    if options.port:
        command.append(f"--server.port={options.port}")
    if options.headless:
        command.append("--server.headless=true")
    os.execv(sys.executable, command)
