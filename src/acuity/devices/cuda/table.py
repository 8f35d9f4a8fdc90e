"""The table of twins: which extractors the card computes, and by what."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from acuity.features.adm import Adm
from acuity.features.cambi import Cambi
from acuity.features.ciede import Ciede
from acuity.features.motion import Motion
from acuity.features.psnr import Psnr
from acuity.features.psnr_hvs import PsnrHvs
from acuity.features.speed import SpeedChroma, SpeedTemporal
from acuity.features.ssim import FloatMsSsim, FloatSsim
from acuity.features.ssimulacra2 import Ssimulacra2
from acuity.features.vif import Vif
from acuity.features.xpsnr import Xpsnr

if TYPE_CHECKING:
    from acuity.features.extractor import Extractor


class TwinEntry(NamedTuple):
    """A twin: its module in twins/, its class, and the program of its kernels."""

    module: str
    name: str
    program: str

    def twin(self) -> Any:
        return getattr(import_module(f"acuity.devices.cuda.twins.{self.module}"), self.name)


TWINS: Final[dict[type[Extractor], TwinEntry]] = {
    Adm: TwinEntry("adm", "AdmTwin", "adm"),
    Cambi: TwinEntry("cambi", "CambiTwin", "cambi"),
    Ciede: TwinEntry("ciede", "CiedeTwin", "ciede"),
    Motion: TwinEntry("motion", "MotionTwin", "motion"),
    Psnr: TwinEntry("psnr", "PsnrTwin", "psnr"),
    PsnrHvs: TwinEntry("psnr", "PsnrHvsTwin", "psnr_hvs"),
    FloatSsim: TwinEntry("similarity", "FloatSsimTwin", "ssim"),
    FloatMsSsim: TwinEntry("similarity", "FloatMsSsimTwin", "ssim"),
    SpeedChroma: TwinEntry("speed", "SpeedChromaTwin", "speed"),
    SpeedTemporal: TwinEntry("speed", "SpeedTemporalTwin", "speed"),
    Ssimulacra2: TwinEntry("ssimulacra2", "Ssimulacra2Twin", "ssimulacra2"),
    Vif: TwinEntry("vif", "VifTwin", "vif"),
    Xpsnr: TwinEntry("psnr", "XpsnrTwin", "xpsnr"),
}
