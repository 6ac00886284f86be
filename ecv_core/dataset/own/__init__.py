"""A file of one's own, in whatever form -> a dataset under a name: recognised, read, kept."""

from ecv_core.dataset._about import About
from ecv_core.dataset.own.keeping import (
    Corrections,
    add_file,
    added,
    added_by,
    check_name,
    keep,
    recognised,
    remove,
    rename,
    suggested_name,
)
from ecv_core.dataset.own.working import (
    ask_layout,
    asked_layout,
    examples_of,
    folder_of,
    forget,
    take_in,
    taken_in,
    work_out,
    worked_out,
)

__all__ = [
    "About",
    "Corrections",
    "add_file",
    "added",
    "added_by",
    "ask_layout",
    "asked_layout",
    "check_name",
    "examples_of",
    "folder_of",
    "forget",
    "keep",
    "recognised",
    "remove",
    "rename",
    "suggested_name",
    "take_in",
    "taken_in",
    "work_out",
    "worked_out",
]
