"""A server without tools: a prompt with a resource in it, and resources on two pages."""

import asyncio

from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.types import (
    EmbeddedResource,
    GetPromptResult,
    ListPromptsResult,
    ListResourcesResult,
    Prompt,
    PromptMessage,
    Resource,
    TextContent,
    TextResourceContents,
)


async def list_prompts(context: object, parameters: object) -> ListPromptsResult:
    return ListPromptsResult(prompts=[Prompt(name="hello")])


async def get_prompt(context: object, parameters: object) -> GetPromptResult:
    note = EmbeddedResource(type="resource", resource=TextResourceContents(uri="note://x", text="buy milk"))
    parts = [TextContent(type="text", text="Do this:"), note]
    return GetPromptResult(messages=[PromptMessage(role="user", content=part) for part in parts])


async def list_resources(context: object, parameters: object) -> ListResourcesResult:
    cursor = getattr(parameters, "cursor", None)
    resources = [Resource(uri=f"file:///{cursor or 'first'}", name="r")]
    return ListResourcesResult(resources=resources, next_cursor=None if cursor else "second")


async def main() -> None:
    server: Server[object] = Server(
        "prompts", on_list_prompts=list_prompts, on_get_prompt=get_prompt, on_list_resources=list_resources
    )
    async with stdio_server() as (reads, writes):
        await server.run(reads, writes, server.create_initialization_options())


asyncio.run(main())
