"""Sub-agents: task, result, and the tools that may start one."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Final, Protocol

from msgspec import Struct, field

from ctxtui.agent.tools.tool import Tool
from ctxtui.core.canonical import Json
from ctxtui.core.usage import Usage

AGENT: Final = "agent"
"""The tool that starts a sub-agent. The ids of sub-agents' threads begin with it: ``agent-1``."""
ROUNDS: Final = 30
"""Default maximum of requests by a sub-agent."""


class ChildTask(Struct, frozen=True, kw_only=True):
    """The task of a sub-agent.

    - `prompt`: the message that it gets, and nothing of the parent's conversation.
    - `label`: its name in lists.
    - `system`: the system prompt (None: that of a new chat).
    - `tools`: names or patterns. It may use the parent's tools that match one and need no permission, or were allowed
      for the whole session, but not start sub-agents itself.
    - `model`: another model of the same provider ("": the parent's).
    - `rounds`: maximum number of requests (0: no limit).
    - `answer_tokens`: maximum tokens of an answer (0: as in the settings).
    - `budget_usd`: it sends no request that would exceed this sum (None: only the parent's budget applies).
    """

    prompt: str
    label: str = ""
    system: str | None = None
    tools: tuple[str, ...] = ()
    model: str = ""
    rounds: int = ROUNDS
    answer_tokens: int = 0
    budget_usd: float | None = None


class ChildResult(Struct, frozen=True, kw_only=True):
    """The result of a sub-agent.

    - `text`: its last answer.
    - `thread`: the id of its thread in the session.
    - `why`: the reason for an early end ("": it finished).
    - `rounds`: number of answered requests.
    - `usage`: sum over the requests; `cost_usd`: their cost (None: not all of it is known).
    """

    text: str
    thread: str
    why: str = ""
    rounds: int = 0
    usage: Usage = field(default_factory=Usage.nothing)
    cost_usd: float | None = 0.0


class Agents(Protocol):
    """Starts sub-agents, each a thread of the session. Cancelling the awaiting task ends them."""

    async def start(self, task: ChildTask) -> ChildResult:
        """Run a sub-agent on `task`. Raises `CtxtuiError` if it cannot begin."""

    async def start_all(self, tasks: Sequence[ChildTask], *, after_first: bool = False) -> list[ChildResult]:
        """Run one on each of the `tasks`, several at once.

        With `after_first` the others start once the first one's answer has begun, so that they read its cache entries.
        """


class Caller(Struct, frozen=True):
    """The parts of the chat that a user's own tool may use; `say` shows the user a line."""

    folder: Path
    agents: Agents
    say: Callable[[str], object]


Work = Callable[[Mapping[str, Json], Caller], str | Awaitable[str]]


class OwnTool(Struct, frozen=True, kw_only=True):
    """A tool that a user wrote.

    `run` takes the checked input and a `Caller` and returns the text for the model; an exception is reported to the
    model. A plain function runs in a thread, a coroutine in the event loop; only a coroutine can start sub-agents. With
    `asks` the user is asked first.
    """

    name: str
    description: str
    run: Work
    properties: Mapping[str, Json] = field(default_factory=dict)
    required: tuple[str, ...] = ()
    asks: bool = True

    @property
    def definition(self) -> Tool:
        return Tool(self.name, self.description, self.properties, required=self.required)


async def _start_agent(arguments: Mapping[str, Json], caller: Caller) -> str:
    task = ChildTask(prompt=str(arguments["task"]), label=str(arguments.get("label", "")), tools=("*",))
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
    run=_start_agent,
    properties={
        "task": {"type": "string", "description": "What it is to do, and what its answer must say."},
        "label": {"type": "string", "description": "Two to five words for a list."},
    },
    required=("task",),
)
