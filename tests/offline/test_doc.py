"""The example of docs/offline.md does what it says."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import anthropic

from ctxtui.offline.faults import KINDS
from ctxtui.offline.http.routes import ROUTES
from tests.offline.loop import anthropic_loop

DOC = (Path(__file__).parent.parent.parent / "docs" / "offline.md").read_text()


def agent(client: anthropic.Anthropic, task: str) -> None:
    system = [{"type": "text", "text": "Be kind. " * 400, "cache_control": {"type": "ephemeral"}}]
    anthropic_loop(client, task, system=system)


def test_the_example() -> None:
    code = next(block for block in re.findall(r"```python\n(.*?)```", DOC, re.S) if "@pytest.fixture" in block)
    scope: dict[str, Any] = {"my_agent": agent}
    exec(code.replace("@pytest.fixture\n", ""), scope)
    for provider in scope["provider"]():
        scope["test_my_agent_caches_its_prompt"](provider)


def test_paths_and_faults_are_listed() -> None:
    for path in ROUTES:
        assert path in DOC
    for kind in KINDS:
        assert f"`{kind}`" in DOC
