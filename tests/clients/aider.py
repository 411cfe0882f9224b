"""aider."""

from __future__ import annotations

import shutil
from pathlib import Path

from tests.clients.client import Client, Command
from tests.clients.lab import Lab


def _asked(lab: Lab, *args: str) -> Command:
    # Streamed, it is told no usage.
    flags = "--no-git --no-stream --yes-always --no-auto-lint --no-check-update --no-show-release-notes"
    model = ["--model", "openai/gpt-5.6", "--no-show-model-warnings", "--llm-history-file", ".aider.llm.history"]
    return [lab.client.program("aider"), *flags.split(), "--analytics-disable", *model, *args]


def _resume(lab: Lab, curated: Path, prompt: str) -> list[Command]:
    shutil.copy(curated, lab.work / ".aider.chat.history.md")
    return [_asked(lab, "--restore-chat-history", "--message", prompt)]


_EXAMPLES = ("Change the greeting", "Ok, I will:\n\n1. Switch the greeting", "I switched to a new code base", "Ok.")
_FILES = "I am not sharing any files"
_RULES = "\n\nTo suggest changes to a file"


def _spoken(text: str) -> str:
    """Without the examples and what is said of files; the rules of its format stand behind the newest prompt."""
    return "" if text.startswith((*_EXAMPLES, _FILES)) else text.partition(_RULES)[0]


AIDER = Client(
    name="aider",
    env={
        "OPENAI_API_BASE": "{url}/v1",
        "OPENAI_API_KEY": "any",
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",
        "AIDER_ANALYTICS": "false",
    },
    ask=lambda lab, prompt: _asked(lab, "--message", prompt),
    again=lambda lab, prompt: _asked(lab, "--restore-chat-history"),
    recordings="work/.aider.chat.history.md",
    first="say what cerulean is",
    second="say where Rotterdam is",
    third="say what is near Rotterdam",
    last="say what a harbour is",
    rounds=1,
    talks=True,
    curate_to="aider",
    resume=_resume,
    spoken=_spoken,
)
