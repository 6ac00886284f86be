"""Where the files are that come with the project, and where its users' files go.

In a checkout both are in data/ beside the package. Installed with pip, the project's files are in
the package itself, which belongs to pip, so that one's own go into the home folder.
"""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parents[1]
_CHECKOUT = _PACKAGE.parent / "data"

SHIPPED = _CHECKOUT
"""What comes with the project: catalogue.toml, papers.toml, recorded/ and more. Only read."""
DASHBOARD = _PACKAGE.parent
"""Where app.py and the pages are."""
OWN = _CHECKOUT
"""Where downloads and runs go unless the environment says another place; may not be there yet."""

if not (_CHECKOUT / "catalogue.toml").is_file():
    SHIPPED = _PACKAGE / "data"
    DASHBOARD = _PACKAGE / "dashboard"
    OWN = Path.home() / ".e-fold"
