"""acuity.score(), which scores two videos and returns a report."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from dataclasses import asdict
from fractions import Fraction
from typing import TYPE_CHECKING, TypeAlias

from acuity.errors import EmbeddedError
from acuity.measure.feed import ProgressCallback
from acuity.models.choose import AUTO
from acuity.scoring.report import AnyModel, ScoreReport
from acuity.scoring.request import Request
from acuity.scoring.run import run_request
from acuity.video.pairs.open_pair import Video

if TYPE_CHECKING:
    from acuity.mcp.embedded import EmbeddedServer
    from acuity.measure import Measurement
    from acuity.video.pairs.pair_options import PairOptions

# An address where agents may connect, or a function that gets the server and starts it.
Serve: TypeAlias = "str | Callable[[EmbeddedServer], object]"


def score(
    ref: Video,
    dis: Video,
    *,
    model: str | AnyModel | Sequence[str | AnyModel] = AUTO,
    viewing: str | None = None,
    metrics: str | Iterable[str] = (),
    features: Iterable[str] = (),
    threads: int | None = None,
    subsample: int = 1,
    progress: ProgressCallback | None = None,
    width: int | None = None,
    height: int | None = None,
    pixel_format: str | None = None,
    bitdepth: int | None = None,
    rate: Fraction | None = None,
    guess: bool = True,
    allow_damaged: bool = False,
    stream: int | None = None,
    stream_ref: int | None = None,
    stream_dis: int | None = None,
    allow_network: bool = False,
    align: str | None = None,
    display: str | None = None,
    filter: str | None = None,
    crop: str | None = None,
    deinterlace: str | None = None,
    pairing: PairOptions | None = None,
    instruction_set: str | None = None,
    backend: str = "auto",
    serve: Serve | None = None,
) -> ScoreReport:
    """Score a distorted video against its reference.

        report = acuity.score("original.mp4", "encoded.mp4")
        print(report.score, report.pool(method="p5"), report.worst(3))

    `ref` and `dis` are paths, or readers from open_video(), which are closed at the end.
    `model` is a name, a spec such as 'version=vmaf_v0.6.1:name=first', a loaded model, several of those, or
    'auto', which goes by the reference's size, or by `viewing`: 'tv', 'phone' or '4k-tv' choose a model of
    VMAF v1 for that, and for the frame rate. `metrics` are names such as 'vmaf', 'psnr', 'ssim' or 'cambi',
    whose figures are summed up in the report's document; without 'vmaf' among them, no model is chosen.
    `features` are further extractors, as in 'vif=debug=true'.
    `progress` is called with the pairs done, how many there are in all (None: not known), and the mean score
    so far (None: no score yet).

    Raw files need `width`, `height`, `pixel_format` and `bitdepth`; unless `guess` is False, their name and
    length may give what is missing, where only one reading is possible. `rate` is their frame rate, and that
    of images, which a pattern ('shot.%04d.png', 'shots/*.png') or their folder names. `allow_damaged` scores
    damaged frames as the decoder makes them, with a warning, instead of refusing. `stream` is the video
    stream, counted from 0, of files that have several; `stream_ref` and `stream_dis` are for one of them.
    `allow_network` reads addresses of http and https.

    `display` scales both videos to fill a '1080p' or '2160p' display, with the `filter` bicubic or lanczos;
    'auto' takes the display that the model is made for, 'native' the reference's size. Unless it is given,
    `viewing` takes its model's display, and other models the reference's size. `crop` is the part of both
    pictures that is compared, as 'WIDTH:HEIGHT:LEFT:TOP', or 'auto': without black bars. `deinterlace` is
    'bwdif' or 'yadif', for interlaced video. `align` says what to do about frames that are not the same in
    both: 'refuse' (the default), 'auto', which leaves out what one of them lacks, 'warn' or 'off'. `pairing`
    has these and more options for videos that differ. `backend` is the device to compute on.

    `serve` lets agents watch and steer until this returns: 'sse:8723', 'http:8723' or 'uds:/path/of/socket',
    or a function that is given an EmbeddedServer before the first frame and starts it where it likes, as in
    serve=lambda server: print(server.start_sse().url).

    Raises AcuityError.
    """
    several = [model] if isinstance(model, str) or not isinstance(model, Sequence) else list(model)
    words = {"display": display, "filter": filter, "crop": crop, "deinterlace": deinterlace, "align": align}
    request = Request(
        ref,
        dis,
        models=several,
        viewing=viewing,
        features=list(features),
        metrics=[metrics] if isinstance(metrics, str) else list(metrics),
        width=width,
        height=height,
        pixel_format=pixel_format,
        bitdepth=bitdepth,
        fps=rate,
        guess=guess,
        allow_damaged=allow_damaged,
        stream=stream,
        stream_ref=stream_ref,
        stream_dis=stream_dis,
        allow_network=allow_network,
        **({} if pairing is None else asdict(pairing)) | {name: word for name, word in words.items() if word},
        threads=threads,
        subsample=subsample,
        instruction_set=instruction_set,
        backend=backend,
    )
    if serve is None:
        return run_request(request, progress=progress)
    start = serving(serve)  # a typing error should cost nothing
    with ExitStack() as stack:

        def attach(measurement: Measurement, total: int | None) -> None:
            from acuity.mcp.embedded import EmbeddedServer

            start(stack.enter_context(EmbeddedServer(measurement, total=total)))

        return run_request(request, progress=progress, attach=attach)


def serving(serve: Serve) -> Callable[[EmbeddedServer], object]:
    """The function that starts a server as `serve` says; raises EmbeddedError."""
    if callable(serve):
        return serve
    transport, _, place = serve.partition(":")
    if transport == "uds" and place:
        return lambda server: server.start_uds(place)
    if transport in ("sse", "http") and place.isascii() and place.isdigit():
        port = int(place)
        return lambda server: server.start_sse(port) if transport == "sse" else server.start_http(port)
    raise EmbeddedError(
        f"serve={serve!r} is no place to serve: write 'sse:8723', 'http:8723' or 'uds:/path/of/socket', "
        "or pass a function that starts the server"
    )
