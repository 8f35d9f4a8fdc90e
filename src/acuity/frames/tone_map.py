"""Pictures of HDR and of wide gamuts on an sRGB screen, simply and the same for every picture.

    PQ, HLG ──► light in cd/m2 ──► BT.709's primaries ──► highlights compressed ──► sRGB

White of graphics (203 cd/m2, ITU-R BT.2408) stays somewhat below SDR's white, so that brighter parts have
room up to 1,000 cd/m2. Brighter light is white.
"""

from __future__ import annotations

from typing import Final, cast

import numpy as np
from numpy.typing import NDArray

from acuity.video.pairs.recolour import CHROMATICITIES, gamut_matrix

Floats = NDArray[np.float32]

# By FFmpeg's names of transfers.
TONE_MAPS: Final = {"smpte2084": "PQ", "arib-std-b67": "HLG"}

_GAMMA: Final = 2.4  # of an SDR screen (BT.1886)
_PEAK: Final = 1000.0  # cd/m2 that are shown as white
_WHITE: Final = 203.0
# SMPTE ST 2084
_M1, _M2 = 2610 / 16384, 2523 / 4096 * 128
_C1, _C2, _C3 = 3424 / 4096, 2413 / 4096 * 32, 2392 / 4096 * 32
# ITU-R BT.2100
_A, _B, _C = 0.17883277, 0.28466892, 0.55991073
_HLG_GAMMA: Final = 1.2  # of a screen of 1,000 cd/m2
_LUMA: Final = (0.2627, 0.6780, 0.0593)


def tone_mapped(rgb: Floats, transfer: str, primaries: str | None) -> Floats:
    """Red, green and blue of an HDR signal, 0 to 1, as those of sRGB."""
    light = _pq_light(rgb) if transfer == "smpte2084" else _hlg_light(rgb)
    light = _narrowed(light, primaries if primaries in CHROMATICITIES else "bt2020")
    # One factor for the three, so that hues stay; it goes by the brightest of them, so that none is cut off.
    brightest = np.maximum(light.max(-1, keepdims=True), np.float32(1e-6))
    shown = light * (_compressed(brightest) / brightest)
    return _srgb(np.clip(shown, 0, 1))


def in_srgb_gamut(rgb: Floats, primaries: str | None) -> Floats:
    """Red, green and blue of an SDR signal with these primaries, 0 to 1, as those of sRGB."""
    if primaries not in CHROMATICITIES:
        return rgb
    light = _narrowed(np.power(rgb, np.float32(_GAMMA)), primaries)
    return cast("Floats", np.power(np.clip(light, 0, 1), np.float32(1 / _GAMMA)))


def _narrowed(light: Floats, primaries: str) -> Floats:
    """Light with BT.709's primaries; what they can't show is the nearest they can."""
    rows = gamut_matrix(primaries, "bt709").astype(np.float32)
    # Not with @, which may start a thread for every core.
    parts = [light[..., 0] * r + light[..., 1] * g + light[..., 2] * b for r, g, b in rows]
    return cast("Floats", np.maximum(np.stack(parts, -1), 0))


def _pq_light(signal: Floats) -> Floats:
    """Light in units of graphics white."""
    power = np.power(signal, np.float32(1 / _M2))
    base = np.maximum(power - np.float32(_C1), 0) / (np.float32(_C2) - np.float32(_C3) * power)
    return cast("Floats", np.power(base, np.float32(1 / _M1)) * np.float32(10_000 / _WHITE))


def _hlg_light(signal: Floats) -> Floats:
    low = signal * signal / np.float32(3)
    high = (np.exp((signal - np.float32(_C)) / np.float32(_A)) + np.float32(_B)) / np.float32(12)
    scene = np.where(signal <= np.float32(0.5), low, high).astype(np.float32)
    luma = sum(scene[..., index] * np.float32(weight) for index, weight in enumerate(_LUMA))
    gain = np.power(np.maximum(luma, np.float32(1e-6)), np.float32(_HLG_GAMMA - 1))
    return cast("Floats", scene * gain[..., np.newaxis] * np.float32(_PEAK / _WHITE))


def _compressed(light: Floats) -> Floats:
    """Reinhard's curve with a white point: nearly the light itself below, 1 at the peak."""
    white = np.float32(_PEAK / _WHITE)
    return cast("Floats", light * (1 + light / (white * white)) / (1 + light))


def _srgb(light: Floats) -> Floats:
    low = light * np.float32(12.92)
    high = np.float32(1.055) * np.power(light, np.float32(1 / 2.4)) - np.float32(0.055)
    return cast("Floats", np.where(light <= np.float32(0.0031308), low, high))
