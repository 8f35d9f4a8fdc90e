"""Reading from other threads while frames are fed and models swapped: every figure is right or not there."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from acuity.errors import NoFramesError, NotReady
from acuity.measure import Measurement, Results
from moving_pictures import measuring
from steered import MODELS, model, pictures, unsteered

FRAMES = 40
ROUNDS = ("neg", "still", "wide average", "bag", "v0.6.1", "average")


class Reader(threading.Thread):
    """Takes results again and again, and keeps the first mistake."""

    def __init__(self, measurement: Measurement) -> None:
        super().__init__()
        self.measurement = measurement
        self.stop = threading.Event()
        self.taken: list[Results] = []
        self.error: BaseException | None = None

    def run(self) -> None:
        try:
            while True:
                last = self.stop.is_set()
                self.read()
                if last:
                    return
        except BaseException as error:
            self.error = error

    def read(self) -> None:
        try:
            self.taken.append(self.measurement.results())
            self.measurement.snapshot()
            self.measurement.score_at(self.measurement.frames // 2)
            self.measurement.feature_at(self.measurement.frames // 2, "integer_vif_scale0")
        except (NotReady, NoFramesError):
            pass


@pytest.mark.parametrize("threads", [1, 3])
def test_results_while_frames_are_fed(threads: int) -> None:
    with measuring(model("v0.6.1"), threads=threads) as measurement:
        readers = [Reader(measurement) for _ in range(2)]
        for reader in readers:
            reader.start()
        try:
            for index in range(FRAMES):
                if index and index % 5 == 0:
                    to = model(ROUNDS[index // 5 % len(ROUNDS)])
                    measurement.swap_model("vmaf", to, repredict=index % 2 == 0)
                measurement.add(*pictures(index))
            measurement.flush()
        finally:
            for reader in readers:
                reader.stop.set()
                reader.join()
        assert [reader.error for reader in readers] == [None, None]
        final = measurement.results()
    taken = [results for reader in readers for results in reader.taken]
    assert taken
    for results in (*taken, final):
        check_partial(results)
    assert len(final.frames) == FRAMES
    assert not np.isnan(final.columns["vmaf"]).any()


def check_partial(results: Results) -> None:
    """Figures that are there belong to the model that the same results name."""
    names = {model(name).label: name for name in MODELS}
    assert results.frames == list(range(len(results.frames)))
    for segment in results.segments:
        alone = unsteered(names[segment.label], FRAMES).columns["vmaf"]
        found = results.columns["vmaf"][segment.first : segment.last + 1]
        known = ~np.isnan(found)
        assert (found[known] == alone[segment.first : segment.last + 1][known]).all()


def test_partial_results_pool_what_is_there() -> None:
    with measuring(model("v0.6.1"), threads=1, frames=4) as measurement:
        assert measurement._scheduler is not None
        measurement._scheduler.drain()
        assert "vmaf" not in measurement.results().pooled()
        partial = measurement.results(partial=True)
        assert partial.pooled()["vmaf"]["mean"] == partial.pool("vmaf", first=0, last=2)
        assert not partial.steered
