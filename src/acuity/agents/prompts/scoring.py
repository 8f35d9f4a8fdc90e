"""The part of a prompt that asks for scores: which tool, with which arguments, and how to wait."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import mcp_types as types

from acuity.agents.prompts.geometry import check_hint, known_geometry, known_size
from acuity.agents.prompts.prompt import argument
from acuity.models.choose import size_class
from acuity.video.readers.guess import RawFormat, is_raw_name

MODEL_HD: Final = "version=vmaf_v0.6.1"
MODEL_4K: Final = "version=vmaf_4k_v0.6.1"
MODEL_NEG: Final = "version=vmaf_v0.6.1neg"
AUTO: Final = "auto"  # by the size of the reference, which only raw files don't carry

# Arguments that every prompt takes besides the paths of its videos.
SCORING_ARGUMENTS: Final[tuple[types.PromptArgument, ...]] = (
    argument("model", "Model", "Name of a model or a model string; chosen by the size if left out."),
    argument(
        "geometry",
        "Size and format",
        "Of the reference, such as '1920x1080 420 8-bit': needed for raw YUV whose name doesn't say it.",
    ),
    argument("backend", "Backend", "What computes the score; the fastest that works if left out."),
)


_PAIR: Final = ("ref", "dis", "reference_encoded", "distorted_encoded", "feature")


@dataclass(frozen=True, slots=True)
class Scoring:
    """How the videos of a prompt are to be scored."""

    model: str
    geometry: RawFormat | None  # None unless the hint or the reference's name is complete
    backend: str | None
    feature: str | None

    @classmethod
    def from_arguments(cls, given: Mapping[str, str], reference: str) -> Scoring:
        hint = given.get("geometry")
        check_hint(hint)
        model = model_string(given["model"]) if "model" in given else _fitting(hint, reference)
        return cls(model, known_geometry(hint, reference), given.get("backend"), given.get("feature"))

    def call(self, reference: str, distorted: str, model: str | None = None) -> dict[str, Any]:
        """Arguments of submit_job for one pair."""
        raw = is_raw_name(reference) and is_raw_name(distorted)
        names = ("ref", "dis") if raw else ("reference_encoded", "distorted_encoded")
        arguments: dict[str, Any] = {names[0]: reference, names[1]: distorted}
        if raw and self.geometry is not None:
            arguments |= {
                "width": self.geometry.width,
                "height": self.geometry.height,
                "pixfmt": self.geometry.format.layout,
                "bitdepth": self.geometry.format.depth,
            }
        arguments["model"] = model or self.model
        if self.backend is not None:
            arguments["backend"] = self.backend
        if self.feature is not None:
            arguments["feature"] = [self.feature]
        return {"tool": "vmaf_score" if raw else "vmaf_score_encoded", "arguments": arguments}

    def comparison(self, reference: str, *encodes: str, model: str | None = None) -> dict[str, Any]:
        """Arguments of submit_job for several encodes at once."""
        given = self.call(reference, encodes[0], model)["arguments"]
        kept = {name: value for name, value in given.items() if name not in _PAIR}
        return {
            "tool": "compare_encodes",
            "arguments": {"reference": reference, "encodes": list(encodes), **kept},
        }

    def worst_call(self, reference: str, distorted: str) -> dict[str, Any]:
        """Arguments of submit_job for the pictures of the worst frames."""
        given = self.call(reference, distorted)["arguments"]
        kept = {name: value for name, value in given.items() if not name.endswith("_encoded")}
        kept.pop("feature", None)
        return {"tool": "describe_worst_frames", "arguments": {"ref": reference, "dis": distorted, **kept}}

    def steps(self, reference: str, *distorted: str) -> str:
        """The instructions to score these videos and wait for the results."""
        calls = "\n\n".join(fenced(self.call(reference, each)) for each in distorted)
        return "\n\n".join(
            (f"Call `submit_job` with\n\n{calls}", *self.remarks(reference, *distorted), _WAIT, REFUSED)
        )

    def remarks(self, reference: str, *distorted: str) -> list[str]:
        """What to say of raw video among these."""
        raw = {is_raw_name(name) for name in (reference, *distorted)}
        return [_MIXED] if len(raw) == 2 else [_NO_GEOMETRY] if True in raw and not self.geometry else []


def fenced(value: Any) -> str:
    return f"```json\n{json.dumps(value, indent=2, ensure_ascii=False)}\n```"


def model_string(text: str) -> str:
    """The model argument of the tools, from a version, a file name or a complete argument."""
    if "=" in text or text == AUTO:
        return text
    return f"path={text}" if text.endswith(".json") else f"version={text}"


def _fitting(hint: str | None, reference: str) -> str:
    size = known_size(hint, reference)
    if size is None:
        return MODEL_HD if is_raw_name(reference) else AUTO
    return MODEL_4K if size_class(*size) == "4k" else MODEL_HD


_WAIT: Final = """\
Then call `get_job` with the job_id every few seconds until `status` is `completed`; `progress` tells how \
far it is. Of several jobs `list_jobs` tells that in one call. (For clips of a few seconds you may call the \
tool itself instead, with the same arguments.) `result` begins with the `score`; `models` has mean, harmonic \
mean, minimum and percentiles, `worst` the lowest frames. For other frames call `get_frames` with the \
job_id: it brings their scores, and with `features` other figures of the few that you want to explain."""

REFUSED: Final = """\
If a call is refused, the sentence names the cause and the remedy. Don't force a pair through that was \
refused for its frame rate, length or size before you know why the two differ: frames that don't belong \
together give a score that means nothing. A path that is "not under an allowlisted root" has to be moved, \
or its folder added to VMAF_MCP_ALLOW by whoever runs the server."""

_NO_GEOMETRY: Final = """\
Raw video doesn't say what it is, and neither do these names: add `width`, `height`, `pixfmt` ("420", \
"422" or "444") and `bitdepth` to the arguments. Ask the user for them; a guess that happens to fit the \
file's length still gives a wrong score."""

_MIXED: Final = """\
One of these files is raw video and another isn't. `vmaf_score_encoded` reads raw video too where its name \
says what it holds, as in `crowd_1920x1080_420p10.yuv`; otherwise rename it so, or convert it to Y4M without \
loss, and use the new name in the arguments."""
