"""Pydantic AI."""

from __future__ import annotations

from tests.clients.client import CURATED, FOUND, RESUMED, Client, Command
from tests.clients.lab import Lab

_AGENT = '''\
import subprocess
import sys
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import ConsoleSpanExporter, SimpleSpanProcessor
from pydantic_ai import Agent
from pydantic_ai.models.instrumented import InstrumentationSettings

file = open("spans.jsonl", "a")
spans = ConsoleSpanExporter(out=file, formatter=lambda span: span.to_json(indent=None) + "\\n")
provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(spans))
Agent.instrument_all(InstrumentationSettings(tracer_provider=provider))
agent = Agent("anthropic:claude-sonnet-4-5", instructions="You help.")

@agent.tool_plain
def bash(command: str) -> str:
    """Run a command."""
    return subprocess.run(["sh", "-c", command], capture_output=True, text=True).stdout

print(agent.run_sync(sys.argv[1]).output)
'''
_TRACE = "spans are a trace; the history of messages is the program's own"


def _asked(lab: Lab, prompt: str) -> Command:
    return [lab.client.program("python"), "agent.py", prompt]


PYDANTIC_AI = Client(
    name="pydantic-ai",
    env={"ANTHROPIC_API_KEY": "any", "ANTHROPIC_BASE_URL": "{url}"},
    files={"work/agent.py": _AGENT},
    ask=_asked,
    again=None,
    recordings="work/spans.jsonl",
    first="run `cat a.txt` then run `sh gate.sh 1` then run `cat b.txt` then run `sh gate.sh 2`",
    lacks={
        FOUND: "its spans are where the program that uses it sends them",
        CURATED: _TRACE,
        RESUMED: _TRACE,
    },
)
