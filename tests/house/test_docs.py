"""What the docs say is so: their job file is valid, their names are the code's, their links lead somewhere."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import tomllib

from orchestrator.cli.commands import HOUSE, JOBS
from orchestrator.model import exits
from orchestrator.model.jobfile import _JobFile, read_job
from orchestrator.model.unsupported import RESERVED

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(DOCS.glob("*.md")), ROOT / "examples" / "README.md"]


def _text(page: str) -> str:
    return (DOCS / page).read_text()


def _code(*rooms: str) -> str:
    sources = (path for room in rooms for path in (ROOT / room).rglob("*.py"))
    return "\n".join(path.read_text() for path in sources)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_leads_to_a_file(page: Path) -> None:
    links = re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text())
    assert [link for link in links if not (page.parent / link).exists()] == []


def test_every_page_that_the_code_refers_to_is_there() -> None:
    pages = set(re.findall(r"docs/[a-z-]+\.md", _code("orchestrator", "providers", "examples")))
    pages |= set(re.findall(r"docs/[a-z-]+\.md", (ROOT / "config.example.toml").read_text()))
    assert {page for page in pages if not (ROOT / page).exists()} == set()


def _job() -> str:
    (block,) = re.findall(r"```toml\n(.*?)```", _text("job-file.md"), re.DOTALL)
    return str(block)


def test_the_job_file_in_the_docs_is_valid_and_has_nothing_to_warn_of() -> None:
    assert read_job(_job()).warnings == ()


def _paths(kind: object, prefix: str = "") -> Iterator[str]:
    for name, field in kind.model_fields.items():  # type: ignore[attr-defined]
        inner = [part for part in (field.annotation, *getattr(field.annotation, "__args__", ())) if _is_table(part)]
        yield from _paths(inner[0], f"{prefix}{name}.") if inner else [f"{prefix}{name}"]


def _is_table(part: object) -> bool:
    return hasattr(part, "model_fields")


def test_the_docs_have_every_key_of_a_job_file_and_every_one_that_is_refused() -> None:
    text = _text("job-file.md")
    keys = {path.rpartition(".")[2] for path in _paths(_JobFile)}
    assert {key for key in keys if not re.search(rf"\b{key}\b", text)} == set()
    assert {path for path in RESERVED if path.partition(".")[2] not in text and path not in text} == set()
    assert tomllib.loads(_job())["name"]


def test_the_docs_have_every_command_and_every_exit_code() -> None:
    text = _text("commands.md")
    assert {name for name in (*JOBS, *HOUSE) if not re.search(rf"^\| `{name}\b", text, re.MULTILINE)} == set()
    codes = {value for name, value in vars(exits).items() if name.isupper()}
    assert {int(code) for code in re.findall(r"^\| (\d+) \|", text, re.MULTILINE)} == codes


def test_the_docs_have_every_variable_that_a_command_finds() -> None:
    found = set(re.findall(r'"(ORCH_[A-Z_]+)":', _code("orchestrator/agent"))) | {"ORCH_DATA", "ORCH_INSTANCE"}
    assert {name for name in found if f"`{name}`" not in _text("trainer-contract.md")} == set()


def test_the_docs_have_every_event_that_is_told_and_no_other() -> None:
    names = set(re.findall(r'"([a-z]+\.[a-z_]+)"', _code("orchestrator/control", "orchestrator/store")))
    families = {"job", "stage", "attempt", "launch", "instance", "agent", "checkpoint", "shard", "drill", "provider"}
    told = {name for name in names if name.partition(".")[0] in families}
    documented = set(re.findall(r"`([a-z]+\.[a-z_]+)`", _text("events.md")))
    assert told - documented == set()
    everywhere = _code("orchestrator", "providers")
    logged = set(re.findall(r'\.(?:info|warning|error|exception)\(\s*"([a-z]+\.[a-z_]+)"', everywhere))
    assert logged - documented == set()
    assert {name for name in documented if f'"{name}"' not in everywhere and not _is_built(name, everywhere)} == set()


def _is_built(name: str, code: str) -> bool:
    """Whether it may come from `f"job.{state}"`."""
    return f'f"{name.partition(".")[0]}.{{' in code
