"""The process that a vision-language model runs in: pictures come in by path, sentences go out.

    python -m acuity.frames.narrator_process

Standard input has documents: the first says which folder, each other is a picture and a question.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import re
import resource
import signal
import sys
from pathlib import Path
from typing import Any, Final

from acuity.child_process import Ended, begin, read_document
from acuity.text import note, one_line, shortened, told

MOST_CHARACTERS: Final = 400
_MOST: Final = 1 << 20  # characters of a hint or an answer, however long
_QUESTION: Final = (
    "This is a frame of a compressed video. {measured}"
    "In one short sentence, say which compression artefacts you see and where in the picture they are."
)
_MARKS: Final = re.compile(r"<\|?[A-Za-z_/][A-Za-z0-9_/]*\|?>")  # tokens such as <end_of_turn> or <|end|>
# The end of a sentence: a mark before a space, and not after a single letter or a number.
_ENDS: Final = re.compile(r"(?<=[^\s.\d][^\s.\d][.!?])\s")
_SENTENCES: Final = 2


def question(hint: str) -> str:
    """The question about a picture; `hint` is what was measured in it."""
    return _QUESTION.format(measured=f"Measured: {note(hint, _MOST)} " if hint.strip() else "")


def cleaned(said: str) -> str:
    """The first sentences of an answer, on one line and without control characters; may be empty.

    The answer is untrusted: it may repeat text that is in the picture. Reports keep it apart from what was
    measured.
    """
    text = " ".join(_sentences(said)[:_SENTENCES])
    if len(text) <= MOST_CHARACTERS:
        return text
    return f"{text[: MOST_CHARACTERS - 1].rsplit(' ', 1)[0][: MOST_CHARACTERS - 1]}…"


def is_enough(said: str) -> bool:
    """Whether more words of the model would be cut off anyway."""
    return len(said) > 2 * MOST_CHARACTERS or len(_sentences(said)) > _SENTENCES


def _sentences(said: str) -> list[str]:
    return _ENDS.split(note(_MARKS.sub(" ", said), _MOST))


OPENED: Final = b"O"
TEXT: Final = b"T"
MISSING: Final = b"M"  # the package: a sentence
REFUSED: Final = b"R"  # the folder: a sentence
FAILED: Final = b"X"  # on a picture: a sentence

# ONNX Runtime sends usage data unless this is set before it is loaded.
ENVIRONMENT: Final = {"ORT_DISABLE_TELEMETRY": "1"}

_TEMPLATE: Final = "chat_template.jinja"
_LONGEST: Final = 300  # characters of an error
_PR_SET_PDEATHSIG: Final = 1
_OOM: Final = Path("/proc/self/oom_score_adj")

# How the question to a model of each type refers to its picture. Others have entries in their messages.
_TAGS: Final = {
    **dict.fromkeys(("phi3v", "phi4mm"), "<|image_1|>\n"),
    **dict.fromkeys(("qwen2_5_vl", "qwen3_vl", "fara"), "<|vision_start|><|image_pad|><|vision_end|>"),
    "mistral3": "[IMG]",
}


def main() -> None:
    """Load the model and describe pictures until standard input ends."""
    jobs, tell = begin()
    _be_killed_first()
    try:
        setup = read_document(jobs)
        if setup["memory"] is not None:
            resource.setrlimit(resource.RLIMIT_DATA, (setup["memory"], setup["memory"]))
        try:
            import onnxruntime_genai
        except ImportError as error:
            tell(MISSING, _words(error))
            return
        try:
            model = _Model(onnxruntime_genai, Path(setup["folder"]))
        except Exception as error:
            tell(REFUSED, _words(error))
            return
        tell(OPENED)
        while True:
            job = read_document(jobs)
            try:
                tell(TEXT, model.describe(job["png"], job["question"], job["tokens"]).encode())
            except Exception as error:
                tell(FAILED, _words(error))
    except (Ended, BrokenPipeError):
        pass


class _Model:
    """A loaded model with its tokenizer and the processor of its pictures."""

    def __init__(self, og: Any, folder: Path) -> None:
        with contextlib.suppress(AttributeError):  # not in every version
            og.disable_telemetry_events()
        self._og = og
        self._model = og.Model(str(folder))
        self._tokenizer = og.Tokenizer(self._model)
        self._processor = self._model.create_multimodal_processor()
        template = folder / _TEMPLATE
        self._template = template.read_text("utf-8") if template.is_file() else ""

    def describe(self, png: str, question: str, tokens: int) -> str:
        """The model's answer, of at most so many tokens."""
        inputs = self._processor(self._prompt(question), images=self._og.Images.open(png))
        length = int(inputs["input_ids"].shape()[-1])
        params = self._og.GeneratorParams(self._model)
        # The memory for keys and values is sized by the length, so it is no longer than needed.
        params.set_search_options(do_sample=False, max_length=length + tokens)
        generator = self._og.Generator(self._model, params)
        generator.set_inputs(inputs)
        stream = self._processor.create_stream()
        said = ""
        for _ in range(tokens):
            if generator.is_done() or is_enough(said):
                break
            generator.generate_next_token()
            said += stream.decode(generator.get_next_tokens()[0])
        return said

    def _prompt(self, question: str) -> str:
        content: Any = [{"type": "image"}, {"type": "text", "text": question}]
        if tag := _TAGS.get(self._model.type):
            content = tag + question
        messages = json.dumps([{"role": "user", "content": content}])
        options = {"template_str": self._template} if self._template else {}
        prompt: str = self._tokenizer.apply_chat_template(messages, add_generation_prompt=True, **options)
        return prompt


def _be_killed_first() -> None:
    """When memory runs out the kernel ends this process before others, and always with its parent.

    The parent's end is also watched by a thread, but that doesn't run during the native calls of the model.
    """
    with contextlib.suppress(OSError):
        _OOM.write_text("1000")
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def _words(error: BaseException) -> bytes:
    return one_line(shortened(told(error), _LONGEST)).encode()


if __name__ == "__main__":
    main()
    sys.stdout.flush()
    os._exit(0)  # a model takes long to free
