"""Print every metric for docs/metrics.md: `python -m scripts.metrics_reference`.

`make docs` puts them into the page; what is said of a metric is written where it is declared,
in ecv_core/evaluation/metrics.py.
"""

from __future__ import annotations

import sys

from ecv_core.evaluation.metrics import METRICS, Metric


def section(metric: Metric) -> str:
    """What a metric is, its formula, its source, and how other libraries differ."""
    parts = [f"### {metric.title}", f"`{metric.id}`. {metric.help}"]
    if metric.formula:
        parts.append(f"$${metric.formula}$$")
    if metric.source:
        parts.append(f"Source: {metric.source}. {metric.elsewhere}".rstrip())
    return "\n\n".join(parts)


def reference() -> str:
    """All metrics of the project, in the order of their declaration."""
    return "\n\n".join(map(section, METRICS.values())) + "\n"


if __name__ == "__main__":
    sys.stdout.write(reference())
