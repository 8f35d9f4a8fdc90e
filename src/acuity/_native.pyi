"""The kernels, compiled from native/. Objects here belong to one thread at a time."""

from collections.abc import Sequence

from acuity.video.picture import Samples

VIF_MIN_SIZE: int
VIF_OUTPUTS: int
ADM_MIN_SIZE: int
ADM_OUTPUTS: int
MOTION_MIN_SIZE: int

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
