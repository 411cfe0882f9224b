"""Inspect."""

from __future__ import annotations

from tests.clients.client import CURATED, FOUND, RESUMED, Client, Command
from tests.clients.lab import Lab
from tests.clients.wire import Exchange

_TASK = '''\
import subprocess
from inspect_ai import Task, task
from inspect_ai.dataset import Sample
from inspect_ai.solver import generate, use_tools
from inspect_ai.tool import tool

@tool
def bash():
    async def execute(command: str) -> str:
        """Run a command.

        Args:
            command: The command to run.
        """
        return subprocess.run(["sh", "-c", command], capture_output=True, text=True).stdout
    return execute

@task
def look():
    asked = ["run `cat a.txt`", "run `sh gate.sh 1` then run `cat b.txt`", "run `sh gate.sh 2` then run `ls`"]
    return Task(dataset=[Sample(input=one, target="x") for one in asked], solver=[use_tools(bash()), generate()])
'''
_NO_SESSION = "an evaluation's log is a result, not a session that goes on"


def _asked(lab: Lab, prompt: str) -> Command:
    given = "--model openai/gpt-5.6 --display plain --log-dir logs --log-buffer 1 --max-samples 1"
    return [lab.client.program("inspect"), "eval", "look.py", *given.split()]


def _counts(one: Exchange) -> bool:
    """Before each sample one request counts its tokens."""
    return isinstance(one.request.get("input"), str)


INSPECT_AI = Client(
    name="inspect-ai",
    env={"OPENAI_API_KEY": "any", "OPENAI_BASE_URL": "{url}/v1"},
    files={"work/look.py": _TASK},
    ask=_asked,
    again=None,
    recordings="work/logs/*.eval",
    aside=_counts,
    lacks={
        FOUND: "its logs are where each evaluation is told to put them",
        CURATED: _NO_SESSION,
        RESUMED: _NO_SESSION,
    },
)
