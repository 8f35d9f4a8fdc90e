"""Steering: another model in the middle of a clip, and no figure that it would not give from the start.

A model holds from the first frame whose features are all exact. Where it needs extractors that were not
running they start with the next frame; those that look at neighbours may need a frame or two until what they
say doesn't depend on when they started, and the model before holds until then. Extractors run on for as long
as frames that were fed wait for them, and stop when nobody needs them.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable, Iterable
from dataclasses import fields, is_dataclass, replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from acuity.errors import FeatureError, NameClashError
from acuity.features import RESERVED_NAMES
from acuity.features.extractor import Extractor, Geometry
from acuity.measure.agenda import Agenda
from acuity.measure.collector import Collector
from acuity.measure.epochs import Epochs
from acuity.measure.prediction import Prediction

if TYPE_CHECKING:
    from acuity.models import Model, ModelCollection

# Models that were swapped in lately; one of them that comes back isn't loaded again.
_REMEMBERED: Final = 8


class Swap(NamedTuple):
    """What a change of model comes to."""

    first: int  # the frame from which the new model holds
    waits_for: list[str]  # its features that aren't exact before; empty if it holds from the next frame on
    starts: list[str]  # its features that were not measured and are from the next frame on, or from `first`


class Candidates:
    """Models as predictions under the name they are reported as."""

    def __init__(self, collector: Collector) -> None:
        self._collector = collector
        self._made: OrderedDict[tuple[str, Hashable], Prediction] = OrderedDict()

    def get(self, model: Model | ModelCollection | str, name: str | None = None) -> Prediction:
        """The prediction by this model, under a name of its own choice unless one is given."""
        if name is not None and (name, model) in self._made:
            self._made.move_to_end((name, model))
            return self._made[name, model]
        loaded = model
        if isinstance(loaded, str):
            from acuity.models import load_model

            loaded = load_model(loaded)
        if name is not None and loaded.name != name:
            loaded = loaded.renamed(name)
        prediction = Prediction(loaded, self._collector)
        self._made[loaded.name, model] = prediction
        if len(self._made) > _REMEMBERED:
            self._made.popitem(last=False)
        return prediction


def is_same_model(one: Any, other: Any) -> bool:
    """Whether two models, perhaps loaded one after the other, are alike in every part, names included."""
    if one is other:
        return True
    if type(one) is not type(other):
        return False
    if is_dataclass(one):
        return all(is_same_model(getattr(one, f.name), getattr(other, f.name)) for f in fields(one))
    if isinstance(one, tuple):
        return len(one) == len(other) and all(map(is_same_model, one, other))
    if isinstance(one, np.ndarray):
        return np.array_equal(one, other)
    return bool(one == other) or getattr(one, "__dict__", None) == {}  # scalings without parameters are alike


def check_names(agenda: Agenda, prediction: Prediction, *, besides: str | None = None) -> None:
    """Refuse a model whose scores would have the name of another's or of a feature; those of one slot may."""
    taken = {output for slot in agenda.slots if slot.name != besides for output in slot.outputs()}
    features = {*RESERVED_NAMES, *agenda.measured.keys(), *keys_of(prediction.extractors)}
    for name in prediction.outputs:
        if name in taken:
            raise NameClashError(
                f"two models would both be reported as '{name}': tell them apart by adding :name=LABEL "
                f"to '{prediction.model.label}'"
            )
        if name in features:
            raise NameClashError(
                f"the model '{prediction.model.label}' would be reported as '{name}', which is the name of "
                "another column: give it another with :name=LABEL"
            )
    check_feature_names(agenda, prediction.extractors)


def check_feature_names(agenda: Agenda, extractors: Iterable[Extractor]) -> None:
    """Refuse extractors whose figures would go by the name of a model's score."""
    clash = next((key for key in keys_of(extractors) if key in agenda.outputs()), None)
    if clash is not None:
        raise NameClashError(
            f"a model is reported as '{clash}', which is the name of a feature too: give the model another "
            "with :name=LABEL"
        )


def keys_of(extractors: Iterable[Extractor]) -> list[str]:
    """The keys of all figures that reports have of them."""
    return [key for extractor in extractors for late in (False, True) for key in extractor.keys(late=late)]


def check_pictures(extractors: Iterable[Extractor], geometry: Geometry, planes: int) -> None:
    """Refuse what cannot be computed from the pictures that are being fed."""
    for extractor in extractors:
        if extractor.uses_chroma and planes == 1:
            raise FeatureError(
                f"{extractor.name} needs chroma, and the pictures come without: ask for it at the start"
            )
        extractor.check_size(geometry)


def swap_model(
    agenda: Agenda, name: str, prediction: Prediction, now: int, *, repredict: bool
) -> tuple[Agenda, Swap]:
    """The agenda in which the model reported as `name` is another as soon as can be; `now` is the next frame.

    With `repredict` it is also given the frames before that have all its features.
    """
    if now == 0:
        slot = agenda.slot(name)._replace(holders=Epochs(prediction))
        return agenda.put(slot).restarted(), Swap(0, [], [])
    ready = {extractor: agenda.ready(extractor, now) for extractor in prediction.extractors}
    first = max([now, *ready.values()])
    running = agenda.plans.at(now - 1).extractors
    found = agenda.put(agenda.slot(name).hand_over(prediction, now, first)).planned(now)
    if repredict:
        earlier = found.kept(prediction.extractors, first)
        given = found.slot(name).give(prediction, earlier)
        found = replace(found.put(given), claims=found.claims + 1)
    late = [extractor for extractor, settled in ready.items() if settled > now]
    missing = [extractor for extractor in ready if extractor.identity not in running]
    return found, Swap(first, _inputs_from(prediction, late), _inputs_from(prediction, missing))


def _inputs_from(prediction: Prediction, extractors: list[Extractor]) -> list[str]:
    provided = keys_of(extractors)
    return [key for key in prediction.inputs if key in provided]
