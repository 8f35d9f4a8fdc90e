"""The exception tree.

    AcuityError                      anything a caller may want to catch at once
    ├── InputError (ValueError)      the video given cannot be read as asked
    │   ├── FormatError              not a video, or not the format it claims to be
    │   ├── TruncatedError           ends in the middle of a frame
    │   └── NoFramesError            nothing to score
    ├── PairingError (ValueError)    the two videos cannot be compared as they are
    ├── ModelError (ValueError)      a model that is unknown or malformed
    ├── FeatureError (ValueError)    an extractor or option that is unknown or out of range
    ├── BackendError (RuntimeError)  the requested backend or instruction set is not here
    ├── OutputError (OSError)        a report that could not be written
    ├── NotReady (LookupError)       no answer yet: feed more frames or flush
    └── ClosedError (RuntimeError)   the measurement was closed or flushed already

Messages are one sentence for people: they name the file, the value and what to do next.
"""


class AcuityError(Exception):
    """Base of every error Acuity raises on purpose."""


class InputError(AcuityError, ValueError):
    """The video given cannot be read as asked."""


class FormatError(InputError):
    """Not a video, or not the format it claims to be."""


class TruncatedError(InputError):
    """The file ends in the middle of a frame."""


class NoFramesError(InputError):
    """There is no frame to score."""


class PairingError(AcuityError, ValueError):
    """Reference and distorted cannot be compared as they are."""


class ModelError(AcuityError, ValueError):
    """A model that is unknown or malformed."""


class FeatureError(AcuityError, ValueError):
    """An extractor or an option that is unknown or out of range."""


class BackendError(AcuityError, RuntimeError):
    """The requested backend or instruction set is not on this machine."""


class OutputError(AcuityError, OSError):
    """A report that could not be written."""


class NotReady(AcuityError, LookupError):
    """The answer needs frames that were not fed yet; "no answer" is not "broken"."""


class ClosedError(AcuityError, RuntimeError):
    """The measurement was flushed or closed, so it takes no more frames."""
