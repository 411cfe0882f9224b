"""Which MCP servers' tools a chat offers its model, and what a change of that does to the next request."""

from __future__ import annotations

from collections.abc import Collection

from ctxtui.agent.conversation import Draft, with_tools
from ctxtui.core.errors import CtxtuiError
from ctxtui.services.chat.host import Host


async def offer(host: Host, name: str, on: bool) -> str:
    """Offer the tools of the server `name` from the next request on, or no longer; what was done, in words. The server
    is started where it has to be, and a project's is from now on allowed.

    Raises `ServerFailed`, `NotFound`, and `CtxtuiError` while a turn runs."""
    tools, runner = host.tools, host.runner
    if tools is None or runner is None:
        raise CtxtuiError("the chat has not begun")
    if runner.state.running:
        raise CtxtuiError("a turn runs: its tools stay as they are", way_out="end it with esc, or wait")
    if on:
        await tools.servers.on(name)
    else:
        tools.servers.off(name)
    count = len(tools.servers.of(name).tools)
    told = f"the model is offered {count:,} tools of the MCP server {name}" + ("" if on else " no longer")
    host.go_on_in(with_tools(runner.conversation, tools.definitions), told)
    return told


def draft_with(host: Host, names: Collection[str]) -> Draft | None:
    """The next request if the tools of these servers were offered, under the applied edits; None before the chat has
    begun. Raises what drafting raises."""
    tools, runner = host.tools, host.runner
    if tools is None or runner is None:
        return None
    return host.shaped(with_tools(runner.conversation, tools.definitions_with(names)), acts=False).draft()
