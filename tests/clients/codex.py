"""Codex."""

from __future__ import annotations

import shutil
from pathlib import Path

from tests.clients.client import Client, Command
from tests.clients.lab import Lab

_CONFIG = """\
model = "gpt-5.6-sol"
check_for_update_on_startup = false
approval_policy = "never"
sandbox_mode = "danger-full-access"
openai_base_url = "{url}/v1"
web_search = "disabled"
[analytics]
enabled = false
[otel]
exporter = "none"
"""
OWN_PROVIDER = (
    _CONFIG.replace('openai_base_url = "{url}/v1"', 'model_provider = "off"')
    + """\
[model_providers.off]
name = "off"
base_url = "{url}/v1"
wire_api = "responses"
env_key = "OPENAI_API_KEY"
"""
)
"""The same by a provider of the user's own, which is asked by HTTP."""


def _asked(lab: Lab, *args: str) -> Command:
    return [lab.client.program("codex"), "exec", "--skip-git-repo-check", *args]


def _resume(lab: Lab, curated: Path, prompt: str) -> list[Command]:
    """Beside the session that it was made of, whose name it has or one like it."""
    before = lab.recorded()[-1]
    placed = before.with_name(curated.name)
    shutil.copy(curated, placed)
    return [_asked(lab, "resume", "-".join(placed.stem.split("-")[-5:]), prompt)]


CODEX = Client(
    name="codex",
    env={"CODEX_HOME": "{home}/.codex", "OPENAI_API_KEY": "any", "CODEX_API_KEY": "any"},
    files={"home/.codex/config.toml": _CONFIG},
    ask=lambda lab, prompt: _asked(lab, prompt),
    again=lambda lab, prompt: _asked(lab, "resume", "--last", prompt),
    recordings="home/.codex/sessions/*/*/*/rollout-*.jsonl",
    first="run `cat a.txt` then run `sh gate.sh 1`",
    second="run `cat b.txt` then run `sh gate.sh 2`",
    curate_to="codex",
    resume=_resume,
)
