"""Reports: one page that shows what runs measured, and its plots."""

from univer.bench.report.focus import Wish
from univer.bench.report.output import check_output
from univer.bench.report.page import Report, write_report
from univer.bench.report.runs import Run, load_runs

__all__ = ["Report", "Run", "Wish", "check_output", "load_runs", "write_report"]
