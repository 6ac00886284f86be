"""A file of one's own, in whatever form -> a dataset under a name: recognised, read, kept."""

from ecv_core.datasets.own.adding import Corrections, add_file, recognised
from ecv_core.datasets.own.keeping import (
    added,
    check_name,
    forget,
    keep,
    remove,
    rename,
    suggested_name,
    take_in,
    taken_in,
    work_out,
)

__all__ = [
    "Corrections",
    "add_file",
    "added",
    "check_name",
    "forget",
    "keep",
    "recognised",
    "remove",
    "rename",
    "suggested_name",
    "take_in",
    "taken_in",
    "work_out",
]
