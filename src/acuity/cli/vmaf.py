"""The `vmaf` command: libvmaf's options, reports and exit codes."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from acuity.cli.exits import guarded
from acuity.cli.getopt import UsageError
from acuity.cli.vmaf_options import Settings, parse

if TYPE_CHECKING:
    from acuity.cli.scoring import Outcome, Request
    from acuity.video.pairing import Pairing


def main(argv: Sequence[str] | None = None) -> int:
    """The `vmaf` command."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    return guarded("vmaf", lambda: _run(arguments))


def _run(argv: list[str]) -> int:
    settings = parse(argv)
    return _ACTIONS[settings.action](settings)


def _version(_: Settings) -> int:
    from acuity import __version__

    print(f"vmaf (acuity) {__version__}")
    return 0


def _help(_: Settings) -> int:
    from acuity.cli.vmaf_help import help_page

    print(help_page(), end="")
    return 0


def _list_backends(_: Settings) -> int:
    from acuity.cli.backends import as_json

    print(as_json())
    return 0


def _score(settings: Settings) -> int:
    from acuity.cli.presets import check_preset
    from acuity.cli.progress import Meter, Quiet
    from acuity.cli.scoring import check_target, run_request
    from acuity.report import write_report

    for family, version, preset in settings.presets:
        check_preset(family, version, preset)
    _check_names(settings.models)
    request = _request(settings)
    if settings.output is not None:
        check_target(settings.output, (settings.reference, settings.distorted))
    meter = sys.stderr.isatty() and not settings.quiet
    outcome = run_request(request, Meter(sys.stderr) if meter else Quiet())
    if not settings.quiet:
        _say_notes(outcome.pairing)
    if not (settings.quiet and settings.output is not None):
        for line in score_lines(outcome):
            print(line, file=sys.stderr)
    if settings.output is not None:
        from acuity import __version__

        write_report(
            outcome.results, settings.output, settings.format, settings.precision, version=__version__
        )
    return 0


_ACTIONS = {"score": _score, "version": _version, "help": _help, "list_backends": _list_backends}


def _request(settings: Settings) -> Request:
    from acuity.cli.backends import start_backend, usable_instruction_sets
    from acuity.cli.cpumask import allowed
    from acuity.cli.inputs import RawGeometry
    from acuity.cli.scoring import Request
    from acuity.video.pair_options import PairOptions

    start_backend(settings.backend, settings.excluded)
    chosen = dict(settings.pairing)
    if any(preset.common_bitdepth for _, _, preset in settings.presets):
        chosen.setdefault("convert", "force")
    return Request(
        settings.reference,
        settings.distorted,
        models=settings.models,
        features=settings.features,
        predict=not settings.no_prediction,
        geometry=RawGeometry(settings.width, settings.height, settings.pixel_format, settings.bitdepth),
        pairing=PairOptions(
            **chosen,  # type: ignore[arg-type]  # PairOptions checks the words
            frame_skip_ref=settings.frame_skip_ref,
            frame_skip_dis=settings.frame_skip_dist,
            frame_count=settings.frame_cnt or 0,
        ),
        threads=settings.threads,
        subsample=settings.subsample,
        instruction_set=allowed(usable_instruction_sets(), settings.cpumask) if settings.cpumask else None,
    )


def _check_names(models: Sequence[str]) -> None:
    """Two models of one name would be one column."""
    from acuity.models import parse_spec

    names = [parse_spec(model).name for model in models]
    for name in names:
        if names.count(name) > 1:
            raise UsageError(f"two models are named '{name}': tell them apart with :name=LABEL in --model")


def _say_notes(pairing: Pairing) -> None:
    for note in pairing.notes:
        word = "note" if note.level == "info" else note.level
        print(f"vmaf: {word}: {note.text}", file=sys.stderr)


def score_lines(outcome: Outcome) -> list[str]:
    """`vmaf_v0.6.1: 76.667831` for each model, then a line with the interval for each collection."""
    from acuity.models import ModelCollection

    results = outcome.results
    lines = [f"{model.label}: {results.pool(model.name):.6f}" for model in outcome.models]
    for model in outcome.models:
        if isinstance(model, ModelCollection):
            bagging, deviation, low, high = (
                results.pool(f"{model.name}_{part}")
                for part in ("bagging", "stddev", "ci_p95_lo", "ci_p95_hi")
            )
            interval = f"ci.p95: [{low:.6f}, {high:.6f}], stddev: {deviation:.6f}"
            lines.append(f"{model.label}: {bagging:.6f}, {interval}")
    return lines


if __name__ == "__main__":
    sys.exit(main())
