"""Gemini CLI with an API key."""

from __future__ import annotations

import json

from tests.clients.client import CURATED, RESUMED, Client, Command
from tests.clients.lab import Lab
from tests.clients.wire import Exchange

_SETTINGS = {
    "security": {"auth": {"selectedType": "gemini-api-key"}},
    "general": {"disableAutoUpdate": True, "disableUpdateNag": True},
    "privacy": {"usageStatisticsEnabled": False},
}
_RESUMES_WRONG = "it sends each tool result of a session that it resumes twice, which Google refuses"


def _asked(lab: Lab, *args: str) -> Command:
    program = lab.client.program("gemini")
    return [program, "-m", "gemini-3.1-pro-preview", "--approval-mode", "yolo", *args]


def _said(text: str) -> str:
    """Nothing for the client's words about folder and machine."""
    return "" if text.startswith("<session_context>") else text


def _checks_for_loops(one: Exchange) -> bool:
    """Whether it asks, after thirty turns, if the conversation is in a loop. It may begin with a call, which Google
    refuses (google-gemini/gemini-cli#11814).
    """
    return "unproductive_state_confidence" in json.dumps(one.request.get("generationConfig", {}))


GEMINI_CLI = Client(
    name="gemini-cli",
    env={
        "GEMINI_API_KEY": "any",
        "GOOGLE_GEMINI_BASE_URL": "{url}",
        "GEMINI_CLI_TRUST_WORKSPACE": "true",
        "GEMINI_CLI_HOME": "{home}",
    },
    files={"home/.gemini/settings.json": json.dumps(_SETTINGS)},
    ask=lambda lab, prompt: _asked(lab, "-p", prompt),
    # "Please ensure that the number of function response parts is equal to the number of function call parts".
    again=None,
    recordings="home/.gemini/tmp/*/chats/session-*.jsonl",
    spoken=_said,
    aside=_checks_for_loops,
    lacks={CURATED: _RESUMES_WRONG, RESUMED: _RESUMES_WRONG},
)
