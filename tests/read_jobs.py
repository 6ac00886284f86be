"""What test_bounded has done in a child, in a module that is quick to import."""

import os
import time

from ecv_core.records.errors import DatasetError


def held(megabytes: int) -> int:
    return len(bytearray(megabytes << 20))


def held_beside_arrow(megabytes: int) -> int:
    """As `held`, once Arrow has taken a megabyte."""
    import pyarrow as pa

    buffer = pa.allocate_buffer(1 << 20)
    return held(megabytes) + buffer.size


def slow() -> None:
    time.sleep(3600)


def dying() -> None:
    os.abort()


def refusing() -> None:
    raise DatasetError("it is no table")


def broken() -> None:
    raise KeyError("nobody expected this")


def telling(count: int, report) -> str:
    for number in range(count):
        report("read", number, count)
    print("this is no answer")
    return "done"
