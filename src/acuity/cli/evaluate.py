"""Evaluate models: how well they predict the ratings in a table, a parquet or CSV file.

    acuity evaluate model.onnx --features rated.parquet
    acuity evaluate new.onnx vmaf_v0.6.1 --features rated.parquet --split val
    acuity evaluate acuity_nr_v1 vmaf_v0.6.1 --features videos.csv --split all --json

The table has a column 'mos' (the rating), the features that the model reads (adm2, vif_scale0 …), and 'key',
the clip of a row. With columns 'reference' and 'distorted', files relative to the table, models score these
videos instead. The key decides which rows are in the split, and rows of one key are averaged to a clip.
Several models are ranked, and the ranking says which differences the clips can't tell from chance."""

from __future__ import annotations

import argparse
import json
import sys
from typing import TYPE_CHECKING, Any, Final

from acuity.cli.bench import progress_line
from acuity.cli.exits import FAILED, OK
from acuity.cli.terminal.style import Style
from acuity.errors import EvaluationError
from acuity.report.tables import Table
from acuity.scoring.fronts import sentence
from acuity.text import one_line
from acuity.tiny.evaluate.choices import ALL, INPUT, POOLINGS, SPLITS, TOO_FEW, require_extra

if TYPE_CHECKING:
    from acuity.tiny.evaluate.bootstrap import Interval
    from acuity.tiny.evaluate.evaluation import Evaluation, ModelRanking, RankedModel

USAGE: Final = "MODEL... --features FILE [options]"
ONE: Final = "acuity.evaluation/1"
SEVERAL: Final = "acuity.comparison/1"
_TITLES: Final = {"plcc": "PLCC", "srocc": "SROCC", "krocc": "KROCC", "rmse": "RMSE"}


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "models", nargs="+", metavar="MODEL", help="an .onnx file, or the name of a model, as vmaf_v0.6.1"
    )
    parser.add_argument("--features", metavar="FILE", required=True, help="the table: parquet or CSV")
    parser.add_argument("--split", choices=SPLITS, default="test", help="which clips (default: test)")
    parser.add_argument(
        "--pooling",
        choices=POOLINGS,
        default="auto",
        help="what a sample is: a clip, a row (none), or a clip where keys repeat (auto, the default)",
    )
    parser.add_argument(
        "--input-name", metavar="NAME", default=INPUT, help=f"the graph's input (default: {INPUT})"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON document")


def run(arguments: argparse.Namespace) -> int:
    try:
        return _evaluate(arguments)
    except EvaluationError as error:
        if arguments.split == ALL or not str(error).endswith(TOO_FEW):
            raise
        # The sentence is that of the reference tool, which has no remedy.
        raise EvaluationError(*error.args, f"; pass --split {ALL} to use every clip") from None


def _evaluate(arguments: argparse.Namespace) -> int:
    from acuity.scoring.video_score import score_video
    from acuity.tiny.evaluate.evaluation import compare, evaluate

    require_extra("acuity evaluate")
    table: dict[str, Any] = {
        "features": arguments.features,
        "split": arguments.split,
        "input_name": arguments.input_name,
        "pooling": arguments.pooling,
        "score": score_video,
    }
    with progress_line() as tell:
        table["progress"] = lambda done, total: tell(f"{done:,} of {total:,} rows")
        if len(arguments.models) == 1:
            found = evaluate(arguments.models[0], **table)
        else:
            comparison = compare(arguments.models, **table)
    if len(arguments.models) == 1:
        _print({"schema": ONE, **found.to_document()} if arguments.json else _one(found))
        return OK
    _print({"schema": SEVERAL, **comparison.to_document()} if arguments.json else _several(comparison))
    for _, error in comparison.errors:
        print(f"acuity: {one_line(sentence(error, 'acuity'))}", file=sys.stderr)
    return FAILED if comparison.errors else OK


def _print(what: dict[str, Any] | list[str]) -> None:
    print(json.dumps(what, indent=2, allow_nan=False) if isinstance(what, dict) else "\n".join(what))


def _one(found: Evaluation) -> list[str]:
    style = Style(sys.stdout)
    rows = [
        [title, _figure(getattr(found.figures, name)), _interval(found.intervals[name])]
        for name, title in _TITLES.items()
    ]
    lines = [style("bold", f"{found.model} on {_samples(found)}")]
    lines += Table(["", "", "95 % interval"], rows, [False, True, False]).text()
    if found.per_row is not None:
        each = ", ".join(
            f"{title} {_figure(getattr(found.per_row, name))}" for name, title in _TITLES.items()
        )
        lines += style.paragraph("dim", f"by row instead of clip: {each}")
    if found.mapped is not None:
        how = f"mapped onto the ratings by a {found.mapped.function}"
        mapped, ratio = found.mapped, found.mapped.outlier_ratio
        outliers = "" if ratio is None else f", outlier ratio {ratio:.4f}"
        text = f"{how}: PLCC {_figure(mapped.plcc)}, RMSE {mapped.rmse:.4f}{outliers}"
        lines += style.paragraph("dim", text)
    if found.columns:
        lines += style.paragraph("dim", f"columns: {', '.join(found.columns)}")
    return lines + [line for note in found.notes for line in style.paragraph("yellow", note)]


def _several(found: ModelRanking) -> list[str]:
    style = Style(sys.stdout)
    if not found.ranked:
        return ["no model could be evaluated"]
    rows = [
        [
            str(place),
            entry.evaluation.model,
            *(_figure(getattr(entry.evaluation.figures, name)) for name in _TITLES),
            _interval(entry.evaluation.intervals["plcc"]),
            "" if (mapped := entry.evaluation.mapped) is None else _figure(mapped.plcc),
            "" if mapped is None else _figure(mapped.rmse),
            _verdict(entry),
        ]
        for place, entry in enumerate(found.ranked, 1)
    ]
    spare = ["mapped PLCC", "mapped RMSE"]
    titles = ["", "model", *_TITLES.values(), "95 % of PLCC", *spare, "than the next"]
    table = Table(titles, rows, [True, False, *[True] * len(_TITLES), False, True, True, False], spare)
    lines = [style("bold", _samples(found.ranked[0].evaluation))]
    lines += table.text(width=style.columns if style.terminal else None)
    own = [note for entry in found.ranked for note in entry.evaluation.notes]
    return lines + [
        line for note in dict.fromkeys([*found.notes, *own]) for line in style.paragraph("yellow", note)
    ]


def _samples(found: Evaluation) -> str:
    what = f"{found.figures.n:,} clips" if found.pooling == "per_clip" else f"{found.figures.n:,} rows"
    rows = f" ({found.rows:,} rows)" if found.pooling == "per_clip" else ""
    return f"{what}{rows} of {found.features}, split {found.split}"


def _verdict(entry: RankedModel) -> str:
    if entry.to_next is None:
        return ""
    word = "better" if entry.better_than_next else "not distinguishable"
    return f"{word} (p = {entry.to_next.p_value:.2g})"


def _figure(value: float | None) -> str:
    return "none" if value is None else f"{value:.4f}"


def _interval(bounds: Interval | None) -> str:
    return "none" if bounds is None else f"{bounds[0]:.4f} to {bounds[1]:.4f}"
