"""Run an agent from Python, turn by turn, with your own tools, policies and observers.

async with agent_run(provider="anthropic", tools=[MY_TOOL], allow=["my_tool"]) as run:
    first = await run.tell("Look at the failing test")
    children = await run.agents.start_all([ChildTask(prompt="read a.py"), ChildTask(prompt="read b.py")])
    second = await run.tell("Now fix it")
"""

from __future__ import annotations

import asyncio
import io
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ctxtui.agent.child import OwnTool
from ctxtui.analysis.call_choice import choose_call
from ctxtui.core import canonical
from ctxtui.curation.policies.policy import Policy, Step
from ctxtui.curation.policies.profile import make_step
from ctxtui.services.chat.chat_model import ModelChoice
from ctxtui.services.chat.host import Host
from ctxtui.services.config.config import load
from ctxtui.services.config.policy_registry import build_steps, load_policies, profile_path, read_profile
from ctxtui.services.counting.books import book_for
from ctxtui.services.counting.counting import Counter, count_all
from ctxtui.services.counting.pricing import prices_for
from ctxtui.services.editing.curate import curate_context
from ctxtui.services.editing.edited_context import write_context
from ctxtui.services.headless.run import HeadlessRun, Observe, Say
from ctxtui.services.headless.run_options import RunOptions, RunResult
from ctxtui.services.recordings.open import load_stream


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
    say: Say = lambda line: None,
    observe: Observe = lambda news: None,
) -> HeadlessRun:
    """Create a run; send messages to its agent with `HeadlessRun.tell`.

    - `provider`, `model`, `base_url`, `log_dir`: as in `ctxtui run`, with the same defaults.
    - `session`: id of a session to continue.
    - `cwd`: the folder in which the agent works.
    - `system`: the prompt of a new session, or its parts, changing ones last.
    - `tools`: offered in addition to ctxtui's.
    - `policies`: names, with settings or without, or profile files; `own_policies`: further ones that it may name.
    - `allow`: names or patterns of tools that need no permission; files that other programs obey still do.
    - `rounds`: maximum number of requests for each message (0: no limit; None: the setting `max_rounds`).
    - `messages`, `length`: maximum messages of a request, and maximum characters of a tool result (0: no limit). None:
      the default of `ctxtui run`, or no limit if `policies` are given.
    - `budget_usd`: maximum cost (None: no limit).
    - `settings`: override those of the user's files.
    - `say`: receives lines to print.
    - `observe`: receives all events, also of sub-agents, after they were applied to `HeadlessRun.session`.

    Raises `BadConfig` and `NotFound` for misspelled arguments.
    """
    flags = [f"{name}={_format_value(value)}" for name, value in (settings or {}).items()]
    folder = Path(cwd).resolve()
    config = load(flags, cwd=folder)
    by_name = dict(load_policies()) | {policy.name: policy for policy in own_policies}
    options = RunOptions(
        task="",
        rounds=config.settings.max_rounds if rounds is None else rounds,
        named=tuple(step for policy in policies for step in _make_steps(policy, by_name)),
        messages=messages,
        length=length,
        budget_usd=budget_usd,
        allow=tuple(allow),
        log_dir=Path(log_dir) if log_dir is not None else None,
    )
    host = Host(ModelChoice(provider, model, base_url, session), config, folder)
    host.own.system, host.own.tools = system, tuple(tools)
    return HeadlessRun(options, host, say, observe)


def run_task(task: str, **arguments: Any) -> RunResult:
    """Run an agent on `task`; other arguments as in `agent_run`. Raises `CtxtuiError`."""

    async def run_once() -> RunResult:
        async with agent_run(**arguments) as run:
            return await run.tell(task)

    return asyncio.run(run_once())


def _make_steps(policy: str | tuple[str, Mapping[str, Any]], policies: Mapping[str, Policy]) -> tuple[Step, ...]:
    if not isinstance(policy, str):
        return (make_step(policy[0], policies, dict(policy[1])),)
    path = profile_path(policy, policies)
    return read_profile(path, policies).steps if path is not None else (make_step(policy, policies),)


def _format_value(value: Any) -> str:
    """Format a setting's value for ``--set``."""
    if isinstance(value, Mapping):
        return (
            f"{{{', '.join(f'{_format_nested(str(name))} = {_format_nested(item)}' for name, item in value.items())}}}"
        )
    return str(value).lower() if isinstance(value, bool) else str(value)


def _format_nested(value: Any) -> str:
    if isinstance(value, str | bool | list | tuple):
        # A JSON string is one of TOML, too.
        return json.dumps(value, ensure_ascii=False)
    return _format_value(value)


Body = dict[str, Any]


def curator(policies: str | Path | Iterable[str | Path], cwd: Path | str = ".") -> Callable[[Mapping[str, Any]], Body]:
    """Make a function that edits request bodies by `policies` (names, or profile files).

    Settings are those of the folder `cwd`. Raises `BadConfig` and `NotFound` for misspelled policies. The function
    raises `CtxtuiError` for a body that is no request, or if its edits leave nothing.
    """
    settings = load([], cwd=Path(cwd).resolve()).settings
    names = [policies] if isinstance(policies, str | Path) else list(policies)
    steps, counter, prices = build_steps([str(name) for name in names]), Counter(), prices_for(settings)

    def curate(request: Mapping[str, Any]) -> Body:
        loaded = load_stream(io.BytesIO(canonical.dumps(dict(request))), "the request")
        book = book_for(loaded.session, counter, settings)
        count_all(book, counter)
        curation = curate_context(
            book, counter, choose_call(loaded.session), steps=steps, usable_share=settings.usable_share, prices=prices
        )
        body: Body = canonical.loads(write_context(curation, "", None).data)
        return body

    return curate
