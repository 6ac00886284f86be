"""What was found out about this machine, remembered until it is started again."""

from __future__ import annotations

import getpass
import json
import os
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil

from ecv_core.untrusted.files import replacing


def recalled(name: str) -> Any:  # noqa: ANN401  JSON values
    """What `remember` was told under this name since the machine was started; None for nothing."""
    return _found().get(name)


def remember(name: str, value: object) -> None:
    """Keep plain JSON values; where that cannot be done, they are found out again."""
    with suppress(OSError), replacing(_path()) as part:
        part.write_text(json.dumps({"boot": _boot(), "found": _found() | {name: value}}))


def _path() -> Path:
    user = os.getuid() if hasattr(os, "getuid") else getpass.getuser()
    return Path(tempfile.gettempdir()) / f"ecv-machine-{user}.json"


def _boot() -> str:
    return f"{psutil.boot_time():.0f}"


def _found() -> dict[str, Any]:
    with suppress(OSError, ValueError, TypeError, AttributeError):
        kept = json.loads(_path().read_text())
        if kept.get("boot") == _boot():
            return dict(kept["found"])
    return {}
