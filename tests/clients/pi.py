"""pi."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from tests.clients.client import Client, Command
from tests.clients.lab import Lab

_MODEL = {
    "id": "claude-sonnet-4-5",
    "reasoning": True,
    "contextWindow": 200000,
    "maxTokens": 8192,
    "cost": {"input": 3, "output": 15, "cacheRead": 0.3, "cacheWrite": 3.75},
}


def _asked(lab: Lab, *args: str) -> Command:
    return [lab.client.program("pi"), "-p", "--provider", "off", "--model", "claude-sonnet-4-5", *args]


def _resume(lab: Lab, curated: Path, prompt: str) -> list[Command]:
    placed = lab.recorded()[0].with_name(curated.name)
    shutil.copy(curated, placed)
    return [_asked(lab, "--session", str(placed), prompt)]


def _spent(recording: Path) -> float:
    records = [json.loads(line) for line in recording.read_text().splitlines()]
    told = [one["message"].get("usage") for one in records if one["type"] == "message"]
    return sum(float(usage["cost"]["total"]) for usage in told if usage)


PI = Client(
    name="pi",
    env={"PI_OFFLINE": "1", "PI_TELEMETRY": "0"},
    files={
        "home/.pi/agent/models.json": json.dumps(
            {
                "providers": {
                    "off": {"baseUrl": "{url}", "api": "anthropic-messages", "apiKey": "any", "models": [_MODEL]}
                }
            }
        )
    },
    ask=lambda lab, prompt: _asked(lab, prompt),
    again=lambda lab, prompt: _asked(lab, "--continue", prompt),
    recordings="home/.pi/agent/sessions/*/*.jsonl",
    curate_to="pi",
    resume=_resume,
    spent=_spent,
)
