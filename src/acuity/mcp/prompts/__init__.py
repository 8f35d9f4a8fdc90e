"""Prompts: ready instructions for agents, each in a file of its own."""

from __future__ import annotations

from typing import Final

from acuity.mcp.catalog import Prompt
from acuity.mcp.prompts.bitrate import CHOOSE_BITRATE
from acuity.mcp.prompts.compare import COMPARE_ENCODES
from acuity.mcp.prompts.diagnose import DIAGNOSE_ENCODE

PROMPTS: Final[tuple[Prompt, ...]] = (DIAGNOSE_ENCODE, CHOOSE_BITRATE, COMPARE_ENCODES)

__all__ = ["CHOOSE_BITRATE", "COMPARE_ENCODES", "DIAGNOSE_ENCODE", "PROMPTS"]
