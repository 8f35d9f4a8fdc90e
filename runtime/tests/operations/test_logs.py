"""Logs: one record a line on stderr, whatever is in it and whoever reads it."""

from __future__ import annotations

import json
import logging
import os
import secrets
import subprocess
import sys
import threading
import uuid
import warnings
from datetime import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from log_lines import logging_to_lines
from longwire.errors import SettingsError
from longwire.operations.logs import configure_logging

log = logging.getLogger("longwire.test")


def test_a_record_is_one_json_object() -> None:
    with logging_to_lines() as lines:
        log.info("scored %d frames", 48, extra={"tool": "vmaf_score", "seconds": 1.5, "cached": None})
        (record,) = lines.records()
    assert datetime.fromisoformat(record.pop("time")).tzinfo is not None
    assert record == {
        "level": "info",
        "logger": "longwire.test",
        "message": "scored 48 frames",
        "tool": "vmaf_score",
        "seconds": 1.5,
        "cached": None,
    }


def test_text_is_a_line_for_people() -> None:
    with logging_to_lines(format="text") as lines:
        log.warning("the disk is\nfull", extra={"path": "/data/\x1b[2Ja"})
        (line,) = lines.text().splitlines()
    assert line.endswith(r"WARNING longwire.test: the disk is\nfull path=/data/\x1b[2Ja")


@pytest.mark.parametrize("format", ["json", "text"])
@given(text=st.text(alphabet=st.characters(codec=None), max_size=300))
def test_no_text_forges_a_line_or_moves_the_cursor(format: str, text: str) -> None:
    forged = f'{text}\n{{"level":"error","message":"forged"}}\r\x1b[1A\x85\u2028\x7f'
    with logging_to_lines(format=format) as lines:
        log.info("%s", forged, extra={"path": forged})
        written = lines.text()
    assert written.endswith("\n")
    assert written[:-1].isprintable()
    assert len(written.encode()) <= 4096


def test_exceptions_stay_on_their_record() -> None:
    written = {}
    for format in ("json", "text"):
        with logging_to_lines(format=format) as lines:
            try:
                raise ValueError('bad\n2026-01-01 ERROR forged\n{"level":"error"}')
            except ValueError:
                log.exception("it broke")
            written[format] = lines.text()
    told = json.loads(written["json"])["exception"]
    assert told.startswith("Traceback")
    assert "ValueError: bad" in told
    first, *rest = written["text"].splitlines()
    assert "it broke" in first
    assert {line[:6] for line in rest} == {"    | "}


@pytest.mark.parametrize(
    "text",
    [
        "Authorization: Bearer s3cret-value",
        "authorization='s3cret-value'",
        "{'Authorization': 'Bearer s3cret-value'}",
        "GET /mcp?token=s3cret-value&x=1",
        "LONGWIRE_TOKEN=s3cret-value",
        '"access_token": "s3cret-value"',
        "bearer s3cret-value",
    ],
)
@pytest.mark.parametrize("format", ["json", "text"])
def test_credentials_are_hidden(text: str, format: str) -> None:
    with logging_to_lines(format=format) as lines:
        log.info(text)
        log.info("%s", text, extra={"headers": text})
        log.info("x", extra={"Authorization": "s3cret-value", "token": "s3cret-value"})
        try:
            raise RuntimeError(text)
        except RuntimeError:
            log.exception("failed")
        written = lines.text()
    assert "s3cret-value" not in written
    assert written.count("[hidden]") >= 5


@pytest.mark.parametrize("format", ["json", "text"])
def test_names_and_sentences_about_tokens_are_no_secrets(format: str) -> None:
    sentence = "this server takes a bearer token in the Authorization header"
    names = ["token:alice", "token:encoder-farm-number-7", "token:default"]
    with logging_to_lines(format=format) as lines:
        for name in names:
            log.info(sentence, extra={"client": name})
        written = lines.text()
    assert written.count(sentence) == len(names)
    assert all(name in written for name in names)


@pytest.mark.parametrize(
    "text",
    [
        "session:{}",
        "client sse:{} left",
        "Mcp-Session-Id: {}",
        "{{'mcp-session-id': '{}'}}",
        '{{"session_id": "{}"}}',
        "/messages?session_id={}&x=1",
        "session = {}",
    ],
)
def test_of_a_session_id_only_the_beginning_is_shown(text: str) -> None:
    random = secrets.token_hex(16)
    for label, secret in (("", random), ("", str(uuid.uuid4())), ("n1-", random)):
        with logging_to_lines() as lines:
            log.info(text.format(label + secret), extra={"client": f"session:{label}{secret}"})
            line = lines.text()
        assert label + secret[:8] in line
        assert secret[:10] not in line
        assert secret[9:] not in line


@pytest.mark.parametrize("secret", ['we"ird\\päss', "plain-word", "ime"])
def test_a_configured_secret_is_hidden_wherever_it_turns_up(secret: str) -> None:
    with logging_to_lines(secrets=[secret, ""]) as lines:
        log.info("asked with %s", secret, extra={"path": f"/x/{secret}/y"})
        log.info(f"{'x' * 995}{secret} where a long text is cut")
        first, second = lines.records()
    assert first["message"] == "asked with [hidden]"
    assert first["path"] == "/x/[hidden]/y"
    assert "time" in first
    assert secret[:5] not in second["message"]


def test_long_records_are_cut_and_still_json() -> None:
    with logging_to_lines() as lines:
        log.info("é" * 100_000, extra={f"field{i}": "\U0001f600" * 5000 for i in range(3)})
        log.info("x", extra={f"field{i}": "\U0001f600" * 5000 for i in range(60)})
        try:
            raise ValueError("début " + "é" * 100_000 + " the end")
        except ValueError:
            log.exception("long")
        first, second, third = lines.text().splitlines()
    for line in (first, second, third):
        assert len(line) < 4096
        json.loads(line)
    assert json.loads(first)["message"].endswith("…")
    assert json.loads(second)["message"] == "x (and more than fits)"
    assert json.loads(third)["exception"].endswith("the end")


def test_a_record_that_cannot_be_shown_is_named() -> None:
    with logging_to_lines() as lines:
        log.info("%d frames", "many")
        (record,) = lines.records()
    assert record["level"] == "error"
    assert "longwire.test, line" in record["message"]
    assert "TypeError" in record["message"]


def test_nan_is_no_bare_word() -> None:
    with logging_to_lines() as lines:
        log.info("x", extra={"ratio": float("nan"), "most": float("inf"), "thing": {"a": 1}})
        (record,) = lines.records()
    assert (record["ratio"], record["most"], record["thing"]) == ("nan", "inf", "{'a': 1}")


def test_libraries_are_routed_and_quiet() -> None:
    library = logging.getLogger("mcp.server.lowlevel")
    with logging_to_lines() as lines:
        library.info("session created: 1234")
        library.warning("dropped a message")
        warnings.warn("old way", DeprecationWarning, stacklevel=1)
        assert [record["logger"] for record in lines.records()] == [library.name, "py.warnings"]
    with logging_to_lines(level="debug") as lines:
        library.debug("a detail")
        assert [record["message"] for record in lines.records()] == ["a detail"]


@pytest.mark.parametrize(("level", "format"), [("loud", "json"), ("info", "yaml")])
def test_unknown_names_are_refused_with_those_that_exist(level: str, format: str) -> None:
    with pytest.raises(SettingsError, match=r"'(loud|yaml)' is no log .*(debug|json)"):
        configure_logging(level, format)


def test_a_pipe_that_nobody_reads_stops_nothing_and_is_reported() -> None:
    with logging_to_lines() as lines:
        handler = logging.getLogger().handlers[0]
        count = 0

        def fill() -> None:
            nonlocal count
            while handler.lost == 0:
                log.info("line %d %s", count, "x" * 500)
                count += 1
            log.info("lost too")

        filling = threading.Thread(target=fill, daemon=True)
        filling.start()
        filling.join(20)
        waits = filling.is_alive()
        before = lines.records()  # lets a writer that waits go on
        assert not waits
        assert handler.lost == 2
        assert len(before) == count - 1
        log.info("again")
        notice, after = lines.records()
    assert notice["message"] == "2 log line(s) left out: stderr was not read"
    assert after["message"] == "again"
    assert handler.lost == 0


PROGRAM = """
import logging, sys
from longwire.operations.logs import configure_logging
configure_logging()
for number in range(3):
    logging.getLogger("longwire").info("line %d", number)
print("protocol")
"""


@pytest.mark.parametrize("stderr", ["read", "broken", "closed"])
def test_a_process_writes_to_stderr_alone_and_ends_well_without_it(stderr: str) -> None:
    read_end, write_end = os.pipe()
    if stderr != "read":
        os.close(read_end)
    close = "2>&-" if stderr == "closed" else ""
    command = ["/bin/sh", "-c", f'exec "$0" "$@" {close}', sys.executable, "-c", PROGRAM]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=write_end, text=True, check=False)
    os.close(write_end)
    assert (done.returncode, done.stdout) == (0, "protocol\n")
    if stderr == "read":
        with open(read_end) as lines:
            assert [json.loads(line)["message"] for line in lines] == ["line 0", "line 1", "line 2"]
