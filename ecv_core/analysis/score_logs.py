"""The test results in a log of RecBole -> a table of scores."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ecv_core.records.errors import InputError

if TYPE_CHECKING:
    import pyarrow as pa

_RESULT = re.compile(r"test result\W+(?:OrderedDict)?[(\[{]+(?P<metrics>.+)")
"""A line such as `test result: OrderedDict([('recall@10', 0.2), ('mrr@10', 0.3)])`."""
_METRIC = re.compile(r"'(?P<name>[^']+)'[,:] (?:np\.float64\()?(?P<value>[-+.\deE]+)")


def table_of_log(text: str, file: str) -> pa.Table:
    """A row per test result, which is taken for a fold, and a column per metric.

    Args:
        text: The text of the log.
        file: How a sentence names it.

    Raises:
        InputError: For a log with fewer than two test results, or with different metrics.
    """
    import pyarrow as pa

    results = []
    for line in text.splitlines():
        match = _RESULT.search(line)
        if match is not None:
            metrics = _METRIC.findall(match["metrics"])
            results.append({name: float(value) for name, value in metrics})
    if len(results) < 2:
        count = "no"
        if results:
            count = "one"
        raise InputError(
            f"{file} has {count} 'test result' of RecBole, and so no folds; give one log with the "
            "results of all folds of a model, or a table of scores"
        )
    first = results[0]
    for result in results:
        if result.keys() != first.keys():
            raise InputError(
                f"the test results in {file} have different metrics; give the log of one model"
            )
    return pa.Table.from_pylist(results)
