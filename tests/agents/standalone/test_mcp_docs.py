"""docs/mcp.md names every tool, argument, option, variable, resource, prompt and metric, and no other."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import anyio
import pytest
from mcp import Client

from acuity.agents.settings import AcuitySettings
from acuity.agents.standalone.acuity_product import ACUITY
from acuity.agents.standalone.main import standalone_server
from acuity.models.choose import first_mismatch
from acuity.scoring.request import SETTINGS
from longwire.command.serve import option_groups
from longwire.config.finding import effective
from longwire.operations.metrics import OUTCOMES
from longwire.operations.tracing import ENDPOINTS
from longwire.work import Status

ROOT = Path(__file__).resolve().parents[3]
PAGE = (ROOT / "docs" / "mcp.md").read_text()
REFERENCE = "".join(
    page.read_text() for page in (ROOT / "docs" / "server.md", ROOT / "runtime" / "docs" / "runtime.md")
)
SCORING = {"vmaf_score", "vmaf_score_encoded"}
TUNING = {"run_search", "run_compare", "run_ladder", "run_tune_per_shot"}


@dataclasses.dataclass
class Offered:
    """What the server itself says that it has."""

    tools: dict[str, Any]
    prompts: set[str]
    resources: set[str]
    metrics: set[str]


@pytest.fixture(scope="module")
def offered(tmp_path_factory: pytest.TempPathFactory) -> Offered:
    async def ask() -> Offered:
        settings = AcuitySettings(data=tmp_path_factory.mktemp("data"))
        async with standalone_server(settings) as made, Client(made.server) as client:
            resources = {str(entry.uri) for entry in (await client.list_resources()).resources}
            templates = (await client.list_resource_templates()).resource_templates
            return Offered(
                tools={tool.name: tool.input_schema for tool in (await client.list_tools()).tools},
                prompts={prompt.name for prompt in (await client.list_prompts()).prompts},
                # Single models and extractors are listed, too; the page shows their templates.
                resources={uri for uri in resources if uri.count("/") == 2}
                | {template.uri_template for template in templates},
                metrics={
                    family.name + _SUFFIXES.get(family.type, "")
                    for family in made.metrics.registry.collect()
                    if family.name.startswith("acuity")
                },
            )

    return anyio.run(ask)


_SUFFIXES = {"counter": "_total", "info": "_info"}  # of what Prometheus sees


def section(title: str) -> str:
    """The text under a heading, up to the next one of its level or above."""
    match = re.search(rf"^(#+) {re.escape(title)}$", PAGE, re.MULTILINE)
    assert match, f"no heading '{title}'"
    rest = PAGE[match.end() :]
    end = re.search(rf"^#{{1,{len(match[1])}}} ", rest, re.MULTILINE)
    return rest[: end.start()] if end else rest


def rows(text: str) -> Iterator[list[str]]:
    """The cells of every row of every table."""
    for line in text.splitlines():
        if line.startswith("|") and not line.startswith(("|---", "| argument", "| option", "| tool")):
            yield [cell.strip() for cell in line.strip("|").split(" | ")]


def named(text: str) -> list[str]:
    """What the first cells of tables hold as code."""
    return [name for row in rows(text) for name in re.findall(r"`([^`]+)`", row[0])]


def test_every_tool_has_a_row_and_a_section(offered: Offered) -> None:
    listed = section("Tools").split("### ")[0]
    assert named(listed) == [*dict.fromkeys(named(listed))]
    assert set(named(listed)) == set(offered.tools)
    headings = re.findall(r"^### `(\w+)`$", PAGE, re.MULTILINE)
    assert headings == named(listed)


def test_every_argument_is_there(offered: Offered) -> None:
    options = named(section("Options of both scoring tools"))
    for name, schema in offered.tools.items():
        text = section(f"`{name}`")
        arguments = named(text[: text.find("The answer is")] if name in SCORING else text)
        if name in SCORING:
            arguments += options
        if name in TUNING:
            arguments += named(section("Arguments of all tuning tools"))
        assert sorted(arguments) == sorted(schema["properties"]), name
        if not schema["properties"]:
            assert "No arguments." in text


def test_required_arguments_and_defaults_are_true(offered: Offered) -> None:
    for name, schema in offered.tools.items():
        text = section(f"`{name}`")
        if name in TUNING:
            text += section("Arguments of all tuning tools")
        required = {row[0].strip("`") for row in rows(text) if "(required)" in row[-1]}
        assert required == set(schema.get("required", [])), name
    properties = offered.tools["vmaf_score"]["properties"]
    for name, default, _ in rows(section("Options of both scoring tools").split("\n|---", 1)[1]):
        if name == "":
            continue
        # Arguments that few pass leave their default out of the schema, which every client reads.
        own = SETTINGS[name.strip("`")].default if name.startswith(("`tiny_", "`no_ref")) else None
        told = properties[name.strip("`")].get("default", own)
        nothing = dict.fromkeys(("none", "all", "any", "all cores", "if short"))
        meant = [] if (name, default) == ("`feature`", "none") else nothing.get(default, default.strip("`"))
        assert meant == told or str(meant).lower() == str(told).lower(), name


def test_every_value_of_an_enum_is_there(offered: Offered) -> None:
    text = section("`vmaf_score`") + section("Options of both scoring tools")
    cells = {row[0].strip("`"): row[-1] for row in rows(text)}
    for name in ("pixfmt", "bitdepth", "scale", "convert", "rate", "vfr", "hdr"):
        values = offered.tools["vmaf_score"]["properties"][name]["enum"]
        assert re.findall(r"[\w-]+", cells[name].replace("`", "")) != []
        for value in values:
            assert re.search(rf"(?<![\w-]){value}(?![\w-])", cells[name]), (name, value)


def known_options() -> set[str]:
    return {name for group in option_groups().values() for name in group} | {"--version"}


def test_every_option_is_there() -> None:
    told = {name.split()[0] for name in named(section("Transports and options").split("### ")[0])}
    referred = set(re.findall(r"`(--[a-z-]+)", REFERENCE))  # most are listed there alone
    referred -= {"--socket"}  # an option of workers
    assert told | referred == known_options()
    for group in option_groups().values():
        for name, settings in group.items():
            for choice in settings.get("choices", ()) if name in told else ():
                assert f"`{choice}`" in section("Transports and options"), (name, choice)


def test_options_named_elsewhere_exist() -> None:
    others = {"--init", "--rm", "--env", "--transport", "--header", "--model", "--help", "--fail", "--json"}
    assert set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", PAGE)) <= known_options() | others


def test_every_variable_is_there() -> None:
    told = set(named(section("Environment variables")))
    package = ROOT / "src" / "acuity"
    files = [
        path
        for room in ("agents", "jobs", "models", "cli", "tune")
        for path in (package / room).rglob("*.py")
    ]
    source = "\n".join(path.read_text() for path in (package / "cache_folder.py", *files))
    used = set(re.findall(r'"((?:VMAF|ACUITY)_[A-Z][A-Z_]+)"', source))
    # In cli.md, to try kernels; in embedded.md, of that server; in server.md.
    elsewhere = {"ACUITY_CPU", "ACUITY_MCP_TOKEN", "ACUITY_WORKER_SETTINGS"}
    # Others are in the runtime's own page.
    of_runtime = {ACUITY.config_variable, ACUITY.data_variable, "ACUITY_STORE", "ACUITY_ADMIN"}
    assert told == used - elsewhere | of_runtime | {ENDPOINTS[0], "VMAF_MCP_ASYNC"}
    assert set(re.findall(r"\b(?:VMAF|ACUITY|OTEL)_[A-Z_]+\b", PAGE)) == told


def test_a_variable_of_other_servers_changes_nothing(tmp_path: Path) -> None:
    known = {"ACUITY_DATA": str(tmp_path)}
    assert effective(environ={**known, "VMAF_MCP_ASYNC": "trio"}) == effective(environ=known)


def test_the_remedy_for_a_mismatched_model_does_not_warn_itself() -> None:
    row = next(row for row in rows(section("Troubleshooting")) if "mismatched_model_warning" in row[0])
    for name, edges in (("vmaf_4k_v0.6.1", [(3840, 2160)]), ("vmaf_v0.6.1", [(1280, 720), (1920, 1080)])):
        assert f"`version={name}`" in row[-1]
        for edge in edges:
            assert first_mismatch([f"version={name}"], *edge) is None
    assert "no model is made for smaller pictures" in row[-1]


def test_limits_are_true() -> None:
    settings = AcuitySettings()
    text = section("Transports and options") + section("Security") + section("Long work")
    for words in (
        f"jobs that may wait (default {settings.queue})",
        f"seconds that a call may take (default {settings.time_limit:g})",
        f"may take (default {settings.submitted_limit:.0f}: six hours)",
        f"after SIGTERM (default {settings.grace:g})",
        f"at most {settings.body >> 20} MiB",
        f"requests in flight | {settings.calls_each} | {settings.calls * 3 // 4} | {settings.calls} |",
        f"from requests | | {settings.streams_each} | {settings.streams} |",
        f"Streamable HTTP | | {settings.max_sessions_each} | {settings.max_sessions} |",
        f"at `/sse` | | {settings.connections_each} | {settings.connections} |",
        f"HTTP connections | | {2 * settings.connections} | {4 * settings.connections} |",
        f"newest {settings.kept} are remembered",
    ):
        assert words in text, words


def test_statuses_resources_and_prompts(offered: Offered) -> None:
    text = section("Long work")
    statuses = text[text.index("Statuses are") : text.index("Every score is a job")]
    assert set(re.findall(r"`(\w+)`", statuses)) == set(get_args(Status))
    assert set(named(section("Resources"))) == offered.resources
    assert set(named(section("Prompts"))) == offered.prompts


def test_every_metric_and_outcome_is_there(offered: Offered) -> None:
    text = section("Operating")
    assert set(named(text)) == offered.metrics
    outcomes = text[text.index("Outcomes are") : text.index("Tools that don't exist")]
    assert re.findall(r"`(\w+)`", outcomes) == list(OUTCOMES)


def test_links_lead_somewhere() -> None:
    for target in re.findall(r"\]\(([^)]+)\)", PAGE):
        if target.startswith("https://"):
            continue
        file, _, heading = target.partition("#")
        page = (ROOT / "docs" / file).read_text() if file else PAGE
        titles = re.findall(r"^#+ (.+)$", page, re.MULTILINE)
        names = {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}
        assert not heading or heading in names, target
