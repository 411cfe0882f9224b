"""llm."""

from __future__ import annotations

from tests.clients.client import CURATED, RESUMED, Client, Command
from tests.clients.lab import Lab

_MODELS = """\
- model_id: gpt-5.6
  model_name: gpt-5.6
  api_base: "{url}/v1"
  supports_tools: true
"""
_TOOLS = '''\
import subprocess
def bash(command: str) -> str:
    """Run a command."""
    return subprocess.run(["sh", "-c", command], capture_output=True, text=True).stdout
def read(path: str) -> str:
    """Read a file."""
    return open(path).read()
'''
_NO_WAY_IN = "it has no command that takes a conversation in"


def _asked(lab: Lab, command: str, *args: str) -> Command:
    tools = str(lab.home / "tools.py")
    return [lab.client.program("llm"), command, "--functions", tools, "--chain-limit", "0", *args]


LLM = Client(
    name="llm",
    env={"LLM_USER_PATH": "{home}/.config/io.datasette.llm", "OPENAI_API_KEY": "any"},
    files={"home/.config/io.datasette.llm/extra-openai-models.yaml": _MODELS, "home/tools.py": _TOOLS},
    ask=lambda lab, prompt: _asked(lab, "prompt", "-m", "gpt-5.6", prompt),
    # Of a chain of tools it writes all turns at its end: several prompts in one process are seen one after the other.
    again=lambda lab, prompt: _asked(lab, "chat", "--continue"),
    second="read b.txt",
    third="run `ls`\nexit",
    talks=True,
    recordings="home/.config/io.datasette.llm/logs.db",
    lacks={CURATED: _NO_WAY_IN, RESUMED: _NO_WAY_IN},
)
