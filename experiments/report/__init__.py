"""One self-contained page about a run: tables, timelines, gaps, provenance."""

from elkhound.experiments.report.page import report_html
from elkhound.experiments.report.run import Run, read_run

__all__ = ["Run", "read_run", "report_html"]
