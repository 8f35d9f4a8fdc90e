"""What a program that isn't Longwire's sees of the server's environment."""

from __future__ import annotations

import pytest

from longwire.config.keys import keys
from longwire.server.method_workers import foreign_environment

SECRET = (
    "LONGWIRE_CONFIG OTEL_EXPORTER_OTLP_HEADERS OTEL_EXPORTER_OTLP_TRACES_HEADERS GITHUB_TOKEN my_secret "
    "AWS_SECRET_ACCESS_KEY AWS_ACCESS_KEY_ID PGPASSWORD_OLD_PASSWORD OPENAI_API_KEY CREDENTIALS_DIRECTORY"
)
PLAIN = "PATH HOME LANG APP_MODE OTEL_EXPORTER_OTLP_ENDPOINT SSH_AUTH_SOCK TOKENIZERS_PARALLELISM"


@pytest.mark.parametrize("name", [*(key.environment for key in keys()), *SECRET.split()])
def test_settings_of_the_server_and_secrets_are_kept_back(name: str) -> None:
    assert foreign_environment({name: "x"}) == {}
    assert foreign_environment({name: "x"}, [name]) == {name: "x"}


def test_other_variables_are_passed_on() -> None:
    plain = dict.fromkeys(PLAIN.split(), "x")
    assert foreign_environment(plain) == plain
