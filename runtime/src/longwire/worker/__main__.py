"""`python -m longwire.worker module:app`: runs the App of a module, as its own app.run() would."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Sequence
from typing import Final

from longwire.worker.app import App

_USAGE: Final = "usage: python -m longwire.worker MODULE:APP [--socket PATH]"


def load_app(name: str) -> App:
    """The App that `module:attribute` names; exits with a sentence where there is none."""
    module, colon, attribute = name.partition(":")
    if not colon or not module or not attribute:
        sys.exit(f"'{name}' names no App: use MODULE:APP, as in weather:app")
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    try:
        found = getattr(importlib.import_module(module), attribute, None)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module}.".startswith(f"{error.name}."):
            raise  # a module that this one imports
        sys.exit(f"there is no module '{module}' here: run this in its folder, or set PYTHONPATH")
    if not isinstance(found, App):
        sys.exit(f"'{attribute}' of '{module}' is no App: name the variable that has it")
    return found


def main(argv: Sequence[str]) -> None:
    if not argv or argv[0] in ("-h", "--help"):
        print(_USAGE)
        sys.exit(0 if argv else 2)
    load_app(argv[0]).run(argv[1:])


if __name__ == "__main__":
    main(sys.argv[1:])
