"""Files that refer to other files or to the network, for tests that no reader follows them."""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from video_clips import encode

_HOLDERS = (b"moov", b"trak", b"mdia", b"minf", b"dinf")
_IMF = (
    b'<?xml version="1.0"?><CompositionPlaylist xmlns="http://www.smpte-ra.org/schemas/2067-3/2016">'
    b"<Id>urn:uuid:0</Id></CompositionPlaylist>"
)
_VOBSUB = (
    b"# VobSub index file, v7 (do not modify this line!)\nsize: 720x576\nid: en, index: 0\n"
    b"timestamp: 00:00:01:000, filepos: 000000000\n"
)


@dataclass(frozen=True)
class Bait:
    """What is pointed at: a video and a port."""

    folder: Path
    clip: Path
    port: int
    mp4: bytes  # a video of its own, to be changed

    @property
    def path(self) -> bytes:
        return str(self.clip).encode()

    @property
    def url(self) -> bytes:
        return f"http://127.0.0.1:{self.port}/clip.ts".encode()


def lay_bait(folder: Path, port: int) -> Bait:
    clip = encode(folder / "clip.ts", codec="mpeg2video", frames=4)
    return Bait(folder, clip, port, encode(folder / "own.mp4", codec="mpeg4", frames=4).read_bytes())


def _hls(target: bytes, extra: bytes = b"") -> bytes:
    return b"#EXTM3U\n#EXT-X-TARGETDURATION:1\n" + extra + b"#EXTINF:1,\n" + target + b"\n#EXT-X-ENDLIST\n"


def _dash(target: bytes) -> bytes:
    return (
        b'<?xml version="1.0"?>\n<MPD xmlns="urn:mpeg:dash:schema:mpd:2011" type="static"'
        b' mediaPresentationDuration="PT1S" profiles="urn:mpeg:dash:profile:isoff-on-demand:2011"><Period>'
        b'<AdaptationSet contentType="video"><Representation id="0" mimeType="video/mp4" bandwidth="1">'
        b"<BaseURL>" + target + b"</BaseURL></Representation></AdaptationSet></Period></MPD>\n"
    )


def _sdp(bait: Bait) -> bytes:
    return (
        "v=0\r\no=- 0 0 IN IP4 127.0.0.1\r\ns=bait\r\nc=IN IP4 127.0.0.1\r\nt=0 0\r\n"
        f"m=video {bait.port} RTP/AVP 96\r\na=rtpmap:96 H264/90000\r\n"
    ).encode()


def with_data_reference(mp4: bytes, kind: bytes, target: bytes) -> bytes:
    """A MOV whose samples are said to be elsewhere: another 'dref' box, and those around it resized."""
    at = mp4.index(b"dref") - 4
    size = struct.unpack_from(">I", mp4, at)[0]
    entry = struct.pack(">I4sI", 12 + len(target), kind, 0) + target
    box = struct.pack(">I4sII", 16 + len(entry), b"dref", 0, 1) + entry
    changed = bytearray(mp4[:at] + box + mp4[at + size :])
    position = 0
    while position < at:
        length, name = struct.unpack_from(">I4s", changed, position)
        if position + length <= at or name not in _HOLDERS:
            position += length
            continue
        struct.pack_into(">I", changed, position, length + len(box) - size)
        position += 8
    return bytes(changed)


def alias(target: bytes) -> bytes:
    """A Macintosh alias record, the form of data reference that FFmpeg knows how to follow."""
    name = target.rsplit(b"/", 1)[-1]
    record = bytes(6) + struct.pack(">HH", 2, 0) + b"\x04disk".ljust(28, b"\0") + bytes(12)
    record += (bytes([len(name)]) + name).ljust(64, b"\0") + bytes(16) + struct.pack(">hh", 1, 1) + bytes(16)
    for kind in (2, 18):
        record += struct.pack(">hH", kind, len(target)) + target + bytes(len(target) % 2)
    return record + struct.pack(">hH", -1, 0)


# Suffix of the file that FFmpeg would believe by its name, and its content.
BAITS: dict[str, tuple[str, Callable[[Bait], bytes]]] = {
    "hls-file": (".m3u8", lambda b: _hls(b.path)),
    "hls-http": (".m3u8", lambda b: _hls(b.url)),
    "hls-key": (".m3u8", lambda b: _hls(b"x.ts", b'#EXT-X-KEY:METHOD=AES-128,URI="' + b.url + b'"\n')),
    "hls-master": (".m3u8", lambda b: b"#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=1\n" + b.url + b"\n"),
    "hls-with-a-mark": (".m3u8", lambda b: b"\xef\xbb\xbf" + _hls(b.path)),
    "hls-after-a-line": (".m3u8", lambda b: b"\n" + _hls(b.path)),
    "concat-relative": (".ffconcat", lambda b: b"ffconcat version 1.0\nfile clip.ts\n"),
    "concat-file": (".ffconcat", lambda b: b"ffconcat version 1.0\nfile '" + b.path + b"'\n"),
    "concat-http": (".ffconcat", lambda b: b"ffconcat version 1.0\nfile '" + b.url + b"'\n"),
    "concat-unsafe": (".ffconcat", lambda b: b"ffconcat version 1.0\noption safe 0\nfile " + b.path + b"\n"),
    "dash-file": (".mpd", lambda b: _dash(b"file:" + b.path)),
    "dash-http": (".mpd", lambda b: _dash(b.url)),
    "sdp": (".sdp", _sdp),
    "sdp-second-line": (".sdp", lambda b: b"s=bait\r\n" + _sdp(b)),
    "rtsp": (".ram", lambda b: f"rtsp://127.0.0.1:{b.port}/clip\n".encode()),
    "rtsp-text": (".rtsp", lambda b: f"RTSPtextrtsp://127.0.0.1:{b.port}/clip\n".encode()),
    "asx": (".asx", lambda b: b'<asx version="3.0"><entry><ref href="' + b.url + b'"/></entry></asx>'),
    "asf-reference": (".asf", lambda b: b"[Reference]\r\nRef1=" + b.url + b"\r\n"),
    "pls": (".pls", lambda b: b"[playlist]\nFile1=" + b.path + b"\nNumberOfEntries=1\n"),
    "smil": (".smil", lambda b: b'<smil><body><video src="' + b.path + b'"/></body></smil>'),
    "imf": (".xml", lambda b: _IMF),
    "avisynth": (".avs", lambda b: b'AviSource("' + b.path + b'")\n'),
    "vapoursynth": (".vpy", lambda b: b"import vapoursynth\nopen('" + b.path + b"').read()\n"),
    "vobsub": (".idx", lambda b: _VOBSUB),
    "mov-alias": (".mov", lambda b: with_data_reference(b.mp4, b"alis", alias(b.path))),
}

# FFmpeg takes no notice of these references: the samples are looked for in the file itself.
IGNORED: dict[str, Callable[[Bait], bytes]] = {
    "mov-url-http": lambda b: with_data_reference(b.mp4, b"url ", b.url + b"\0"),
    "mov-url-file": lambda b: with_data_reference(b.mp4, b"url ", b"file://" + b.path + b"\0"),
    "mov-url-path": lambda b: with_data_reference(b.mp4, b"url ", b.path + b"\0"),
    "mov-urn": lambda b: with_data_reference(b.mp4, b"urn ", b"urn:x\0" + b.url + b"\0"),
}
