"""Sub-agents, as whoever starts them knows them: what one is to do, what came of it, and the tools that may start
some."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Final, Protocol

from msgspec import Struct, field

from ctxtui.agent.tools.tool import Tool
from ctxtui.core.canonical import Json
from ctxtui.core.usage import Usage

AGENT: Final = "agent"
"""The tool that starts a sub-agent, and the beginning of their threads' ids."""
ROUNDS: Final = 30
"""Requests that a sub-agent may make where nothing else is said."""


class ChildTask(Struct, frozen=True, kw_only=True):
    """What a sub-agent is to do. It reads its `system` prompt (None: the parent's) and the `prompt`, nothing of the
    parent's talk. Of the parent's tools it is offered those that fit one of `tools` (names or patterns; none by
    default) and need no leave. `label` is what lists call it, `model` another model of the same provider.

    It makes at most `rounds` requests (0: no limit) of at most `answer_tokens` (0: as the settings say), and sends
    nothing that would take it above `budget_usd` (None: the parent's budget alone holds)."""

    prompt: str
    label: str = ""
    system: str | None = None
    tools: tuple[str, ...] = ()
    model: str = ""
    rounds: int = ROUNDS
    answer_tokens: int = 0
    budget_usd: float | None = None


class ChildResult(Struct, frozen=True, kw_only=True):
    """What came of a sub-agent: the words of its last answer; `why` it ended before it was done ("": it is done); the
    requests that were answered, what they used, and their cost in USD (None: a price is not known). `thread` names its
    line of context in the session."""

    text: str
    thread: str
    why: str = ""
    rounds: int = 0
    usage: Usage = field(default_factory=Usage.nothing)
    cost_usd: float | None = 0.0


class Agents(Protocol):
    """Starts sub-agents, each a thread of the session. They end when whoever waits for them is cancelled."""

    async def start(self, task: ChildTask) -> ChildResult:
        """Let a sub-agent do `task`; what came of it. Raises `CtxtuiError` where it cannot begin."""

    async def start_all(self, tasks: Sequence[ChildTask], *, after_first: bool = False) -> list[ChildResult]:
        """Let one do each of the `tasks`, all at once; `after_first`: the others when the first one's answer began, so
        that they read from the cache what it wrote there."""


class Caller(Struct, frozen=True):
    """What a user's own tool may ask for: the folder of the chat, sub-agents, and a line to be told to the user."""

    folder: Path
    agents: Agents
    say: Callable[[str], object]


Work = Callable[[Mapping[str, Json], Caller], str | Awaitable[str]]


class OwnTool(Struct, frozen=True, kw_only=True):
    """A tool that a user wrote: what the model is told of it, as in `Tool`, and `run`, which gets the checked input and
    a `Caller` and gives what the model reads. A plain function runs in a thread, a coroutine in the event loop; only
    there it can start sub-agents. What it raises is told to the model. With `asks` the user is asked first."""

    name: str
    description: str
    run: Work
    properties: Mapping[str, Json] = field(default_factory=dict)
    required: tuple[str, ...] = ()
    asks: bool = True

    @property
    def told(self) -> Tool:
        """What the model is told of it."""
        return Tool(self.name, self.description, self.properties, required=self.required)


async def _start(given: Mapping[str, Json], caller: Caller) -> str:
    task = ChildTask(prompt=str(given["task"]), label=str(given.get("label", "")), tools=("*",))
    done = await caller.agents.start(task)
    ended = f"[The agent ended before it was done: {done.why}]" if done.why else ""
    return "\n\n".join(part for part in (done.text, ended) if part) or "[The agent said nothing.]"


START_AGENT: Final = OwnTool(
    name=AGENT,
    description=(
        "Start an agent with a context of its own for a part of the work, such as a search through many files, and "
        "read its last answer. It knows nothing of this conversation and cannot ask back: say all that it needs. "
        "Several calls at once run side by side."
    ),
    run=_start,
    properties={
        "task": {"type": "string", "description": "What it is to do, and what its answer must say."},
        "label": {"type": "string", "description": "Two to five words for a list."},
    },
    required=("task",),
)
