"""Reports in libvmaf's four formats, as pages and as plots."""

from acuity.report.document import ReportSource
from acuity.report.write import SHOWN, WRITERS, check_output, format_of, render_report, write_report

__all__ = ["SHOWN", "WRITERS", "ReportSource", "check_output", "format_of", "render_report", "write_report"]
