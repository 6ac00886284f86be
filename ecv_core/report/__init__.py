"""A run or a study -> one HTML page to print, to send or to put on a web site."""

from ecv_core.report.provenance import Provenance, provenance
from ecv_core.report.run_report import run_report
from ecv_core.report.study_report import study_report

__all__ = ["Provenance", "provenance", "run_report", "study_report"]
