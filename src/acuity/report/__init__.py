"""Reports in libvmaf's four formats."""

from acuity.report.document import as_document
from acuity.report.source import ReportSource
from acuity.report.write import WRITERS, check_output, render_report, write_report

__all__ = ["WRITERS", "ReportSource", "as_document", "check_output", "render_report", "write_report"]
