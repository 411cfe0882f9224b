"""The clients, in the order of `scripts/clients.txt`."""

from __future__ import annotations

import os

from tests.clients.aider import AIDER
from tests.clients.claude_code import CLAUDE_CODE
from tests.clients.client import Client
from tests.clients.cline import CLINE
from tests.clients.codex import CODEX
from tests.clients.continue_cli import CONTINUE_CLI
from tests.clients.copilot_cli import COPILOT_CLI
from tests.clients.frameworks import SCRIPTS
from tests.clients.gemini_cli import GEMINI_CLI
from tests.clients.goose import GOOSE
from tests.clients.inspect_ai import INSPECT_AI
from tests.clients.kimi_code import KIMI_CODE
from tests.clients.llm import LLM
from tests.clients.mini_swe_agent import MINI_SWE_AGENT
from tests.clients.opencode import OPENCODE
from tests.clients.pi import PI
from tests.clients.pydantic_ai import PYDANTIC_AI
from tests.clients.qwen_code import QWEN_CODE

CLIENTS: tuple[Client, ...] = (
    CLAUDE_CODE,
    CODEX,
    OPENCODE,
    PI,
    GEMINI_CLI,
    COPILOT_CLI,
    QWEN_CODE,
    KIMI_CODE,
    GOOSE,
    CONTINUE_CLI,
    CLINE,
    LLM,
    AIDER,
    MINI_SWE_AGENT,
    INSPECT_AI,
    PYDANTIC_AI,
)

FRAMEWORKS = (*(script.name for script in SCRIPTS), "boto3")
"""What is installed beside the clients, for `test_frameworks`, `test_in_process` and `test_bedrock`."""

ASKED = os.environ.get("REAL_CLIENTS") == "1"
"""Whether clients are run: `make test-clients` says so."""


def left_out(name: str) -> bool:
    """Whether CLIENTS leaves it out by name, or all of them."""
    given = os.environ.get("CLIENTS", "").split()
    return given == ["none"] or name in given


def strangers() -> list[str]:
    """The names in CLIENTS that no client has: a slip would leave out nothing, unsaid."""
    known = {"none", *FRAMEWORKS, *(one.name for one in CLIENTS)}
    return [name for name in os.environ.get("CLIENTS", "").split() if name not in known]
