"""A model as evaluations run it: fed from the columns of a table, in its sidecar's order and normalisation.

Scoring a video asks more of a model: that Acuity measures its features, and that one encoder made the video.
Here a table has the features, and may have another encoder in each row.
"""

from __future__ import annotations

import os
import re
from functools import cached_property
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from acuity.errors import EvaluationError, ModelError, Remedy
from acuity.text import quoted
from acuity.tiny.evaluate.choices import INPUT
from acuity.tiny.evaluate.ratings import CODEC, Batch, Ratings
from acuity.tiny.feature_input import USUAL, make_block
from acuity.tiny.files import check_registered_kind, find_tiny_model
from acuity.tiny.graph import Graph, Tensor
from acuity.tiny.load import codec_input, read_checked
from acuity.tiny.options import MAX_CRF, TinyOptions
from acuity.tiny.session import Session
from acuity.tiny.sidecar import Sidecar

_FLOATS: Final = ("float32", "float16", "float64")
_ROWS: Final = 4096  # that a model gets at once
_MOST_BLOCKS: Final = 100_000  # codec blocks that are kept

Output = npt.NDArray[Any]


class Regressor:
    """A model of rank-2 features, ready to predict the rows of a table."""

    def __init__(self, model: str | os.PathLike[str], input_name: str, ratings: Ratings) -> None:
        """Raises ModelError, EvaluationError or MissingExtra."""
        self.name = os.fspath(model)
        path = find_tiny_model(model)
        _, _, sidecar, graph = read_checked(path)
        self._sidecar = sidecar
        self._input, self._codec = _inputs(self.name, graph, sidecar, input_name)
        sidecar.check_use(pictures=False)
        check_registered_kind(path, "fr")
        self._output = _output(self.name, graph, sidecar)
        self.notes: tuple[str, ...] = ()
        if len(graph.outputs) > 1:
            self.notes = (
                f"'{self.name}' has {len(graph.outputs)} outputs, and '{self._output}' was evaluated",
            )
        self.columns = self._find_columns(ratings)
        self.number_columns, self.text_columns = self._find_codec_columns(ratings)
        self._blocks: dict[tuple[str, str | None, float], npt.NDArray[np.float32]] = {}
        self._session = Session(self.name, graph, TinyOptions(device="cpu"))

    def predict(self, batch: Batch) -> Output:
        """The model's output for these rows, in whatever shape it has; raises ModelError."""
        rows = np.stack([batch.columns[column] for column in self.columns], axis=1)
        with np.errstate(all="ignore"):  # what isn't finite is found in the predictions
            values = ((rows - self._mean) / self._std).astype(self._input.type)
        feeds = {self._input.name: values}
        if self._codec is not None:
            feeds[self._codec.name] = self._codec_blocks(batch).astype(self._codec.type)
        step = 1 if self._single else _ROWS
        found = [
            self._run({name: values[at : at + step] for name, values in feeds.items()})
            for at in range(0, len(rows), step)
        ]
        if found[0].ndim == 0 and self._single:
            return np.stack(found)
        if any(part.ndim == 0 for part in found):
            return found[0]
        return np.concatenate(found) if len({part.shape[1:] for part in found}) == 1 else found[0]

    def _run(self, feeds: dict[str, Output]) -> Output:
        output = self._session.run(feeds, [self._output])[0]
        if not isinstance(output, np.ndarray) or output.dtype.kind not in "fiu":
            raise ModelError(f"the output '{self._output}' of '{self.name}' holds no numbers")
        return output

    @property
    def _single(self) -> bool:
        """Whether it takes one row at a time."""
        tensors = [tensor for tensor in (self._input, self._codec) if tensor is not None]
        return any((tensor.shape or (None,))[0] == 1 for tensor in tensors)

    @cached_property
    def _mean(self) -> npt.NDArray[np.float64]:
        return np.array(self._sidecar.feature_mean or (0.0,) * len(self.columns))

    @cached_property
    def _std(self) -> npt.NDArray[np.float64]:
        return np.array(self._sidecar.feature_std or (1.0,) * len(self.columns))

    def _find_columns(self, ratings: Ratings) -> tuple[str, ...]:
        """The table's columns of the features, in the model's order."""
        wanted = (self._input.shape or (None, None))[1]
        names = self._sidecar.features
        if names:
            found = [(name, ratings.column(name)) for name in names]
            missing = [name for name, column in found if column is None]
            if missing:
                raise EvaluationError(
                    f"{ratings.name} has no column {', '.join(map(quoted, missing[:8]))}, which '{self.name}'"
                    " reads: add it to the table"
                )
        else:
            found = [(name, column) for name in USUAL if (column := ratings.column(name)) is not None]
            if not found:
                raise EvaluationError(
                    f"{ratings.name} has none of the expected feature columns {list(USUAL)!r}:"
                    " add them, or write a sidecar beside the model that names others"
                )
        columns = tuple(str(column) for _, column in found)
        if wanted is not None and wanted != len(columns):
            raise ModelError(
                f"the input '{self._input.name}' of '{self.name}' takes {wanted} features, and there are"
                f' {len(columns)}: {", ".join(columns)}; name them as "features" in a sidecar'
            )
        if self._sidecar.feature_mean and len(self._sidecar.feature_mean) != len(columns):
            raise ModelError(
                f"the sidecar of '{self.name}' has means of {len(self._sidecar.feature_mean)} features,"
                f" and there are {len(columns)}: {', '.join(columns)}"
            )
        for column in columns:
            ratings.check_numbers(column)
        return columns

    def _find_codec_columns(self, ratings: Ratings) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The columns of numbers and of texts that a codec-aware model reads besides."""
        if self._codec is None:
            return (), ()
        codec, preset, crf = CODEC
        missing = [name for name in (codec, crf) if not ratings.has(name)]
        if missing:
            raise EvaluationError(
                f"'{self.name}' reads how each video was encoded, and {ratings.name} has no column"
                f" {' and '.join(map(quoted, missing))}: add {codec}, {crf} and, if it is known, {preset}"
            )
        ratings.check_numbers(crf)
        if ratings.has(preset):
            return (crf,), (codec, preset)
        self.notes += (f"there is no column '{preset}', so every preset counts as unknown",)
        return (crf,), (codec,)

    def _codec_blocks(self, batch: Batch) -> npt.NDArray[np.float32]:
        codec, preset, crf = CODEC
        presets: list[str | None] = [*batch.texts[preset]] if preset in batch.texts else [None] * len(batch)
        found = zip(batch.texts[codec], presets, batch.columns[crf], batch.rows, strict=True)
        return np.stack([self._block(*how) for how in found])

    def _block(self, codec: str, preset: str | None, crf: float, row: int) -> npt.NDArray[np.float32]:
        known = self._blocks.get((codec, preset, crf))
        if known is not None:
            return known
        what = f"codec {quoted(codec)}, preset {quoted(preset)} and crf {crf:g} in row {row}, counted from 0"
        if not (crf.is_integer() and 0 <= crf <= MAX_CRF):
            raise ModelError(
                f"'{self.name}' can't read {what}: crf has to be a whole number from 0 to {MAX_CRF}"
            )
        assert self._codec is not None
        size = (self._codec.shape or (None, None))[1] or self._sidecar.codec_block_size
        options = TinyOptions(codec=codec, preset=preset, crf=int(crf))
        try:
            block = make_block(self.name, size or 0, self._sidecar.vocabulary, options)
        except ModelError as error:
            raise ModelError(f"'{self.name}' can't read {what}: {_of_columns(error)}") from None
        if len(self._blocks) < _MOST_BLOCKS:
            self._blocks[codec, preset, crf] = block.values
        return block.values


def _of_columns(error: ModelError) -> str:
    """The sentence of an error about options, for columns of a table, which stand in their place."""
    pieces = [
        f"give the column '{piece.names[0]}'" if isinstance(piece, Remedy) else piece for piece in error.args
    ]
    return re.sub(r"\btiny_(codec|preset|crf)\b", r"\1", "".join(map(str, pieces)))


def _inputs(name: str, graph: Graph, sidecar: Sidecar, wanted: str) -> tuple[Tensor, Tensor | None]:
    """The input of features, and that of the codec if there is one; raises ModelError."""
    known = {tensor.name: tensor for tensor in graph.inputs}
    for tensor in known.values():
        rank = None if tensor.shape is None else len(tensor.shape)
        if rank == 4:
            raise ModelError(
                f"'{name}' reads pictures (rank 4), and the table has features: 'acuity evaluate' scores"
                " tables that name videos, with the columns reference and distorted"
            )
        if rank != 2 or tensor.type not in _FLOATS:
            raise ModelError(
                f"the input '{tensor.name}' of '{name}' has rank {rank} and type {tensor.type}:"
                " it must take float32 of rank 2, rows x features"
            )
        if (tensor.shape or (None,))[0] not in (None, 1):
            raise ModelError(
                f"the input '{tensor.name}' of '{name}' takes {(tensor.shape or (0,))[0]} rows at once:"
                " it must take 1, or leave that open"
            )
    listed = ", ".join(map(quoted, known)) or "none"
    if wanted != INPUT and wanted not in known:
        raise ModelError(f"'{name}' has no input {quoted(wanted)}: its inputs are {listed}")
    ordered = [known[each] for each in dict.fromkeys((*sidecar.inputs, *known)) if each in known]
    codec = codec_input(ordered, sidecar, wanted)
    if len(known) != (1 if codec is None else 2):
        raise ModelError(
            f"'{name}' has the inputs {listed}: it must have one of features, and at most one more,"
            " 'codec' or 'codec_block'"
        )
    return known.get(wanted) or next(tensor for tensor in ordered if tensor is not codec), codec


def _output(name: str, graph: Graph, sidecar: Sidecar) -> str:
    """The output that is evaluated: the sidecar's first, or the graph's."""
    known = [tensor.name for tensor in graph.outputs]
    chosen = (*sidecar.outputs, *known)
    if not known or chosen[0] not in known:
        raise ModelError(f"'{name}' has no output {quoted(chosen[0]) if chosen else ''}".rstrip())
    return chosen[0]
