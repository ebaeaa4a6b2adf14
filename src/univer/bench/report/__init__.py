"""Reports: one page with the figures of runs, and their plots."""

from univer.bench.report.focus import Selection
from univer.bench.report.output import check_output
from univer.bench.report.page import Report, write_report
from univer.bench.report.runs import Run, load_runs

__all__ = ["Report", "Run", "Selection", "check_output", "load_runs", "write_report"]
