"""The kernels and the bridge, compiled from native/.

Objects here belong to one thread at a time, except Ring and Bridge, which connect two, and LumaLook.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from acuity.video.picture import Samples

VIF_MIN_SIZE: int
VIF_OUTPUTS: int
ADM_MIN_SIZE: int
ADM_OUTPUTS: int
MOTION_MIN_SIZE: int
FLOAT_ADM_MIN_SIZE: int
FLOAT_ADM_OUTPUTS: int
FLOAT_MOTION_MIN_SIZE: int
FLOAT_VIF_MIN_SIZE: int
FLOAT_VIF_OUTPUTS: int
PAYLOAD_BYTES: int
CAMBI_MAX_WINDOW: int
SSIMULACRA2_MIN_SIZE: int
SSIMULACRA2_CURVE: int

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

def vif_outputs(words: NDArray[np.int64], *, gains: int, skip_scale0: bool) -> list[float]:
    """What Vif.run gives, from sums: for each scale den_log, num_flat, den_flat, num_log of each gain."""

def vif_log2_steps() -> list[int]:
    """VIF's logarithm: of 32768 + 8 * group + place it is (steps[group] + place) >> 3, in 1/2048."""

# Mode, view distance, display height, scale, diagonal scale, straight and diagonal figures of each scale.
FloatAdmSensitivity = tuple[int, float, int, float, float, tuple[float, ...], tuple[float, ...]]
# Sensitivity, gain limit, noise weight, exponent, masking, the scale that is left out of the impairment.
FloatAdmSetting = tuple[FloatAdmSensitivity, float, float, float, bool, int]

class FloatAdm:
    """ADM in single precision for several settings in one pass."""

    def __init__(
        self,
        workspace: Workspace,
        width: int,
        height: int,
        depth: int,
        *,
        skip_scale0: bool,
        settings: Sequence[FloatAdmSetting],
        instruction_set: str = "",
    ) -> None: ...
    def run(self, ref: Samples, dis: Samples) -> list[float]:
        """FLOAT_ADM_OUTPUTS values a setting: whole, aim, scales 0 to 3, num, den, both of each scale."""

class FloatMotion:
    """Motion in single precision between two pictures."""

    def __init__(
        self,
        workspace: Workspace,
        planes: Sequence[tuple[int, int]],
        depth: int,
        *,
        filter_size: int,
        add_scale1: bool,
        instruction_set: str = "",
    ) -> None: ...
    def run(self, before: Sequence[Samples], now: Sequence[Samples]) -> float:
        """Mean absolute difference of the blurred planes, whose sizes were given, summed."""

class FloatVif:
    """VIF in single precision for several gain limits in one pass."""

    def __init__(
        self,
        workspace: Workspace,
        width: int,
        height: int,
        depth: int,
        *,
        kernel_scale: float,
        prescale: float,
        prescale_method: str,
        sigma_nsq: float,
        skip_scale0: bool,
        gains: Sequence[float],
        instruction_set: str = "",
    ) -> None: ...
    def run(self, ref: Samples, dis: Samples) -> list[float]:
        """FLOAT_VIF_OUTPUTS values a gain limit: scales 0 to 3, whole, num, den, both of each scale."""

def float_vif_min_size(kernel_scale: float) -> int:
    """The smallest side of a picture for windows of that scale; raises FeatureError for an unknown one."""

DAMAGE_LOG: int  # the address of a function for FFmpeg's log

def damage_logged() -> int:
    """How often that function was told of damaged pictures."""

def signature(luma: Samples, depth: int, cells: NDArray[np.float32], instruction_set: str = "") -> None:
    """Fill `cells` with the mean of each cell of the picture, in steps of an 8-bit sample around mid-grey."""

def signature_row_step(height: int) -> int:
    """Of how many rows of a picture one is read."""

def squared_error(ref: Samples, dis: Samples, depth: int, instruction_set: str = "") -> int:
    """The sum of squared differences of two planes."""

class Speed:
    """SpEED of planes of one size, for several (sigma_nn, nn_floor, weight_var_mode) settings in one pass."""

    def __init__(
        self,
        workspace: Workspace,
        width: int,
        height: int,
        depth: int,
        *,
        kernelscale: float,
        prescale: float,
        prescale_method: str,
        settings: Sequence[tuple[float, float, int]],
        instruction_set: str = "",
    ) -> None: ...
    def chroma(self, ref_u: Samples, ref_v: Samples, dis_u: Samples, dis_v: Samples) -> list[list[float]]:
        """For each setting the scores of u, of v and of both."""

    def change(self, ref_before: Samples, ref: Samples, dis_before: Samples, dis: Samples) -> list[float]:
        """For each setting the score of what changed."""

    @staticmethod
    def joined(u: tuple[bool, Sequence[float]], v: tuple[bool, Sequence[float]]) -> list[list[float]]:
        """What `chroma` gives, of each plane's results: whether a covariance is singular, and the scores."""

class SpeedPlan:
    """How SpEED reduces planes of one size: its filters, and which samples they read."""

    def __init__(
        self, width: int, height: int, *, kernelscale: float, prescale: float, prescale_method: str
    ) -> None: ...
    @property
    def columns(self) -> tuple[int, list[int], list[float]]:
        """Outputs of a row, the samples that their taps read, and their weights: see native/speed/table.h."""

    @property
    def rows(self) -> tuple[int, list[int], list[float]]: ...
    @property
    def blend(self) -> int:
        """Samples blended along each axis; 0 if planes are not rescaled."""

    @property
    def normalised(self) -> bool:
        """Whether a blend is divided by the sum of its weights."""

    @property
    def low_pass(self) -> list[float]: ...
    @property
    def mean(self) -> list[float]: ...
    @property
    def across(self) -> int:
        """Blocks in a row."""

    @property
    def down(self) -> int: ...

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

    def outputs(self, sums: Sequence[int]) -> list[float]:
        """The same from a frame's sums.

        Each scale has three denominators, then three masked sums for each of `gains`, followed by three of
        the additive impairment if `aim`.
        """

    @property
    def gains(self) -> list[float]:
        """The gain limits of all settings, each once."""

    @property
    def aim(self) -> bool: ...
    @property
    def plans(self) -> list[AdmPlan]:
        """The four scales."""

class AdmPlan:
    """What one scale of ADM reads, sums and shifts."""

    bands: bool  # False: the scale is skipped but for its low-pass band
    input: tuple[int, int]  # columns and rows that the wavelet transform reads
    size: tuple[int, int]  # of the bands
    rows: tuple[int, int]  # summed, from the first to before the last
    columns: tuple[int, int]
    factors: list[int]  # contrast sensitivity of the bands in fixed point
    cos_squared: float
    cube_shifts: list[int]  # off each masked cube of the bands, after these were added
    cube_adds: list[int]
    row_shift: int  # off each row's masked sums, after these were added
    row_adds: list[int]
    den_cube_shift: int  # the same of the denominators
    den_cube_add: int
    den_row_shift: int
    den_row_add: int

class FloatSsim:
    """Structural similarity in single precision, of pictures shrunk by a factor."""

    def __init__(
        self,
        workspace: Workspace,
        width: int,
        height: int,
        depth: int,
        *,
        factor: int,
        instruction_set: str = "",
    ) -> None: ...
    def run(self, ref: Samples, dis: Samples) -> list[float]:
        """The figure, luminance, contrast, structure."""

    def outputs(self, sums: NDArray[np.float64]) -> list[float]:
        """The same from sums over the shrunk pictures: luminance, contrast, structure, the figure."""

    @property
    def size(self) -> tuple[int, int]:
        """Columns and rows of the shrunk pictures."""

class FloatMsSsim:
    """Structural similarity at five scales in single precision."""

    def __init__(
        self, workspace: Workspace, width: int, height: int, depth: int, *, instruction_set: str = ""
    ) -> None: ...
    def run(self, ref: Samples, dis: Samples) -> list[float]:
        """The figure, luminance of each scale, contrast of each, structure of each."""

    def outputs(self, sums: NDArray[np.float64]) -> list[float]:
        """The same from each scale's sums: luminance, contrast, structure, the figure."""

class Ssim:
    """Structural similarity in integer arithmetic."""

    def __init__(
        self, workspace: Workspace, width: int, height: int, depth: int, *, instruction_set: str = ""
    ) -> None: ...
    def run(self, ref: Samples, dis: Samples) -> float: ...

class Motion:
    """Motion between two pictures."""

    def __init__(
        self, workspace: Workspace, width: int, height: int, depth: int, *, instruction_set: str = ""
    ) -> None: ...
    def run(self, before: Samples, now: Samples) -> float:
        """Mean absolute difference of the blurred pictures."""

def hvs_errors(
    ref: Sequence[Samples], dis: Sequence[Samples], depth: int, instruction_set: str = ""
) -> list[float]:
    """Mean visible errors of luma, Cb and Cr, as shares of the squared peak."""

def hvs_mean(sum: float, width: int, height: int, depth: int) -> float:
    """The mean visible error of a plane of this size, from the sum over it."""

def hvs_weights(plane: int) -> list[float]:
    """What the frequencies of a plane's blocks count: 64 for errors, 64 for masking."""

def moments(ref: Samples, dis: Samples, depth: int, instruction_set: str = "") -> list[int]:
    """Sums of both planes' samples, then of their squares, which are rounded to single precision."""

def rounded_error(ref: Samples, dis: Samples, depth: int, instruction_set: str = "") -> int:
    """The sum of squared differences of planes deeper than 12 bits, each rounded to single precision."""

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

class CambiPlan:
    """How a picture is judged: for devices other than the CPU."""

    width: int
    height: int
    radius: int  # of the window
    flat: int  # more of the 7x7 samples around one than this must equal their right and lower neighbours
    smooth: bool
    halve: bool
    columns: list[int]  # where each column and row comes from; empty: pictures have this size
    rows: list[int]
    sizes: list[tuple[int, int]]  # of each scale
    strongest: list[int]  # how many contrasts of each scale count
    base: int  # the smallest value that is counted
    first: list[int]  # of each value from there: the smallest step that can be seen, less 1
    weights: list[float]  # of each step
    inverse: list[float]  # 1 / n

class Cambi:
    """Banding of pictures, judged at (width, height) in a window that is odd and at most CAMBI_MAX_WINDOW.

    The distorted picture is judged, and the reference where `source` says how. Steps are (weight, lowest and
    highest value from which it is seen), from 1 on; their number is a power of two, at most 32.
    """

    def __init__(
        self,
        workspace: Workspace,
        width: int,
        height: int,
        depth: int,
        *,
        judged: tuple[int, int, int],
        source: tuple[int, int, int] | None,
        smooth: bool,
        halve: bool,
        share: float,
        steps: Sequence[tuple[float, int, int]],
        heatmaps: bool = False,
        instruction_set: str = "",
    ) -> None: ...
    @property
    def sizes(self) -> list[tuple[int, int]]:
        """Width and height of each scale."""

    def run(self, ref: Samples, dis: Samples, heatmaps: Sequence[NDArray[np.uint16]]) -> list[float]:
        """One score, or two; contrasts of the distorted picture are drawn on the five heatmaps, if given."""

    @property
    def plans(self) -> list[CambiPlan]:
        """How the distorted picture is judged, and the reference if it is."""

    def scores(self, sums: Sequence[int]) -> list[float]:
        """The scores of each scale's sum of strongest contrasts in 2^-24, given as low part and 2^32s."""

    def draw(self, contrasts: Sequence[NDArray[np.float32]], heatmaps: Sequence[NDArray[np.uint16]]) -> None:
        """Draw contrasts of the five scales; rows may be longer than their scale is wide."""

class Xpsnr:
    """Weighted squared errors of a picture pair; `chroma` is the size of those planes, (0, 0) without."""

    def __init__(
        self,
        width: int,
        height: int,
        depth: int,
        *,
        chroma: tuple[int, int],
        fast: bool,
        instruction_set: str = "",
    ) -> None: ...
    def run(self, ref: Sequence[Samples], dis: Sequence[Samples], before: Sequence[Samples]) -> list[int]:
        """The error of each plane; `before` is the luma of earlier references, the nearest first."""

    def outputs(self, sums: NDArray[np.uint64]) -> list[int]:
        """The same from five sums of each block: texture, change, squared errors of three planes."""

    @property
    def areas(self) -> list[int]:
        """Where each block's five sums are taken: left, top, right and bottom of each."""

    @property
    def halved(self) -> bool:
        """Whether texture and change are those of squares of two by two samples."""

class Ssimulacra2:
    """SSIMULACRA 2 of a picture pair; `chroma` is the size of those planes, (0, 0) without.

    What samples mean: luma of `black`; `steps` of luma, of red by v, green by u and by v and blue by u; a
    `curve` of light at SSIMULACRA2_CURVE + 1 values; the `mix` of red, green and blue in kinds of cones.
    """

    def __init__(
        self,
        workspace: Workspace,
        width: int,
        height: int,
        depth: int,
        *,
        chroma: tuple[int, int],
        black: int,
        steps: Sequence[float],
        curve: NDArray[np.float32],
        mix: NDArray[np.float32],
        instruction_set: str = "",
    ) -> None: ...
    def run(self, ref: Sequence[Samples], dis: Sequence[Samples]) -> float:
        """The score."""

    def outputs(self, sums: NDArray[np.float64]) -> float:
        """The same from sums by scale, channel, norm and column modulo 16."""

    @property
    def sizes(self) -> list[tuple[int, int]]:
        """Columns and rows of each scale."""

    @property
    def light(self) -> tuple[int, int, float, float, float, float, float]:
        """How samples become light: luma of black, chroma sum of grey, and the five steps of chroma sums."""

    @property
    def curve(self) -> list[float]:
        """Light at SSIMULACRA2_CURVE + 1 values, then the step from each to the next."""

def mean_squared_errors(
    ones: list[NDArray[np.float32]], others: list[NDArray[np.float32]], band: int = 0
) -> NDArray[np.float64]:
    """The mean squared error of each signature against each other; with a band, of row i against i and on."""

class Track:
    """The last pairs of signatures with figures of each, and the cheapest path through lags of a few frames.

    Frames count from the first pair ever added. The arrays show its own memory: rows of signatures, from
    frame `first` on and room for more, and the figures of each row that there is.
    """

    def __init__(
        self, *, kept: int, reach: int, traced: int, floor: float, alike: float, most: float, jump: float
    ) -> None: ...
    def extend(self, ref: list[NDArray[np.float32]], dis: list[NDArray[np.float32]], /) -> None:
        """Add pairs."""

    def add_rest(self, ref: list[NDArray[np.float32]], dis: list[NDArray[np.float32]], /) -> None:
        """Add frames after the last pair, which one of the videos doesn't have."""

    def advance(self, frame: int, limit: int, watchful: bool, /) -> int:
        """Take the path on from a frame to before `limit`, or to the first frame that needs a closer look."""

    def path(self, frame: int, /) -> list[tuple[int, int]]:
        """The matches of the path to a frame that are not those of lag 0."""

    def weight(self, frame: int, /) -> float:
        """How much a frame may say, 0 to 1."""

    def usual_motion(self, frame: int, /) -> float:
        """The usual change of the reference in the last half second, where it moves."""

    def still(self, frame: int, /) -> bool:
        """Whether the distorted video hardly changes there."""

    def backwards(self, frame: int, /) -> bool:
        """Whether the distorted video changes against the reference's direction."""

    def matches(self, start: int, /) -> bool:
        """Whether the pairs since `start` differ less than frames do from their neighbours."""

    def costs(self, errors: NDArray[np.float64], weight: float, out: NDArray[np.float64], /) -> None:
        """What it costs to match a frame with each of several, from its squared errors against them."""

    @property
    def least_cost(self) -> float: ...
    @property
    def settled(self) -> bool: ...
    @property
    def first(self) -> int: ...
    @property
    def end(self) -> int: ...
    @property
    def end_ref(self) -> int: ...
    @property
    def end_dis(self) -> int: ...
    @property
    def cells(self) -> int: ...
    @property
    def ref(self) -> NDArray[np.float32]: ...
    @property
    def dis(self) -> NDArray[np.float32]: ...
    @property
    def moved_ref(self) -> NDArray[np.float64]: ...
    @property
    def moved_dis(self) -> NDArray[np.float64]: ...
    @property
    def tracking(self) -> NDArray[np.float64]: ...
    @property
    def error(self) -> NDArray[np.float64]: ...

class LumaLook:
    """The brightest lines of a video and the blocks that leave a range, gathered by any threads."""

    def __init__(self, *, step: int, line_step: int, block: int, lowest: int, highest: int) -> None: ...
    def study(self, luma: Samples, depth: int, thinned: bool = False) -> None:
        """Take in a picture; `thinned`: of which only every `step`th sample is left, in both directions."""

    @property
    def columns(self) -> NDArray[np.uint32]:
        """The highest sum of each column; without a picture there are none."""

    @property
    def rows(self) -> NDArray[np.uint32]:
        """The highest sum of each row."""

    @property
    def samples(self) -> tuple[int, int]:
        """How many samples the sum of a column has, and that of a row."""

    @property
    def blocks(self) -> tuple[int, int]:
        """How many blocks were seen, and how many of them leave the range."""

FOUND_FRAME: int
FOUND_ODD: int
FOUND_END: int
FOUND_NOTHING: int

class FileReads:
    """Frames at known places of a file, read ahead by threads of its own into memory that is given.

    One thread gives and takes; stop() may be called by any.
    """

    def __init__(
        self,
        descriptor: int,
        *,
        first: int,
        step: int,
        bytes: int,
        marker: bytes,
        lead: int,
        start: int,
        width: int,
        height: int,
        depth: int,
        grid: tuple[int, int],
        look: LumaLook | None,
        every: int,
        threads: int,
        wake: int,
    ) -> None:
        """Takes over the descriptor, unless it raises. Frame n has `bytes` from first + n * step on.

        They are read to `lead` of the room given, begin with `marker`, and their luma is at `start`. The grid
        is that of the signature, (0, 0) for none; `look` sees one frame in `every`.
        """

    def give(self, room: NDArray[np.uint8], signature: NDArray[np.float32] | None) -> None:
        """Room for one more frame, and for its signature."""

    def look(self, seconds: float, /) -> int:
        """What was found of the next frame, after waiting at most so long: one of the FOUND values."""

    def take(self) -> int:
        """Wait for the next frame and take it out: one of the FOUND values."""

    def stop(self) -> None:
        """Ask the threads to end."""

    def join(self) -> None:
        """Wait for the threads to end."""

    @property
    def threads(self) -> int: ...

def samples_fit(samples: Samples, depth: int, instruction_set: str = "") -> bool:
    """Whether no sample is larger than its depth allows."""

def instruction_sets() -> list[tuple[str, bool]]:
    """Instruction sets of this build, fastest first, and whether this machine runs each."""

def select_instruction_set(name: str = "") -> str:
    """The instruction set for that name; raises BackendError. No name: ACUITY_CPU, or else the fastest."""

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
    """Commands, replies and a status between a server's thread and a measuring one; see native/bridge.

    Nothing here waits or takes a lock, but wait(). After close(), and in a forked child, methods raise
    ClosedError; status(), the counts and close() itself still answer.
    """

    def __init__(self, queue_depth: int, /) -> None: ...

    # The server's thread.
    def send(self, ticket: int, kind: int, payload: bytes, /) -> bool:
        """Send a command. False: queue_depth commands are outstanding, and nothing was sent."""

    def replies(self) -> list[tuple[int, int, bytes]]:
        """All replies so far, as (ticket, kind, payload); first makes fileno() unreadable."""

    def fileno(self) -> int:
        """A descriptor that is readable when there may be replies."""

    # The measuring thread.
    def publish(self, done: int, /) -> bool:
        """Publish the number of frames done, at a frame boundary. True: there are commands to take."""

    def take(self) -> tuple[int, int, bytes] | None:
        """The oldest command as (ticket, kind, payload), or None. Each one taken must be answered once."""

    def answer(self, ticket: int, kind: int, payload: bytes, /) -> None:
        """Reply to a command that was taken; there is always room. RuntimeError if none is unanswered."""

    def wait(self, seconds: float, /) -> bool:
        """Sleep until there is a command (True), the time is over or interrupt() was called (False)."""

    # Any thread.
    def status(self) -> tuple[int, float]:
        """The frames done and the time.monotonic() that were published last."""

    def interrupt(self) -> None:
        """End a wait() in progress, or else the next one."""

    def close(self) -> None:
        """Close the descriptors and end a wait() in progress; may be called again.

        An event loop must stop watching fileno() first.
        """

    @property
    def closed(self) -> bool: ...
    @property
    def depth(self) -> int: ...
    @property
    def waiting(self) -> int:
        """The number of commands that are not taken yet."""

    @property
    def outstanding(self) -> int:
        """The number of commands whose replies are not collected yet."""

    @property
    def refused(self) -> int:
        """The number of commands that send() refused."""

DECODER_FUNCTIONS: tuple[str, ...]  # of CUDA's driver and its decoding library, that CardDecoder calls

def decoder_abilities(functions: dict[str, int], codec: int, depth: int) -> dict[str, int]:
    """What the card of this thread can decode: status, supported, engines, and bounds of the size."""

class CardDecoder:
    """Decoders of a card for one video, in threads of their own.

    One thread feeds, gives and takes; any may give back. A failure, or doubt, is a RuntimeError of take().
    """

    def __init__(
        self,
        functions: dict[str, int],
        *,
        context: int,
        codec: int,
        size: tuple[int, int],
        depth: int,
        pitches: tuple[int, int],
        offsets: tuple[int, int],
        chroma: tuple[int, int],
        cells: tuple[int, int],
        row_step: int,
        kernels: tuple[int, int],
        sessions: int,
        most: int,
    ) -> None:
        """Functions by their addresses; pitches and offsets are bytes of unpacked planes.

        `chroma` is (0, 0) if luma is all that is unpacked; `cells` are the rows and columns of a signature.
        """

    def feed(self, address: int, size: int, stamp: int, hidden: bool, anew: bool) -> None:
        """A packet, whose bytes are copied; OSError if the system starts no thread for it."""

    def end(self) -> None:
        """No more packets will come."""

    def take(self, most: int, waits: bool) -> list[tuple[int, int]]:
        """Stamps and rooms of the next pictures; if it waits, as soon as there are some or room is wanted."""

    @property
    def finished(self) -> bool: ...
    @property
    def far_ahead(self) -> bool:
        """Whether enough waits to be decoded and taken."""

    @property
    def wants_room(self) -> bool: ...
    def give(self, rooms: list[tuple[int, int, int, int]]) -> None:
        """Room for pictures: addresses on the card, of their sums, for these here, and for the signature.

        None: there is no more, so that pictures wait for what is given back.
        """

    def give_back(self, room: int) -> None:
        """The room of a picture may be used anew."""

    def close(self) -> None:
        """End the threads. May be called again."""
