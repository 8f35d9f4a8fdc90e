"""numpy, loaded when something of it is first used: loading takes longer than scoring a picture."""

from __future__ import annotations

TYPE_CHECKING = False  # typing's own would load typing
if TYPE_CHECKING:
    import numpy as np
else:

    class _Later:
        """Has numpy's names, each from its first use on."""

        def __getattr__(self, name: str) -> object:
            import numpy

            value = getattr(numpy, name)
            setattr(self, name, value)
            return value

    np = _Later()

__all__ = ["np"]
