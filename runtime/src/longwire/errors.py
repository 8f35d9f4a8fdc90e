"""The exceptions. A message is one sentence for people: it names the file, the value and the remedy."""


class LongwireError(Exception):
    """Base of every error that the runtime raises on purpose."""


class UsageError(LongwireError):
    """The options of a command contradict each other."""


class SettingsError(LongwireError, ValueError):
    """A setting of a server is invalid; `problems` has a sentence for each, if there are several."""

    def __init__(self, sentence: str, *others: str) -> None:
        super().__init__(sentence)
        self.problems = (sentence, *others)


class MissingExtra(LongwireError, ImportError):
    """The extra that this part of the runtime needs is not installed."""


class DescriptorError(LongwireError, RuntimeError):
    """A client can't be served at this file descriptor."""


class AskingError(LongwireError, RuntimeError):
    """A tool's question was not sent to the client, or the client's answer can't be used."""


class ToolError(LongwireError, RuntimeError):
    """A tool's own sentence about why it failed."""


class ClusterUnavailable(LongwireError):
    """Redis doesn't answer; the sentence is for clients. This node's own sessions go on."""


class DamagedKey(ClusterUnavailable):
    """A key in Redis has a value that no node wrote."""
