"""An agent run from Python: what `ctxtui run` does, turn by turn, with tools, policies and observers of your own.

async with agent_run(provider="anthropic", tools=[MY_TOOL], allow=["my_tool"]) as run:
    first = await run.tell("Look at the failing test")
    children = await run.agents.start_all([ChildTask(prompt="read a.py"), ChildTask(prompt="read b.py")])
    second = await run.tell("Now mend it")
"""

from __future__ import annotations

import asyncio
import io
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ctxtui.agent.child import Agents, Caller, ChildResult, ChildTask, OwnTool
from ctxtui.analysis.call_choice import choose_call
from ctxtui.core import canonical
from ctxtui.core.errors import CtxtuiError
from ctxtui.curation.policies.policy import Policy, Step
from ctxtui.curation.policies.profile import make_step
from ctxtui.services.chat.chat_model import ModelChoice
from ctxtui.services.chat.chat_news import ChatNews
from ctxtui.services.chat.host import Host
from ctxtui.services.config.config import load
from ctxtui.services.config.policy_registry import build_steps, load_policies
from ctxtui.services.counting.books import book_for
from ctxtui.services.counting.counting import Counter, count_all
from ctxtui.services.counting.pricing import prices_for
from ctxtui.services.editing.curate import curated
from ctxtui.services.editing.edited_context import write_context
from ctxtui.services.headless.run import HeadlessRun, Observe, Say, unobserved
from ctxtui.services.headless.run_options import Outcome, RunOptions, RunResult, named_steps
from ctxtui.services.recordings.open import load_stream
from ctxtui.services.sandbox.command import CommandResult
from ctxtui.services.sandbox.confined import run_confined

__all__ = [
    "Agents",
    "Caller",
    "ChatNews",
    "ChildResult",
    "ChildTask",
    "CommandResult",
    "CtxtuiError",
    "HeadlessRun",
    "Outcome",
    "OwnTool",
    "RunResult",
    "agent_run",
    "curator",
    "run_confined",
    "run_task",
]  # fmt: skip


def silent(_: str) -> None:
    """Says nothing to anybody."""


def agent_run(
    *,
    provider: str = "",
    model: str = "",
    base_url: str = "",
    session: str = "",
    cwd: Path | str = ".",
    system: str | Sequence[str] = "",
    tools: Sequence[OwnTool] = (),
    policies: Iterable[str | tuple[str, Mapping[str, Any]]] = (),
    own_policies: Iterable[Policy] = (),
    allow: Sequence[str] = (),
    rounds: int | None = None,
    messages: int | None = None,
    length: int | None = None,
    budget_usd: float | None = None,
    log_dir: Path | str | None = None,
    settings: Mapping[str, Any] | None = None,
    say: Say = silent,
    observe: Observe = unobserved,
) -> HeadlessRun:
    """An agent that waits to be told what to do. `provider`, `model`, `base_url`, `allow`, `rounds`, `messages`,
    `length`, `budget_usd` and `log_dir` mean what the options of `ctxtui run` do, and are chosen as it chooses them
    where they are left out; `session` is one to go on with; the agent works in the folder `cwd`.

    `system` is the system prompt, or its parts: those that change stand last (`HeadlessRun.instruct` changes them).
    `tools` are offered beside ctxtui's. `policies` are names, with their settings or without, or files of profiles;
    `own_policies` are known by their names, too. `settings` stand over those of the user's files. `say` hears lines for
    people, `observe` everything that happens, of sub-agents too, after `HeadlessRun.session` has taken it in.

    Raises `BadConfig`, `NotFound` for what is spelled wrongly."""
    flags = [f"{name}={_spelled(value)}" for name, value in (settings or {}).items()]
    folder = Path(cwd).resolve()
    config = load(flags, cwd=folder)
    known = dict(load_policies()) | {policy.name: policy for policy in own_policies}
    options = RunOptions(
        task="",
        rounds=config.settings.max_rounds if rounds is None else rounds,
        named=tuple(step for policy in policies for step in _steps(policy, known)),
        messages=messages,
        length=length,
        budget_usd=budget_usd,
        allow=tuple(allow),
        log_dir=Path(log_dir) if log_dir is not None else None,
    )
    host = Host(ModelChoice(provider, model, base_url, session), config, folder)
    host.own.system, host.own.tools = system, tuple(tools)
    return HeadlessRun(options, host, say, observe)


def run_task(task: str, **given: Any) -> RunResult:
    """Let an agent do `task` and wait for it; the rest is as in `agent_run`. Raises `CtxtuiError`."""

    async def go() -> RunResult:
        async with agent_run(**given) as run:
            return await run.tell(task)

    return asyncio.run(go())


def _steps(policy: str | tuple[str, Mapping[str, Any]], known: Mapping[str, Policy]) -> tuple[Step, ...]:
    if not isinstance(policy, str):
        return (make_step(policy[0], known, dict(policy[1])),)
    file = Path(policy).expanduser()
    text = file.read_text(encoding="utf-8", errors="replace") if policy not in known and file.is_file() else None
    return named_steps(policy, text, dict(known))


def _spelled(value: Any) -> str:
    """A setting's value as ``--set`` takes it."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f'"{name}" = {_spelled_in(inner)}' for name, inner in value.items()) + "}"
    return str(value).lower() if isinstance(value, bool) else str(value)


def _spelled_in(value: Any) -> str:
    return f'"{value}"' if isinstance(value, str) else _spelled(value)


Body = dict[str, Any]


def curator(policies: str | Path | Iterable[str | Path], cwd: Path | str = ".") -> Callable[[Mapping[str, Any]], Body]:
    """What puts a request body under `policies` (names, or files of profiles) and returns the one that leaves. Blocks
    are counted once, however many requests hold them. Settings are those of the folder `cwd`.

    Raises `BadConfig`, `NotFound` for policies that are spelled wrongly; what it returns raises `CtxtuiError` for what
    is no request, or where no legal one is left."""
    settings = load([], cwd=Path(cwd).resolve()).settings
    named = [policies] if isinstance(policies, str | Path) else list(policies)
    steps, counter, prices = build_steps([str(one) for one in named]), Counter(), prices_for(settings)

    def curate(request: Mapping[str, Any]) -> Body:
        loaded = load_stream(io.BytesIO(canonical.dumps(dict(request))), "the request")
        book = book_for(loaded.session, counter, settings)
        count_all(book, counter)
        found = curated(
            book, counter, choose_call(loaded.session), steps=steps, usable_share=settings.usable_share, prices=prices
        )
        body: Body = canonical.loads(write_context(found, "", None).data)
        return body

    return curate
