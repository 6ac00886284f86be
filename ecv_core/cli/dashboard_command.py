"""`dashboard`: the pages, served by Streamlit from where the package is."""

from __future__ import annotations

import argparse
import os
import sys
from importlib import import_module

from ecv_core.records.places import DASHBOARD


def dashboard_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--port", type=int, help="where it listens; by default 8501 or the next")
    parser.add_argument("--headless", action="store_true", help="do not open a browser")
    parser.set_defaults(command=dashboard)


def dashboard(options: argparse.Namespace) -> int:
    """Become Streamlit's server; it ends with Ctrl-C."""
    import_module("streamlit")  # its absence is a sentence
    words = [sys.executable, "-m", "streamlit", "run", str(DASHBOARD / "app.py")]
    words += [f"--server.port={options.port}"] if options.port else []
    words += ["--server.headless=true"] if options.headless else []
    os.execv(sys.executable, words)
