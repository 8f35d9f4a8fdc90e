"""A model as evaluations run it: fed from the columns of a table, in its sidecar's order and normalisation.

Scoring a video asks more of a model: that Acuity measures its features, and that one encoder made the video.
Here a table has the features, and may have another encoder in each row.
"""

from __future__ import annotations

import os
import re
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from acuity.errors import EvaluationError, ModelError, Remedy
from acuity.text import quoted
from acuity.tiny.evaluate.choices import INPUT
from acuity.tiny.evaluate.ratings import CODEC, RatedRows, Ratings
from acuity.tiny.feature_input import USUAL, make_block, make_feature_input
from acuity.tiny.files import check_registered_kind, find_tiny_model
from acuity.tiny.graph import Graph
from acuity.tiny.load import read_checked, read_inputs, split_codec
from acuity.tiny.options import MAX_CRF, TinyOptions
from acuity.tiny.session import Session
from acuity.tiny.sidecar import Sidecar

_ROWS: Final = 4096  # that a model gets at once
_MOST_BLOCKS: Final = 100_000  # codec blocks that are kept
_PICTURES: Final = 4  # rank

Output = npt.NDArray[Any]


class Regressor:
    """A model of rank-2 features, ready to predict the rows of a table."""

    def __init__(self, model: str | os.PathLike[str], input_name: str, ratings: Ratings) -> None:
        """Raises ModelError, EvaluationError or MissingExtra."""
        self.name = os.fspath(model)
        path = find_tiny_model(model)
        _, _, self._sidecar, graph = read_checked(path)
        tensors = read_inputs(self.name, graph, self._sidecar)
        if tensors[0].rank == _PICTURES:
            raise ModelError(
                f"'{self.name}' reads pictures (rank 4), and the table has features: 'acuity evaluate' scores"
                " tables that name videos, with the columns reference and distorted"
            )
        if input_name != INPUT and all(tensor.name != input_name for tensor in tensors):
            listed = ", ".join(quoted(tensor.name) for tensor in tensors)
            raise ModelError(f"'{self.name}' has no input {quoted(input_name)}: its inputs are {listed}")
        features, self._codec = split_codec(self.name, tensors, self._sidecar, input_name)
        check_registered_kind(path, "fr")
        self._output = _output(self.name, graph, self._sidecar)
        self.notes: tuple[str, ...] = ()
        if (count := len(graph.outputs)) > 1:
            self.notes = (f"'{self.name}' has {count} outputs, and '{self._output}' was evaluated",)
        self.columns = self._find_columns(ratings)
        self._input = make_feature_input(
            self.name, features, self._sidecar, self._codec, columns=self.columns
        )
        for column in self.columns:
            ratings.check_numbers(column)
        self.number_columns, self.text_columns = self._find_codec_columns(ratings)
        self._blocks: dict[tuple[str, str | None, float], npt.NDArray[np.float32]] = {}
        self._session = Session(self.name, graph, TinyOptions(device="cpu"))

    def predict(self, batch: RatedRows) -> Output:
        """The model's output for these rows, in whatever shape it has; raises ModelError."""
        rows = np.stack([batch.columns[column] for column in self.columns], axis=1)
        feeds = self._input.feeds(rows, None if self._codec is None else self._codec_blocks(batch))
        step = 1 if self._input.single else _ROWS
        found = [
            self._run({name: values[at : at + step] for name, values in feeds.items()})
            for at in range(0, len(rows), step)
        ]
        if found[0].ndim == 0 and self._input.single:
            return np.stack(found)
        alike = all(part.ndim for part in found) and len({part.shape[1:] for part in found}) == 1
        return np.concatenate(found) if alike else found[0]

    def _run(self, feeds: dict[str, Output]) -> Output:
        output = self._session.run(feeds, [self._output])[0]
        if not isinstance(output, np.ndarray) or output.dtype.kind not in "fiu":
            raise ModelError(f"the output '{self._output}' of '{self.name}' holds no numbers")
        return output

    def _find_columns(self, ratings: Ratings) -> tuple[str, ...]:
        """The table's columns of the features, in the model's order."""
        if self._sidecar.features:
            return ratings.columns(self._sidecar.features, self.name)
        found = tuple(column for name in USUAL if (column := ratings.column(name)) is not None)
        if not found:
            raise EvaluationError(
                f"{ratings.name} has none of the expected feature columns {list(USUAL)!r}:"
                " add them, or write a sidecar beside the model that names others"
            )
        return found

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

    def _codec_blocks(self, batch: RatedRows) -> npt.NDArray[np.float32]:
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
        assert self._codec.shape is not None
        options = TinyOptions(codec=codec, preset=preset, crf=int(crf))
        try:
            block = make_block(self.name, self._codec.shape[1], self._sidecar.vocabulary, options)
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


def _output(name: str, graph: Graph, sidecar: Sidecar) -> str:
    """The output that is evaluated: the sidecar's first, or the graph's."""
    known = [tensor.name for tensor in graph.outputs]
    chosen = (*sidecar.outputs, *known)
    if not known or chosen[0] not in known:
        raise ModelError(f"'{name}' has no output {quoted(chosen[0]) if chosen else ''}".rstrip())
    return chosen[0]
