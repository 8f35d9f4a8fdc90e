"""What the prompts share: their making, how to ask for scores and wait for them, and what figures mean."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import mcp_types as types
from mcp.shared.exceptions import MCPError

from acuity.errors import InputError
from acuity.models.choose import size_class
from acuity.text import one_line
from acuity.video.readers.guess import RawFormat, guess_geometry, is_raw_name
from longwire.product.catalog import Context, Prompt

# Writes the text for the agent from the given arguments, none of them empty.
Writer: TypeAlias = Callable[[Mapping[str, str]], str]


def argument(name: str, title: str, description: str, *, required: bool = False) -> types.PromptArgument:
    return types.PromptArgument(name=name, title=title, description=description, required=required)


def make_prompt(
    name: str, title: str, description: str, arguments: tuple[types.PromptArgument, ...], write: Writer
) -> Prompt:
    """A prompt of one message. Empty arguments are ignored, because forms send them for empty fields."""
    known = {entry.name for entry in arguments}

    async def render(params: types.GetPromptRequestParams, _: Context) -> types.GetPromptResult:
        given = {
            key: text for key, value in (params.arguments or {}).items() if (text := one_line(value.strip()))
        }
        for entry in arguments:
            if entry.required and entry.name not in given:
                raise MCPError(types.INVALID_PARAMS, f"prompt '{name}': the argument '{entry.name}' is empty")
        for key in given:
            if key not in known:
                takes = ", ".join(entry.name for entry in arguments)
                raise MCPError(
                    types.INVALID_PARAMS, f"prompt '{name}' has no argument '{key}'; it takes: {takes}"
                )
        content = types.TextContent(type="text", text=write(given))
        return types.GetPromptResult(
            description=description, messages=[types.PromptMessage(role="user", content=content)]
        )

    return Prompt(name=name, title=title, description=description, render=render, arguments=arguments)


COMMON: Final = (
    "1920x1080 420 8-bit",
    "3840x2160 420 10-bit",
    "1920x1080 420 10-bit",
    "1280x720 420 8-bit",
    "3840x2160 420 8-bit",
)


def known_geometry(hint: str | None, name: str) -> RawFormat | None:
    """Size and format of raw video from the hint, or else from the file's name; None if incomplete."""
    return _reading(hint) or _reading(name)


def known_size(hint: str | None, name: str) -> tuple[int, int] | None:
    """Width and height from the hint, or else from the file's name; None if unknown."""
    some_format: dict[str, Any] = {"layout": "420", "depth": 8}
    found = _reading(hint, **some_format) or _reading(name, **some_format)
    return (found.width, found.height) if found is not None else None


def spelled(geometry: RawFormat) -> str:
    return f"{geometry.width}x{geometry.height} {geometry.format.layout} {geometry.format.depth}-bit"


def _reading(text: str | None, **known: Any) -> RawFormat | None:
    try:
        return guess_geometry(text, None, **known) if text else None
    except InputError:
        return None


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
class PromptScoring:
    """How the videos of a prompt are to be scored."""

    model: str
    geometry: RawFormat | None  # None unless the hint or the reference's name is complete
    backend: str | None
    feature: str | None

    @classmethod
    def from_arguments(cls, given: Mapping[str, str], reference: str) -> PromptScoring:
        hint = given.get("geometry")
        if hint is not None and known_size(hint, "") is None:
            sentence = f"geometry '{hint}' gives no size: write it like '{COMMON[0]}'"
            raise MCPError(types.INVALID_PARAMS, sentence)
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

    def comparison(self, reference: str, *encodes: str) -> dict[str, Any]:
        """Arguments of submit_job for several encodes at once."""
        given = self.call(reference, encodes[0])["arguments"]
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

    def steps(self, reference: str, distorted: str) -> str:
        """The instructions to score a pair and wait for the result."""
        call = f"Call `submit_job` with\n\n{fenced(self.call(reference, distorted))}"
        return "\n\n".join((call, *self.remarks(reference, distorted), _WAIT, REFUSED))

    def remarks(self, reference: str, *distorted: str) -> list[str]:
        """The remarks on raw video among these."""
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


VALID: Final = """\
Before you believe a number, check that the comparison is sound:
- `mismatched_model_warning`: the model was made for another picture size. Score again with the model it \
names if it names one; otherwise say so beside every figure, and compare only scores of that size.
- `notes` and `acuity.input`: scaling, conversions of format or range, frames that were left out, a \
time offset. Tell the user each one that changes what was compared; a note of level `warning` may be the \
whole explanation of a bad score.
- `acuity.frames`, against the length of the clip.
- a mean under 30, or scores that drop at one frame and never come back: suspect frames out of step \
(a frame lost or doubled), a wrong geometry, or reference and encode swapped, before you blame the encoder.
- 100 on every frame: the same file twice, or a 4K model on small pictures."""

SCALE: Final = """\
What the numbers mean:
- VMAF runs from 0 to 100. It predicts what viewers say in the conditions the model was made for: \
vmaf_v0.6.1 a 1080p screen from three times its height away, vmaf_4k_v0.6.1 a 4K screen from one and a \
half times. From about 93 on it is hard to tell from the reference, 80 is good with visible loss, 60 is \
fair, under 40 is poor. Scores of different models are different scales: never compare them.
- About 6 points are one just noticeable difference: half of the viewers would see it. Under 2 points \
hardly anybody does; don't call that a winner.
- The mean hides short bad stretches. The harmonic mean weighs low frames more: one or two points below the \
mean says that some frames are much worse than the rest. The 5th percentile (`percentiles.p5` in `models`) \
and the minimum say how bad the bad part is; a single low frame at a cut is no reason for alarm, half a \
second of them is.
- The NEG model (vmaf_v0.6.1neg) doesn't reward sharpening and contrast enhancement. VMAF well above NEG \
means that part of the score is enhancement, not fidelity; use NEG to compare encoders or pre-filters that \
may enhance."""

FEATURES: Final = """\
What the features tell about a bad stretch, against their own values in the good parts:
- `integer_vif_scale0` down and `integer_vif_scale3` nearly unchanged: fine detail and grain are gone \
(blur, a strong quantiser, an upscaled source). All four scales down: coarse structure is hurt too \
(heavy blocking, a wrong frame, a shift of the picture).
- `integer_adm2` down: edges and texture are lost or masked by added structure such as blocking and ringing.
- `integer_motion2` high where the score is low: fast motion starved of bits. Low score at low motion: \
dark or flat areas, a fade, or a rate control that ran dry.
- low frames at regular distances: key frames or the frames before them (pulsing)."""
