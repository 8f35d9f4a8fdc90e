"""Reports in libvmaf's four formats."""

from acuity.report.source import ReportSource
from acuity.report.write import WRITERS, check_output, format_of, render_report, write_report

__all__ = ["WRITERS", "ReportSource", "check_output", "format_of", "render_report", "write_report"]
