"""The tools eval_model_on_split and compare_models: how well ONNX models predict the ratings of a table."""

from __future__ import annotations

import os
from functools import partial
from typing import Any, Final

from acuity.agents.schemas import array, choices, outline, record, text
from acuity.agents.tools.long_tool import long_tool
from acuity.agents.tools.scoring_schema import path_argument
from acuity.agents.tools.services import Services, checked_tiny
from acuity.errors import AcuityError
from acuity.jobs.tasks.evaluate import compare_payload, evaluate_payload
from acuity.scoring.request import MAX_TEXT
from acuity.tiny.evaluate.choices import INPUT, NO_MODELS, POOLINGS, SPLITS, no_split, require_extra
from longwire.product.catalog import Arguments, Tool
from longwire.work import JobSpec

EVALUATE: Final = "eval_model_on_split"
COMPARE: Final = "compare_models"
_MOST: Final = 20  # models in a call: what an answer has room for
_NAME: Final = 256  # characters of an input's name

_EVALUATE: Final = """\
Evaluate an ONNX model of features against the `mos` column of a parquet table: PLCC, SROCC, KROCC, RMSE \
and 95 % intervals (`ci95`) on the clips of a split. Rows of one `key` are averaged to a clip; `per_row` has \
the figures without."""
_COMPARE: Final = """\
Rank ONNX models by PLCC on the same split, as eval_model_on_split does; models that fail are in `errors`. \
better_than_next false: the clips can't tell the two apart."""

_TABLE: Final[dict[str, dict[str, Any]]] = {
    "features": path_argument("Parquet file: mos, features such as adm2, and key."),
    "split": choices(SPLITS, "test is about 10 % of the keys, val 10 %, train the rest.", default="test"),
    "input_name": text("The graph's input.", maxLength=_NAME, default=INPUT),
    "pooling": choices(POOLINGS, "auto: by clip if keys repeat.", default="auto"),
}
_MODELS: Final = array(
    text(minLength=1, maxLength=MAX_TEXT), _MOST, ".onnx files, or names of list_models.", minItems=1
)
_OPTIONAL: Final = ("split", "input_name", "pooling")


def tools(services: Services) -> list[Tool]:
    # A submitted one has no more time than a call: a table of any honest size takes seconds.
    limit = services.settings.time_limit

    async def plan_one(given: Arguments) -> JobSpec:
        require_extra(EVALUATE)
        model = await _model(services, given["model"])
        payload = evaluate_payload(model, _table(services, given))
        return JobSpec("evaluate", payload, EVALUATE, f"evaluation of {os.path.basename(model)}", limit)

    async def plan_several(given: Arguments) -> JobSpec:
        require_extra(COMPARE)
        table = _table(services, given)
        found = [await _model_or_error(services, name) for name in given["models"]]
        payload = compare_payload(found, given["models"], table)
        return JobSpec("evaluate", payload, COMPARE, f"comparison of {len(found)} models", limit)

    one = record("model features", model=path_argument("An .onnx file, or a name of list_models."), **_TABLE)
    several = record("models features", models=_MODELS, **_TABLE)
    tool, wrong = partial(long_tool, services), {"split": no_split}
    both = {**wrong, "models": _no_models}
    return [
        tool(EVALUATE, "Evaluate a model", _EVALUATE, one, _EVALUATION, plan_one, refusals=wrong),
        tool(COMPARE, "Compare models", _COMPARE, several, _RANKING, plan_several, refusals=both),
    ]


def _no_models(given: object) -> str:
    if isinstance(given, list) and given:
        return f"{len(given)} models are too many for one answer: compare at most {_MOST} in a call"
    return NO_MODELS


def _table(services: Services, given: Arguments) -> dict[str, Any]:
    features = str(services.paths.check(given["features"]))
    return {"features": features, **{name: given[name] for name in _OPTIONAL}}


async def _model(services: Services, given: str) -> str:
    if os.sep in given:
        services.paths.check(given)  # first of all: what kind of file it is says nothing about one outside
    return await checked_tiny(services, given)


async def _model_or_error(services: Services, given: str) -> str | AcuityError:
    try:
        return await _model(services, given)
    except AcuityError as error:
        return error


_EVALUATION: Final = outline(
    "model,features,split:string n:integer plcc,srocc:number? rmse:number columns:array",
    "krocc:number? ci95:object per_row:object? notes:array",
)
_RANKING: Final = outline("ranked,errors:array", "notes:array")
