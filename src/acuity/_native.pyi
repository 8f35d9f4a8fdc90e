"""The kernels and the bridge, compiled from native/.

Objects here belong to one thread at a time, except Ring and Bridge, which connect two.
"""

from collections.abc import Sequence

from acuity.video.picture import Samples

VIF_MIN_SIZE: int
VIF_OUTPUTS: int
ADM_MIN_SIZE: int
ADM_OUTPUTS: int
MOTION_MIN_SIZE: int
PAYLOAD_BYTES: int

class Workspace:
    """Scratch memory that extractors of one thread share."""

    def __init__(self) -> None: ...
    @property
    def size(self) -> int: ...

class Vif:
    """VIF for several gain limits in one pass."""

    def __init__(
        self,
        workspace: Workspace,
        width: int,
        height: int,
        depth: int,
        *,
        skip_scale0: bool,
        gains: Sequence[float],
        instruction_set: str = "",
    ) -> None: ...
    def run(self, ref: Samples, dis: Samples) -> list[float]:
        """VIF_OUTPUTS values a gain limit: scales 0 to 3, whole, num, den, num and den of each scale."""

def squared_error(ref: Samples, dis: Samples, depth: int, instruction_set: str = "") -> int:
    """The sum of squared differences of two planes."""

def hvs_errors(
    ref: Sequence[Samples], dis: Sequence[Samples], depth: int, instruction_set: str = ""
) -> list[float]:
    """Mean visible errors of luma, Cb and Cr, as shares of the squared peak."""

def moments(ref: Samples, dis: Samples, depth: int, instruction_set: str = "") -> list[int]:
    """Sums of both planes' samples, then of their squares, which are rounded to single precision."""

def rounded_error(ref: Samples, dis: Samples, depth: int, instruction_set: str = "") -> int:
    """The sum of squared differences of planes deeper than 12 bits, each rounded to single precision."""

class Adm:
    """ADM for several (gain limit, noise weight) settings in one pass."""

    def __init__(
        self,
        workspace: Workspace,
        width: int,
        height: int,
        depth: int,
        *,
        csf_mode: int,
        view_distance: float,
        display_height: int,
        csf_scale: float,
        csf_diagonal_scale: float,
        skip_scale0: bool,
        aim: bool,
        settings: Sequence[tuple[float, float]],
        instruction_set: str = "",
    ) -> None: ...
    def run(self, ref: Samples, dis: Samples) -> list[float]:
        """ADM_OUTPUTS values a setting: whole, aim, scales 0 to 3, num, den, num and den of each scale."""

class Ansnr:
    """Signal and noise of smoothed pictures."""

    def __init__(
        self, workspace: Workspace, width: int, height: int, depth: int, *, instruction_set: str = ""
    ) -> None: ...
    def run(self, ref: Samples, dis: Samples) -> tuple[float, float]:
        """The signal over the noise (0 where there is none), and the noise."""

class Ciede:
    """Colour differences of pictures (CIEDE2000)."""

    def __init__(
        self, workspace: Workspace, width: int, height: int, depth: int, *, instruction_set: str = ""
    ) -> None: ...
    def run(self, ref: Sequence[Samples], dis: Sequence[Samples], column_shift: int, row_shift: int) -> float:
        """The sum over all pixels; the shifts lead from a pixel to its chroma sample."""

class Motion:
    """Motion between two pictures."""

    def __init__(
        self, workspace: Workspace, width: int, height: int, depth: int, *, instruction_set: str = ""
    ) -> None: ...
    def run(self, before: Samples, now: Samples) -> float:
        """Mean absolute difference of the blurred pictures."""

def samples_fit(samples: Samples, depth: int) -> bool:
    """Whether no sample is larger than its depth allows."""

def instruction_sets() -> list[tuple[str, bool]]:
    """Instruction sets of this build, fastest first, and whether this machine runs each."""

def select_instruction_set(name: str = "") -> str:
    """The one that would be used; raises BackendError. No name: ACUITY_CPU, or else the fastest."""

def csf_factors(
    mode: int, view_distance: float, display_height: int, scale: float, diagonal_scale: float
) -> list[tuple[float, float]]:
    """ADM's contrast sensitivity at each scale, (straight, diagonal); raises FeatureError."""

class Ring:
    """Envelopes of (ticket, kind, payload) from one pushing thread to one popping thread; neither waits.

    All its memory is taken when it is made. Raises ValueError unless the depth is a power of two, 2 to 65536.
    """

    def __init__(self, depth: int, /) -> None: ...
    @property
    def depth(self) -> int: ...
    def push(self, ticket: int, kind: int, payload: bytes, /) -> bool:
        """False when the ring is full; ValueError when the payload is longer than PAYLOAD_BYTES."""

    def pop(self) -> tuple[int, int, bytes] | None:
        """The oldest envelope, or None."""

    def __len__(self) -> int: ...

class Bridge:
    """Commands, replies and a status between a server's thread and a measuring thread; see native/bridge.h.

    Nothing here waits or takes a lock, but wait(). After close(), and in a forked child, methods raise
    ClosedError; status(), the counts and close() itself still answer.
    """

    def __init__(self, queue_depth: int, /) -> None: ...

    # The server's thread.
    def send(self, ticket: int, kind: int, payload: bytes, /) -> bool:
        """Hand over a command. False: queue_depth commands are under way, and nothing was sent."""

    def replies(self) -> list[tuple[int, int, bytes]]:
        """Every reply that came, as (ticket, kind, payload); makes fileno() unreadable before it looks."""

    def fileno(self) -> int:
        """A descriptor that is readable when there may be replies, or the awaited frames are done."""

    def wake_when_done(self, frames: int, /) -> bool:
        """Whether so many frames are done; if not, the publish() that says so makes fileno() readable."""

    # The measuring thread.
    def publish(self, fed: int, done: int, last_index: int, state: int, score: float, /) -> bool:
        """Say where the measurement stands, at a frame boundary. True: there are commands to take."""

    def take(self) -> tuple[int, int, bytes] | None:
        """The oldest command as (ticket, kind, payload), or None. Each one taken must be answered once."""

    def answer(self, ticket: int, kind: int, payload: bytes, /) -> None:
        """Reply to a command that was taken; there is always room. RuntimeError if none is unanswered."""

    def wait(self, seconds: float, /) -> bool:
        """Sleep until there is a command (True), the time is over or interrupt() was called (False)."""

    # Any thread.
    def status(self) -> tuple[int, int, int, int, float, float]:
        """What was published last, and when: fed, done, last_index, state, score, time.monotonic()."""

    def interrupt(self) -> None:
        """End a wait() under way, or else the next one."""

    def close(self) -> None:
        """Close the descriptors and end a wait() under way; may be called again.

        Whoever watches fileno() stops that first.
        """

    @property
    def closed(self) -> bool: ...
    @property
    def depth(self) -> int: ...
    @property
    def waiting(self) -> int:
        """Commands that nobody took yet."""

    @property
    def outstanding(self) -> int:
        """Commands sent whose replies were not collected yet."""

    @property
    def refused(self) -> int:
        """Commands that send() turned away."""
