"""acuity.score() and score_async(), which score two videos and return a report."""

from __future__ import annotations

import asyncio
import functools
import os
import sys
from collections.abc import Callable, Coroutine, Sequence
from contextlib import ExitStack
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Final, ParamSpec, TypeAlias, Unpack

from acuity.errors import EmbeddedError, InputError, StrictError
from acuity.measure.feed import ProgressCallback
from acuity.scoring.python_request import ScoreOptions, python_request
from acuity.scoring.report import ScoreReport
from acuity.scoring.run import run_request
from acuity.text import shortened
from acuity.video.pairs.open_pair import Video

if TYPE_CHECKING:
    from acuity.agents.embedded import EmbeddedServer
    from acuity.measure import Measurement
    from acuity.scoring.watched import WatchedRun

# An address where agents may connect, or a function that gets the server and starts it.
OneServe: TypeAlias = "str | Callable[[EmbeddedServer], object]"
Serve: TypeAlias = "OneServe | Sequence[OneServe]"

_P = ParamSpec("_P")


class _Cancellable:
    """Gets the measurement of a call, so that another thread can stop it."""

    def __init__(self) -> None:
        self.cancelled = False
        self._measurements: list[Measurement] = []

    def __call__(self, measurement: Measurement) -> None:
        self._measurements.append(measurement)
        if self.cancelled:
            measurement.stop()

    def cancel(self) -> None:
        self.cancelled = True
        for measurement in self._measurements:
            measurement.stop()


# The measurement of the call in this context.
_WATCH: Final[ContextVar[_Cancellable | None]] = ContextVar("watch", default=None)


def score(
    ref: Video | None,
    dis: Video,
    *,
    strict: bool = False,
    progress: ProgressCallback | None = None,
    serve: Serve | None = None,
    **options: Unpack[ScoreOptions],
) -> ScoreReport:
    """Score a distorted video against its reference.

        report = acuity.score("original.mp4", "encoded.mp4")
        print(report.score, report.pool(method="p5"), report.worst(3))

    `ref` and `dis` are paths, patterns of images ('shot.%04d.png', 'shots/*.png') or their folder, or
    readers from open_video(), which are closed at the end. The options are those of `acuity score`, by
    the same names.

    What to measure: `model` is a name, a spec such as 'version=vmaf_v0.6.1:name=first', a loaded model,
    several of those, or 'auto', which goes by the reference's size, or by `viewing`: 'tv', 'phone' or
    '4k-tv' choose a model of VMAF v1 for that, and for the frame rate. `metrics` are names such as
    'vmaf', 'psnr', 'ssim' or 'cambi'; without 'vmaf' among them, no model is chosen. `feature` is a
    further extractor, as in 'vif=debug=true', or several.

    Tiny models: `tiny_model` scores beside them with an ONNX model, a name from 'acuity models' or a file
    (needs acuity-vmaf[tiny]). `tiny_device` is what runs it, on `tiny_threads`; `tiny_fp16` refuses it
    unless it takes half precision, `tiny_model_verify` unless it is signed. `tiny_codec`,
    `tiny_preset` and `tiny_crf` say how the distorted video was encoded, for models that ask for it.
    `tiny_resize` scales pictures to the size that it takes. `no_reference` scores `dis` alone, by a tiny
    model made for that: pass None as `ref`.

    Which frames: `frames` stops after so many. `skip` leaves out the first frames of both videos,
    `skip_ref` and `skip_dis` those of one. `subsample` scores every Nth frame. `allow_damaged` scores
    damaged frames as the decoder makes them, with a warning, instead of refusing. `stream` is the video
    stream, counted from 0, of files that have several; `stream_ref` and `stream_dis` are for one of them.
    `allow_network` reads addresses of http and https. `resume` is the partial JSON report of an
    interrupted `acuity score` of these files with these options: only the frames that it lacks are
    computed.

    Which pictures: `display` scales both videos to fill a '1080p' or '2160p' display, with the `filter`
    bicubic or lanczos; 'auto' takes the display that the model is made for, 'native' the reference's
    size. Unless it is given, `viewing` takes its model's display, and other models the reference's size.
    `crop` is the part of both pictures that is compared, as 'WIDTH:HEIGHT:LEFT:TOP', or 'auto': without
    black bars. `deinterlace` is 'bwdif' or 'yadif', for interlaced video, or 'off' if it is meant as it is.

    Where the two videos differ: `scale`, `convert`, `colour`, `rate`, `vfr`, `hdr` and `align` are words
    that PairOptions explains; an error names the one that settles it.

    Raw video: files need `width`, `height`, `pixel_format` and `bitdepth`; unless `guess` is False, their
    name and length may give what is missing, where only one reading is possible. `fps` is their frame
    rate, and that of images: 25, 29.97 or '30000/1001'.

    `strict` raises StrictError, which has the report, if there is a warning. `progress` is called with
    the pairs done, how many there are in all (None: not known), and the mean score so far (None: no score
    yet). `backend` is what computes ('auto', 'cpu' or 'cuda'), `device` the number of a graphics card,
    `decoder` what decodes ('auto', 'cpu' or 'nvdec', the card's own), `cpu` the instruction set, `threads`
    how many work; no figure depends on them. `serve` lets agents watch and steer until this returns:
    'sse:8723', 'http:8723' or 'uds:/path/of/socket', or a function that is given an EmbeddedServer before
    the first frame and starts it where it likes, as in
    serve=lambda server: print(server.start_sse().url). A list has several of these, in the order in which
    they are started; a function behind the addresses finds them in server.started. An address with port 0
    takes any free port, which is printed to stderr if there is no function.

    Raises AcuityError.
    """
    for name, video in (("ref", ref), ("dis", dis)):
        if name == "ref" and video is None and options.get("no_reference"):
            continue
        if not isinstance(video, str | os.PathLike) and not hasattr(video, "info"):
            given = shortened(" ".join(repr(video).split()))
            raise InputError(
                f"{name}={given} is no video: pass a path, or a reader from open_video(); frames in arrays "
                "are for acuity.Measurement"
            )
    request = python_request(ref, dis, **options)
    start = None if serve is None else serving(serve)  # a typing error should cost nothing
    watch = _WATCH.get()
    with ExitStack() as stack:

        def attach(measurement: Measurement, watched: WatchedRun) -> None:
            from acuity.agents.embedded import EmbeddedServer

            assert start is not None
            server = stack.enter_context(EmbeddedServer(measurement, watched=watched))
            if watch is not None:
                stack.callback(lambda: server.close(linger=0.0) if watch.cancelled else None)
            start(server)

        report = run_request(
            request, progress=progress, attach=None if start is None else attach, watch=watch
        )
    if strict and report.warnings:
        raise StrictError(report)
    return report


def _in_thread(call: Callable[_P, ScoreReport]) -> Callable[_P, Coroutine[Any, Any, ScoreReport]]:
    @functools.wraps(call)
    async def run(*args: _P.args, **options: _P.kwargs) -> ScoreReport:
        watch = _Cancellable()
        token = _WATCH.set(watch)
        try:
            work = asyncio.ensure_future(asyncio.to_thread(call, *args, **options))
        finally:
            _WATCH.reset(token)
        try:
            return await asyncio.shield(work)
        except asyncio.CancelledError:
            watch.cancel()
            await asyncio.wait([work])  # until the files are closed
            work.exception()
            raise

    run.__doc__ = (
        "Score as score() does, in a thread of its own, while the event loop goes on.\n\n"
        "Takes the options of score(). `progress` is called in that thread. Cancelling the task stops the\n"
        "measurement at the next frame."
    )
    return run


score_async = _in_thread(score)
score_async.__name__ = score_async.__qualname__ = "score_async"


def serving(serve: Serve) -> Callable[[EmbeddedServer], object]:
    """The function that starts a server as `serve` says; raises EmbeddedError."""
    several = list(serve) if isinstance(serve, Sequence) and not isinstance(serve, str | bytes) else [serve]
    starters = [_starter(one) for one in several]
    silent = not any(callable(one) for one in several)  # nobody else can tell which port was free

    def start(server: EmbeddedServer) -> None:
        for starter in starters:
            starter(server)
        for transport, place in server.started.items():
            if silent and f"{transport}:0" in several:
                print(f"acuity: agents may connect to {place}", file=sys.stderr, flush=True)

    return start


def _starter(serve: OneServe) -> Callable[[EmbeddedServer], object]:
    if callable(serve):
        return serve
    transport, _, place = serve.partition(":") if isinstance(serve, str) else ("", "", "")
    if transport == "uds" and place:
        return lambda server: server.start_uds(place)
    if transport in ("sse", "http") and place.isascii() and place.isdigit():
        port = int(place)
        return lambda server: server.start_sse(port) if transport == "sse" else server.start_http(port)
    raise EmbeddedError(
        f"serve={serve!r} is no place to serve: write 'sse:8723', 'http:8723' or 'uds:/path/of/socket', "
        "or pass a function that starts the server, or a list of these"
    )
