"""Sets up logging for a test, and returns the written lines."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from longwire.operations.logs import configure_logging


class LogLines:
    """What was written to a pipe that stands for stderr."""

    def __init__(self) -> None:
        self.read_end, self.write_end = os.pipe()
        os.set_blocking(self.read_end, False)

    def text(self) -> str:
        parts = []
        try:
            while part := os.read(self.read_end, 1 << 16):
                parts.append(part)
        except BlockingIOError:
            pass
        return b"".join(parts).decode()

    def records(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.text().splitlines()]


@contextmanager
def logging_to_lines(**options: Any) -> Iterator[LogLines]:
    """Everything that is logged meanwhile, as lines; logging is as it was afterwards."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    levels = {name: logging.getLogger(name).level for name in ("mcp", "asyncio")}
    for handler in handlers:  # pytest's own, which the server would close
        root.removeHandler(handler)
    lines = LogLines()
    try:
        configure_logging(fd=lines.write_end, **options)
        yield lines
    finally:
        logging.captureWarnings(False)
        root.handlers[:] = handlers
        root.setLevel(level)
        for name, old in levels.items():
            logging.getLogger(name).setLevel(old)
        os.close(lines.read_end)
        os.close(lines.write_end)
