"""What a command gives back: an exit code to the shell, its JSON where it was asked for."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ecv_core.records.errors import InputError, RunError
from ecv_core.untrusted.files import replacing

OK, FAILED, BAD_INPUT, INTERRUPTED = 0, 1, 2, 130


def check_target(target: str | None) -> None:
    """Refuse a --json that cannot be written, before any work is done."""
    if target == "":
        raise InputError("--json names no file; give one, or - for stdout")
    if target and target != "-" and not Path(target).absolute().parent.is_dir():
        raise InputError(f"the folder of --json {target} does not exist; make it first")
    if target and Path(target).is_dir():
        raise InputError(f"--json {target} is a folder; give a file in it")


def write_json(document: dict[str, Any], target: str | None) -> None:
    """Write the document to this file, to stdout for '-', or nowhere for None."""
    if target is None:
        return
    text = json.dumps(document, indent=2)
    if target == "-":
        print(text)
        return
    try:
        if Path(target).exists() and not Path(target).is_file():  # a pipe or a device
            Path(target).write_text(text + "\n", encoding="utf-8")
            return
        with replacing(Path(target), for_others=True) as part:
            part.write_text(text + "\n", encoding="utf-8")
    except OSError as error:
        raise RunError(
            f"--json {target} cannot be written: {error.strerror}; nothing else is lost"
        ) from None
