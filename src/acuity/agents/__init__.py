"""The MCP server: tools, resources and prompts over every transport.

What it is built on comes with an extra: `acuity-vmaf` scores, `acuity-vmaf[mcp]` serves.
"""

from importlib.util import find_spec
from typing import Final

from acuity.errors import MissingExtra

# Packages of the extra `mcp` by the names they are imported by; what these need comes with them.
_PACKAGES: Final = ("longwire", "mcp")

CARRIERS: Final = {"submit_job": "tool"}  # tools that run others, and the argument that names those


def check_installed() -> None:
    """Raise MissingExtra where the extra `mcp` is not installed; loads none of it."""
    missing = [name for name in _PACKAGES if find_spec(name) is None]
    if missing:
        raise MissingExtra(
            f"the MCP server is an extra that is not installed ({', '.join(missing)} missing): "
            "pip install 'acuity-vmaf[mcp]'"
        )
