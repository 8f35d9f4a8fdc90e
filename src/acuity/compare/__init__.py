"""Many encodes beside their references: scored together, remembered, and ranked.

The room has the name of its function. Importing any of its modules makes `acuity.compare` the room, whatever
it was before, so the room can be called like the function.
"""

import sys
import types
import typing


class _Room(types.ModuleType):
    def __call__(self, *args: typing.Any, **options: typing.Any) -> typing.Any:
        from acuity.compare.call import compare

        return compare(*args, **options)


sys.modules[__name__].__class__ = _Room
