"""Steering: changes the model in the middle of a clip, with the same figures as a run from the start.

A new model scores from the first frame whose features are all exact. Extractors that were not running start
with the next frame. Those that look at neighbouring frames may need a frame or two until their figures no
longer depend on when they started; the previous model scores until then. An extractor stops when no fed frame
needs it any more.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable, Iterable
from typing import TYPE_CHECKING, Any, Final

from acuity.errors import FeatureError, NameClashError
from acuity.features import reserved_names
from acuity.features.extractor import Extractor, Geometry
from acuity.measure.agenda import Agenda
from acuity.measure.collector import Collector
from acuity.measure.epochs import Epochs
from acuity.measure.segments import Prediction
from acuity.models.spec import DEFAULT_NAME
from acuity.records import NamedTuple

if TYPE_CHECKING:
    from acuity.models.inputs import AnyModel

# Recently used models, which need not be loaded again.
_REMEMBERED: Final = 8


class Swap(NamedTuple):
    """The effect of a change of model."""

    first: int  # the first frame of the new model
    waits_for: list[str]  # its features that aren't exact before `first`; empty if that is the next frame
    starts: list[str]  # its features that were not measured so far
    repredicted: tuple[tuple[int, int], ...] = ()  # first and last of the earlier frames that it was given


class Candidates:
    """Creates predictions for models, and keeps the latest ones."""

    def __init__(self, collector: Collector) -> None:
        self._collector = collector
        self._made: OrderedDict[tuple[str, Hashable], Prediction] = OrderedDict()

    def get(self, model: AnyModel | str, name: str | None = None) -> Prediction:
        """The prediction of this model, under the given name or its own."""
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
    """Whether two models are equal in every part, names included, even if loaded separately."""
    if type(one) is not type(other):
        return False
    if isinstance(one, tuple):
        return len(one) == len(other) and all(map(is_same_model, one, other))
    fields = getattr(one, "__dataclass_fields__", None)
    if one == other or fields is None:
        return bool(one == other)
    return all(is_same_model(getattr(one, name), getattr(other, name)) for name in fields)


def check_names(agenda: Agenda, prediction: Prediction, *, besides: str | None = None) -> None:
    """Refuse a model whose scores would have the name of a feature or of another slot's scores."""
    taken = {output for slot in agenda.slots if slot.name != besides for output in slot.outputs()}
    features = {*agenda.measured.keys(), *keys_of(prediction.extractors)}
    if any(name != DEFAULT_NAME for name in prediction.outputs):  # which is none of them
        features |= reserved_names()
    for name in prediction.outputs:
        if name in taken:
            raise NameClashError(
                f"two models would both be reported as '{name}': tell them apart by {_renaming(prediction)}"
            )
        if name in features:
            raise NameClashError(
                f"the model '{prediction.model.label}' would be reported as '{name}', which is the name of "
                f"another column: give it another by {_renaming(prediction)}"
            )
    check_feature_names(agenda, prediction.extractors)


def _renaming(prediction: Prediction) -> str:
    """How a model gets another name."""
    model = prediction.model
    if getattr(model, "sidecar", None) is None:
        return f"adding :name=LABEL to '{model.label}'"
    return f"changing 'id' in the sidecar of '{model.label}'"


def check_feature_names(agenda: Agenda, extractors: Iterable[Extractor]) -> None:
    """Refuse extractors whose figures would have the name of a model's score."""
    clash = next((key for key in keys_of(extractors) if key in agenda.outputs()), None)
    if clash is not None:
        raise NameClashError(
            f"a model is reported as '{clash}', which is the name of a feature too: give the model another "
            "with :name=LABEL"
        )


def keys_of(extractors: Iterable[Extractor]) -> list[str]:
    """The keys of all reported figures of these extractors."""
    return [key for extractor in extractors for late in (False, True) for key in extractor.keys(late=late)]


def check_alone(extractors: Iterable[Extractor]) -> None:
    """Refuse extractors that compare with a reference, where pictures come without one."""
    for extractor in extractors:
        if extractor.reads_reference:
            raise FeatureError(
                f"{extractor.name} compares with the reference, and the video is scored without one: leave "
                "it out, or score a pair"
            )


def check_pictures(extractors: Iterable[Extractor], geometry: Geometry, planes: int) -> None:
    """Refuse extractors that can't be computed from the present pictures."""
    for extractor in extractors:
        if extractor.uses_chroma and planes == 1:
            raise FeatureError(
                f"{extractor.name} needs chroma, and the pictures come without: ask for it at the start"
            )
        extractor.check_size(geometry)


def swap_model(
    agenda: Agenda, name: str, prediction: Prediction, now: int, *, repredict: bool
) -> tuple[Agenda, Swap]:
    """The agenda with another model as `name`, as early as possible from `now` on, the next frame.

    With `repredict` the model is also assigned to the earlier frames that have all its features.
    """
    if now == 0:
        slot = agenda.slot(name)._replace(holders=Epochs(prediction))
        slot = slot._replace(requested=slot.segments(1)[0].model)
        return agenda.with_slot(slot).from_first_frame(), Swap(0, [], [])
    ready = {extractor: agenda.ready(extractor, now) for extractor in prediction.extractors}
    first = max([now, *ready.values()])
    running = agenda.plans.at(now - 1).extractors
    found = agenda.with_slot(agenda.slot(name).hand_over(prediction, now, first)).planned(now)
    earlier: list[tuple[int, int]] = []
    if repredict:
        earlier = found.kept(prediction.extractors, first)
        given = found.slot(name).assign(prediction, earlier)
        found = found.with_slot(given).changed(claims=found.claims + 1)
    late = [extractor for extractor, settled in ready.items() if settled > now]
    missing = [extractor for extractor in ready if extractor.identity not in running]
    given_before = tuple((start, min(stop, now) - 1) for start, stop in earlier if start < now)
    return found, Swap(first, _inputs_from(prediction, late), _inputs_from(prediction, missing), given_before)


def _inputs_from(prediction: Prediction, extractors: list[Extractor]) -> list[str]:
    provided = keys_of(extractors)
    return [key for key in prediction.inputs if key in provided]
