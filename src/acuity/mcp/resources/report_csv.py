"""Writes a stored report as CSV, with the columns and digits of the commands' CSV."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from acuity.report.stored_report import StoredReport
from acuity.report.writers import write_csv


def report_csv(document: Mapping[str, Any]) -> str:
    """One line a frame; a missing figure, or one that JSON couldn't hold, is an empty field."""
    report = StoredReport.from_document(document)
    return "".join(write_csv(report, report.precision(), version="", extra={}))
