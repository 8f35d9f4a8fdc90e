"""The folders that a server may read, and those among them that it may write.

    ./testdata, ./python/test/resource, ./model     in the folder where the server was started, if they exist
    /workspace/python/test/resource                 where containers mount the reference clips
    outputs/ in the data folder                     files may be written there; the rest is private
    model folders                                   ACUITY_MODEL_PATH, the package that carries models, and
                                                    that of Acuity's own tiny models
    VMAF_MCP_ALLOW                                  what the operator adds, to be read
    VMAF_MCP_ALLOW_WRITE                            what the operator adds, to be read and written

Entries of both variables are absolute, or begin with '~' for the home of the user who runs the server.
Relative entries are refused at the start, because their meaning would depend on where the server is started.
So are '/' and the file systems of the kernel, which would allow too much. An entry need not exist yet; empty
ones are skipped.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final

from acuity.errors import SettingsError
from acuity.models.sources import FOLDERS_VARIABLE, PACKAGE_SOURCE, model_folders
from acuity.tiny.files import OWN_FOLDER

_MODELS: Final = "model"
_IN_A_CHECKOUT: Final = ("testdata", "python/test/resource", _MODELS)
_IN_A_CONTAINER: Final = "/workspace/python/test/resource"
OUTPUTS: Final = "outputs"  # in the data folder

# These hold no videos, and some of their files are secret.
_KERNEL: Final = ("/proc", "/sys")


def roots_of(data: Path, allow: Iterable[str], allow_write: Iterable[str] = ()) -> dict[str, Any]:
    """The default, data and operator's folders as AllowedPaths takes them, resolved; raises SettingsError."""
    folder = resolve_root(data, "the data folder (ACUITY_DATA)")
    written = _added(allow_write, "VMAF_MCP_ALLOW_WRITE", folder)
    added = [*_added(allow, "VMAF_MCP_ALLOW", folder), *written]
    outputs = folder / OUTPUTS
    defaults = [*_defaults()]
    return {
        "roots": [*dict.fromkeys([*defaults, outputs, *_model_folders(), *added])],
        "private": [folder],
        "writable": [outputs, *written],
        "videos": [*dict.fromkeys([*added, *defaults, outputs])],
    }


def checkout_models() -> tuple[Path, ...]:
    """The folder 'model' where the server was started, if it exists."""
    return (resolve_root(Path(_MODELS), f"the folder '{_MODELS}'"),) if os.path.isdir(_MODELS) else ()


def resolve_root(root: Path, label: str) -> Path:
    """The folder with links followed; raises SettingsError if it would allow too much."""
    resolved = Path(os.path.realpath(root))
    if resolved == Path("/") or any(resolved.is_relative_to(kernel) for kernel in _KERNEL):
        raise SettingsError(
            f"{label} is '{root}', which would open every file of this machine or the kernel's own:"
            " name the folders that hold videos"
        )
    if resolved.exists() and not resolved.is_dir():
        raise SettingsError(f"{label} is '{root}', which is no folder: name the folder it is in")
    return resolved


def _added(entries: Iterable[str], variable: str, data: Path) -> list[Path]:
    label = f"an entry of {variable}"
    found = []
    for entry in filter(None, entries):
        path = Path(os.path.expanduser(entry))
        if not path.is_absolute():
            raise SettingsError(f"{label} is '{entry}', which is not absolute: write the whole path")
        found.append(resolve_root(path, label))
    if data in found:  # it has the requests and the answers of other clients
        raise SettingsError(
            f"{label} is the data folder '{data}', which has the jobs of every client: "
            "name the folders that hold videos, or another data folder"
        )
    return found


def _defaults() -> Iterator[Path]:
    for name in _IN_A_CHECKOUT:
        if os.path.isdir(name):
            yield resolve_root(Path(name), f"the folder '{name}'")
    yield resolve_root(Path(_IN_A_CONTAINER), "a default folder")


def _model_folders() -> Iterator[Path]:
    yield resolve_root(OWN_FOLDER, "the folder of Acuity's own tiny models")
    for name, source in model_folders():
        folder = Path(name)
        yield resolve_root(folder, f"a model folder ({FOLDERS_VARIABLE})")
        if source == PACKAGE_SOURCE:
            # Some installers link a package's files from a cache folder, which is then allowed too.
            yield from {Path(os.path.realpath(file)).parent for file in sorted(folder.glob("*.json"))}
