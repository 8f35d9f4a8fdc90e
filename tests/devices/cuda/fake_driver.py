# ruff: noqa: N802  # the names are the driver's
"""The driver's decoding library without a card: functions that native code calls, decoding with FFmpeg.

Surfaces are larger than what is shown of them, which begins in their midst. They are spoiled when they are
given back, so what is read too late shows.
"""

from __future__ import annotations

import ctypes
import threading
from ctypes import POINTER, Structure, c_int32, c_uint, c_uint8, c_uint32, c_uint64, c_void_p
from typing import Any

import numpy as np

from emulated_card import launch
from fake_cuda import KERNELS
from fake_decoder import FakeDecoder, FakeFrame, OnFrame

_NAMES = {4: "H264", 8: "HEVC", 10: "VP9", 11: "AV1"}
_LEFT, _TOP, _BLOCK = 2, 4, 16
_SURFACES = 8
_END, _WITH_STAMP = 1, 2
_WHOLE, _DAMAGED, _FAILED = 2, 8, 999


def _structure(name: str, fields: str) -> Any:
    """A structure of C: a type of ctypes, names that have it, and another type after each semicolon."""
    found = []
    for declared in fields.split(";"):
        kind, *names = declared.split()
        for field in names:
            bare, _, length = field.strip("]").partition("[")
            type_: Any = getattr(ctypes, f"c_{kind}")
            found.append((bare, type_ * int(length) if length else type_))
    return type(name, (Structure,), {"_fields_": found})


VideoFormat = _structure(
    "VideoFormat",
    "int32 codec; uint32 rate[2]; uint8 progressive luma_depth chroma_depth least_surfaces; uint32 coded[2];"
    "int32 shown[4] chroma; uint32 bitrate; int32 aspect[2]; uint8 colours[4]; uint32 more",
)
ShownPicture = _structure("ShownPicture", "int32 index fields[3]; int64 stamp")
SourcePacket = _structure("SourcePacket", "ulong flags size; void_p data; int64 stamp")
DecoderSettings = _structure(
    "DecoderSettings",
    "ulong width height surfaces; int32 codec chroma; ulong flags depth_above_8 unused[4]; int16 shown[4];"
    "int32 surface_format deinterlacing; ulong to_width to_height outputs; void_p lock; int16 target[4];"
    "ulong more[5]",
)
Abilities = _structure(
    "Abilities",
    "int32 codec chroma; uint32 depth_above_8 unused[3]; uint8 supported engines; uint16 formats;"
    "uint32 most_width most_height most_blocks; uint16 least_width least_height; uint32 more[11]",
)
_Called = ctypes.CFUNCTYPE(c_int32, c_void_p, c_void_p)


class ParserSettings(Structure):
    _fields_ = [
        ("codec", c_int32),
        ("numbers", c_uint32 * 9),
        ("user", c_void_p),
        *((name, _Called) for name in ("on_sequence", "on_decode", "on_show")),
        ("more", c_void_p * 8),
    ]


class _Parser:
    """A parser with its decoder."""

    def __init__(self, library: FakeDriver, settings: ParserSettings) -> None:
        self.settings = ParserSettings.from_buffer_copy(settings)
        self.decoder = FakeDecoder(_NAMES[settings.codec], library.on_frame)
        self.format: bytes | None = None  # that was told last
        self.surfaces: dict[int, Any] = {}  # by index
        self.damaged: set[int] = set()  # indices
        self.next = 0


class FakeDriver(dict[str, int]):
    """Addresses of the functions by name; what the decoders get wrong is up to the test.

    The sums for signatures, which take the emulator far longer than all else, are numpy's unless `emulated`.
    """

    def __init__(
        self, engines: int = 1, *, emulated: bool = False, on_frame: OnFrame = lambda frame: [frame]
    ) -> None:
        super().__init__()
        self.engines = engines
        self.emulated = emulated
        self.unsupported: set[tuple[str, int]] = set()  # codecs and depths
        self.decoders = 0  # made so far
        self.destroyed = 0
        self.fed = 0  # packets so far
        self.on_frame = on_frame
        self.smallest = (48, 16)
        self._parsers: dict[int, _Parser] = {}
        self._asking: dict[int, _Parser] = {}  # by thread, the parser that calls back
        self._decoders: dict[int, _Parser] = {}
        self._kept: list[Any] = []
        for name, parameters in _PARAMETERS.items():
            done = getattr(self, name, lambda *_: 0)  # what has nothing to do here succeeds
            made = ctypes.CFUNCTYPE(c_int32, *parameters)(done)
            self._kept.append(made)
            self[name] = ctypes.cast(made, c_void_p).value or 0

    # ---- CUDA -----------------------------------------------------------------------------------

    def cuStreamCreate(self, stream: Any, flags: int) -> int:
        stream[0] = 77
        return 0

    def cuEventCreate(self, event: Any, flags: int) -> int:
        event[0] = 78
        return 0

    def cuMemcpyDtoHAsync_v2(self, to: int, address: int, size: int, stream: int) -> int:
        ctypes.memmove(to, address, size)
        return 0

    def cuLaunchKernel(self, function: int, *rest: Any) -> int:
        program, name = KERNELS[function]
        if name.startswith("sum_") and not self.emulated:
            _add_up(rest[8], np.uint8 if name == "sum_bytes" else np.uint16)
        else:
            launch(program, name, rest[:3], rest[3:6], c_void_p(rest[8]))
        return 0

    # ---- decoding -------------------------------------------------------------------------------

    def cuvidGetDecoderCaps(self, found: Any) -> int:
        caps = found[0]
        assert caps.chroma == 1
        if (_NAMES[caps.codec], caps.depth_above_8 + 8) not in self.unsupported:
            caps.supported, caps.engines = 1, self.engines
            caps.most_width = caps.most_height = 4096
            caps.most_blocks = 65536
            caps.least_width, caps.least_height = self.smallest
        return 0

    def cuvidCreateVideoParser(self, parser: Any, settings: Any) -> int:
        number = len(self._parsers) + 1
        self._parsers[number] = _Parser(self, settings[0])
        parser[0] = number
        return 0

    def cuvidParseVideoData(self, parser: int, packet: Any) -> int:
        state, source = self._parsers[parser], packet[0]
        self._asking[threading.get_ident()] = state
        self.fed += 1
        try:
            if source.flags & _END:
                frames = state.decoder.flush()
            else:
                assert source.flags & _WITH_STAMP
                frames = state.decoder.decode(source.data, source.size, source.stamp)
        except RuntimeError:
            return _FAILED
        return 0 if all(self._tell(state, frame) for frame in frames) else _FAILED

    def _tell(self, state: _Parser, frame: FakeFrame) -> bool:
        """Call the functions of whoever parses, as the driver's parser does; whether they succeeded."""
        settings = state.settings
        format = _format(settings.codec, frame)
        if state.format != bytes(format):
            state.format = bytes(format)
            if settings.on_sequence(settings.user, ctypes.addressof(format)) < _SURFACES:
                return False
        parameters = c_int32(state.next)
        if settings.on_decode(settings.user, ctypes.addressof(parameters)) < 1:
            return False
        index, state.next = state.next, (state.next + 1) % _SURFACES
        state.surfaces[index] = _coded(frame)
        state.damaged.discard(index)
        if frame.damaged:
            state.damaged.add(index)
        shown = ShownPicture(index, (c_int32 * 3)(1, 0, 0), frame.timestamp)
        return bool(settings.on_show(settings.user, ctypes.addressof(shown)) >= 1)

    def cuvidCreateDecoder(self, decoder: Any, settings: Any) -> int:
        wanted, state = settings[0], self._asking[threading.get_ident()]
        assert state.format is not None
        format = VideoFormat.from_buffer_copy(state.format)
        assert (wanted.width, wanted.height) == (wanted.to_width, wanted.to_height) == tuple(format.coded)
        assert wanted.codec == format.codec
        assert wanted.depth_above_8 == format.luma_depth
        assert wanted.surface_format == (format.luma_depth > 0)
        assert wanted.surfaces >= format.least_surfaces
        assert wanted.outputs >= 1
        self.decoders += 1
        self._decoders[self.decoders] = state
        decoder[0] = self.decoders
        return 0

    def cuvidDestroyDecoder(self, decoder: int) -> int:
        self.destroyed += 1
        return 0

    def cuvidDecodePicture(self, decoder: int, parameters: int) -> int:
        assert decoder in self._decoders
        return 0

    def cuvidGetDecodeStatus(self, decoder: int, index: int, state: Any) -> int:
        state[0] = _DAMAGED if index in self._decoders[decoder].damaged else _WHOLE
        return 0

    def cuvidMapVideoFrame64(self, decoder: int, index: int, address: Any, pitch: Any, how: int) -> int:
        surface = self._decoders[decoder].surfaces[index]
        address[0], pitch[0] = surface.ctypes.data, surface.strides[0]
        return 0

    def cuvidUnmapVideoFrame64(self, decoder: int, address: int) -> int:
        for surface in self._decoders[decoder].surfaces.values():
            if surface.ctypes.data == address:
                surface[:] = 0xA5
                return 0
        return _FAILED


def _add_up(arguments: int, kind: Any) -> None:
    """What the kernel does that adds up the samples of cells."""
    kinds = (c_uint64, *[c_int32] * 6, c_uint64)
    places = (c_void_p * len(kinds)).from_address(arguments)
    luma, pitch, width, height, rows, columns, step, sums = (
        kind.from_address(place).value for kind, place in zip(kinds, places, strict=True)
    )
    plane = np.frombuffer((c_uint8 * (pitch * height)).from_address(luma), kind).reshape(height, -1)
    top, left = -(-(np.arange(rows) * height // rows) // step), np.arange(columns) * width // columns
    lines = np.add.reduceat(plane[::step, :width].astype(np.uint64), top)
    found = np.ascontiguousarray(np.add.reduceat(lines, left, axis=1))
    ctypes.memmove(sums, found.ctypes.data, found.nbytes)


def _sizes(frame: FakeFrame) -> tuple[int, int, int, int]:
    """The width and height of what is shown, and of the surface."""
    width, height = frame.samples.shape[1], frame.rows
    across, down = (-(-(size + start) // _BLOCK) * _BLOCK for size, start in ((width, _LEFT), (height, _TOP)))
    return width, height, across, down


def _format(codec: int, frame: FakeFrame) -> Any:
    width, height, across, down = _sizes(frame)
    format = VideoFormat(codec=codec, progressive=1, least_surfaces=_SURFACES, chroma=1)
    format.luma_depth = format.chroma_depth = frame.depth - 8
    format.coded[:] = across, down
    format.shown[:] = _LEFT, _TOP, _LEFT + width, _TOP + height
    return format


def _coded(frame: FakeFrame) -> Any:
    """The samples on a surface."""
    width, height, across, down = _sizes(frame)
    surface = np.full((down + down // 2, across), 0x5A, frame.samples.dtype)
    surface[_TOP : _TOP + height, _LEFT : _LEFT + width] = frame.samples[:height]
    chroma = frame.samples[height:]
    first = down + _TOP // 2
    surface[first : first + len(chroma), _LEFT : _LEFT + width] = chroma
    return surface


_PARAMETERS: dict[str, tuple[Any, ...]] = {
    "cuCtxSetCurrent": (c_void_p,),
    "cuStreamCreate": (POINTER(c_void_p), c_uint),
    "cuStreamDestroy_v2": (c_void_p,),
    "cuEventCreate": (POINTER(c_void_p), c_uint),
    "cuEventDestroy_v2": (c_void_p,),
    "cuEventRecord": (c_void_p, c_void_p),
    "cuEventSynchronize": (c_void_p,),
    "cuMemcpyDtoHAsync_v2": (c_void_p, c_uint64, c_uint64, c_void_p),
    "cuLaunchKernel": (c_void_p, *[c_uint] * 7, c_void_p, c_void_p, c_void_p),
    "cuvidGetDecoderCaps": (POINTER(Abilities),),
    "cuvidCreateVideoParser": (POINTER(c_void_p), POINTER(ParserSettings)),
    "cuvidParseVideoData": (c_void_p, POINTER(SourcePacket)),
    "cuvidDestroyVideoParser": (c_void_p,),
    "cuvidCreateDecoder": (POINTER(c_void_p), POINTER(DecoderSettings)),
    "cuvidDestroyDecoder": (c_void_p,),
    "cuvidDecodePicture": (c_void_p, c_void_p),
    "cuvidGetDecodeStatus": (c_void_p, c_int32, POINTER(c_int32)),
    "cuvidMapVideoFrame64": (c_void_p, c_int32, POINTER(c_uint64), POINTER(c_uint), c_void_p),
    "cuvidUnmapVideoFrame64": (c_void_p, c_uint64),
}
