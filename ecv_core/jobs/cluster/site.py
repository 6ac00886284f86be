"""What a site's scheduler is asked for, a node at a time: a TOML file -> a checked record."""

from __future__ import annotations

import json
import re
import tomllib
from dataclasses import dataclass, fields
from pathlib import Path
from typing import ClassVar

from ecv_core.records import codec
from ecv_core.records.errors import InputError

_WALLTIME = re.compile(r"(\d+-)?\d{1,3}:\d{2}:\d{2}")
_MEMORY = re.compile(r"\d+(\.\d+)? ?([kMGT]i?)?B", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """A node as a site gives it out; every key of the file is one of these fields."""

    __pydantic_config__: ClassVar = {"extra": "forbid"}

    on: str = ""
    """What it is, as `--on` takes it: 'slurm', 'tcp://host:8786'; by default the file's name."""
    nodes: int = 1
    """That a site's scheduler is asked for."""
    partition: str = ""
    """Or queue; empty for the site's default."""
    account: str = ""
    """Or project, that the hours are booked on."""
    walltime: str = "08:00:00"
    """A node is given back after so long; what it was computing is computed again elsewhere."""
    memory: str = "16GB"
    """Of a node."""
    cores: int = 1
    """Of a node."""
    exclusive: bool = True
    """Whether nobody else computes on a node meanwhile: without it joules are not the fold's own.
    """
    environment: tuple[str, ...] = ()
    """Lines of shell before a worker starts: 'module load python', 'source venv/bin/activate'."""
    lines: tuple[str, ...] = ()
    """More of what the scheduler is asked for: '--gres=gpu:1'."""
    interface: str = ""
    """The network by which nodes reach the coordinator, such as 'ib0'; by default its host name."""
    python: str = ""
    """The interpreter on the nodes; by default this one."""
    logs: str = ""
    """A folder for what the jobs print; nowhere by default."""
    send_data: bool = True
    """Whether a node that lacks a dataset is sent it."""
    tls_ca: str = ""
    """Path of the certificate of whoever signed the others: all traffic is then encrypted, and only
    who has a certificate that it signed is talked to."""
    tls_cert: str = ""
    """Path of the certificate of coordinator and nodes."""
    tls_key: str = ""
    """Path of its private key."""


def read_site(path: Path | None) -> Site:
    """The site that a file describes; without one everything at its default.

    Raises: InputError for what is no such file, with the key and the value.
    """
    if path is None:
        return Site()
    try:
        told = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"the site's file {path} cannot be read: {error.strerror}") from error
    except ValueError as error:  # no TOML, or no text at all
        raise InputError(f"the site's file {path} is no TOML: {error}") from error
    known = [one.name for one in fields(Site)]
    if strange := [name for name in told if name not in known]:
        raise InputError(
            f"the site's file {path} has the key '{strange[0]}', which is not known; choose from: "
            f"{', '.join(known)}"
        )
    try:
        site = codec.read(Site, json.dumps(told, default=str))
    except ValueError as error:
        raise InputError(f"the site's file {path} is wrong: {codec.sentence(error)}") from error
    for name, pattern, such in (
        ("walltime", _WALLTIME, "02:30:00 or 1-00:00:00"),
        ("memory", _MEMORY, "16GB"),
    ):
        if not pattern.fullmatch(getattr(site, name)):
            raise InputError(
                f"the site's file {path} is wrong: its {name} must be like {such}, but is "
                f"'{getattr(site, name)}'"
            )
    for name in ("cores", "nodes"):
        if (count := getattr(site, name)) < 1:
            raise InputError(
                f"the site's file {path} is wrong: its {name} must be at least 1, but are {count}"
            )
    tls = {name: getattr(site, name) for name in ("tls_ca", "tls_cert", "tls_key")}
    for name, file in tls.items():
        if any(tls.values()) and not Path(file).is_file():
            raise InputError(
                f"the site's file {path} is wrong: its {name} must be a file, but is '{file}'; TLS "
                "needs all three of tls_ca, tls_cert and tls_key"
            )
    return site
