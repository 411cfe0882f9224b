"""Without an optional extra, what needs it says in one line how to install it; the rest works."""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

from ctxtui.project import signatures
from ctxtui.services.config.extras import DISTRIBUTION, EXTRAS, install_command
from ctxtui.services.config.mcp_servers import parse_server
from ctxtui.services.mcp.server_pool import ServerPermissions, ServerPool
from tests.cli.conftest import Run
from tests.corpus import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
PAGES = [
    path
    for path in ROOT.rglob("*.md")
    if not any(part.startswith((".", "build")) for part in path.relative_to(ROOT).parts)
]
INSTALLED = re.compile(
    r"(?:pip install|pipx install|pipx run --spec|uv tool install|uv pip install|uvx --from|uvx)"
    r"(?: -[-\w]+)* ['\"]?(ctx[\w-]*)(?:\[([\w,]+)\])?"
)
"""A command that installs ctxtui from the index, with the name and the extras."""


@pytest.fixture
def remove(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Make the package of an extra impossible to import, with everything below it."""

    def without(extra: str) -> None:
        package = EXTRAS[extra].module
        for name in [name for name in sys.modules if name.startswith((f"{package}.", "ctxtui.attach.local_ca"))]:
            monkeypatch.delitem(sys.modules, name)
        monkeypatch.setitem(sys.modules, package, None)

    return without


def test_the_extras_and_the_name_are_those_of_the_project() -> None:
    assert PROJECT["name"] == DISTRIBUTION
    assert set(EXTRAS) == {*PROJECT["optional-dependencies"]} - {"dev", "docs"}
    installed = re.search(r'-e "\.\[dev,([\w,]+)\]"', (ROOT / "scripts/install.sh").read_text(encoding="utf-8"))
    assert installed and set(installed[1].split(",")) == {*EXTRAS} - {"parquet", "cluster"}


def test_every_page_installs_it_by_that_name() -> None:
    named = {(page.name, *match) for page in PAGES for match in INSTALLED.findall(page.read_text(encoding="utf-8"))}
    assert ("money.md", DISTRIBUTION, "parquet") in named
    wrong = [entry for entry in named if entry[1] != DISTRIBUTION or {*filter(None, entry[2].split(","))} - {*EXTRAS}]
    assert not wrong
    sources = [path for path in (ROOT / "ctxtui").rglob("*.py") if "pip install" in path.read_text(encoding="utf-8")]
    assert [path.name for path in sources] == ["extras.py"]


@pytest.mark.parametrize(
    ("extra", "command"), [("mcp", "mcp serve"), ("forward", "exec --forward -- true"), ("keyring", "run x")]
)
def test_a_command_without_its_extra_names_it_in_one_line(
    extra: str, command: str, ctxtui: Run, remove: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CTXTUI_PROVIDER", "anthropic")
    remove(extra)
    ran = ctxtui(*command.split())
    assert ran.code and ran.err.count("\n") == 1, ran.err
    assert install_command(extra) in ran.err and "Traceback" not in ran.err


async def test_an_mcp_server_without_the_sdk_fails_with_the_extra_s_name(
    tmp_path: Path, remove: Callable[[str], None]
) -> None:
    remove("mcp")
    pool = ServerPool(
        [parse_server("any", {"command": "cat"})], ServerPermissions(tmp_path / "data"), tmp_path / "logs"
    )
    await pool.start()
    assert [server.error for server in pool.failed] == [f"mcp is not installed; {install_command('mcp')}"]
    await pool.close()


def test_code_is_outlined_without_its_parsers_and_a_plan_says_so(
    tmp_path: Path, ctxtui: Run, remove: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "import os\nLIMIT = 3\n\ndef run(a):\n    inner = 1\n    return inner\n"
    (tmp_path / "big.py").write_text(text * 2000)
    plan = ("budget", tmp_path, "--model", "codellama:34b")
    parsed = signatures.extract_signatures("a.py", text)
    assert install_command("code") not in ctxtui(*plan).out
    signatures._parser.cache_clear()
    remove("code")
    try:
        outline = signatures.extract_signatures("a.py", text)
        ran = ctxtui(*plan)
    finally:
        signatures._parser.cache_clear()
    assert "def run(a): …" in parsed and outline == "import os\ndef run(a):"
    assert ran.code == 0 and install_command("code") in ran.out


@pytest.mark.parametrize("extra", EXTRAS)
def test_doctor_lists_an_extra_that_is_missing(extra: str, ctxtui: Run, remove: Callable[[str], None]) -> None:
    remove(extra)
    (check,) = [check for check in ctxtui("doctor", "--json").json["checks"] if check["name"] == "extras"]
    installed, _, missing = check["text"].partition(";")
    assert check["state"] == "ok" and extra not in installed.split(", ") and f"{extra} ({EXTRAS[extra].use})" in missing
