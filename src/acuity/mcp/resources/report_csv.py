"""Writes a stored report as CSV, with the columns and digits of the commands' CSV."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from acuity.report.csv_writer import write_csv
from acuity.report.stored_report import StoredReport


def report_csv(document: Mapping[str, Any]) -> str:
    """One line a frame; a missing figure, or one that JSON couldn't hold, is an empty field."""
    report = StoredReport.from_document(document)
    return "".join(write_csv(report, report.precision(), version="", extra={}))
