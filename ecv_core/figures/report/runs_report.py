"""Several runs -> one report of them, as HTML, PDF, LaTeX or CSV."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import partial

import pandas as pd

from ecv_core.figures.report.describe import MadeWith
from ecv_core.figures.report.html_templates import templates
from ecv_core.figures.report.pictures import printed_figure
from ecv_core.figures.report.runs_content import (
    PICTURES_CAPTION,
    SUMS_HEADERS,
    ReportContent,
    runs_content,
)
from ecv_core.figures.report.runs_table import (
    CSV_COLUMNS,
    HEADERS,
    TABLE_CAPTION,
    csv_row,
    rows_of_runs,
    runs_latex,
)
from ecv_core.figures.report.saving import PAGE, inline_svg
from ecv_core.records.run import RunRecord
from ecv_core.untrusted.disarming import csv_of


def runs_report(
    runs: Sequence[RunRecord],
    form: str,
    *,
    groups: Mapping[str, Mapping[str, str]],
    made_with: MadeWith,
) -> str | bytes:
    """A report of several runs as the content of a file.

    Args:
        runs: At least one, as of `runs_content`.
        form: 'pdf', 'tex' (the table for a paper), 'csv' (a row for each run); anything else is
            HTML.
        groups: As of `runs_content`.
        made_with: As of `runs_content`.
    """
    if form == "tex":
        return runs_latex(runs)
    if form == "csv":
        return runs_csv(runs)
    content = runs_content(runs, groups=groups, made_with=made_with)
    if form == "pdf":
        from ecv_core.figures.report.runs_pdf import runs_pdf

        return runs_pdf(content)
    return runs_html(content)  # This serves 'html', and any form that is not known.


def runs_html(content: ReportContent) -> str:
    """One HTML page about several runs.

    Returns:
        HTML with everything in it, A4 when printed: no script, nothing loaded from anywhere; all
        text of the runs is escaped.
    """
    pictures = []
    for picture in content.pictures:
        draw = partial(printed_figure, picture.make, width=PAGE)
        pictures.append(inline_svg(draw, alt=picture.alt))
    page = templates().get_template("runs.html")
    return page.render(
        vars(content) | {"pictures": pictures},
        pictures_caption=PICTURES_CAPTION,
        headers=HEADERS,
        caption=TABLE_CAPTION,
        sums_headers=SUMS_HEADERS,
        # Where a run came from and what its rule worked out are said on the page of a single run.
        origin="",
        arithmetic="",
        made_at=datetime.now(UTC),
    )


def runs_csv(runs: Sequence[RunRecord]) -> str:
    """A row per run, in SI units, for programs."""
    rows = [csv_row(row) for row in rows_of_runs(runs)]
    return csv_of(pd.DataFrame(rows, columns=list(CSV_COLUMNS)))
