"""Prompts: ready instructions for agents, each in a file of its own."""

from __future__ import annotations

from typing import Final

from acuity.agents.prompts.bitrate import CHOOSE_BITRATE
from acuity.agents.prompts.compare import COMPARE_ENCODES
from acuity.agents.prompts.diagnose import DIAGNOSE_ENCODE
from longwire.product.catalog import Prompt

PROMPTS: Final[tuple[Prompt, ...]] = (DIAGNOSE_ENCODE, CHOOSE_BITRATE, COMPARE_ENCODES)

__all__ = ["CHOOSE_BITRATE", "COMPARE_ENCODES", "DIAGNOSE_ENCODE", "PROMPTS"]
