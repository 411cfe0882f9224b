import asyncio
import os
import sys

from mcp.server import MCPServer
from mcp.types import ToolAnnotations

app = MCPServer("probe", instructions="be careful")


@app.tool(annotations=ToolAnnotations(read_only_hint=True))
def add(a: int, b: int) -> int:
    """Add."""
    print("adding", file=sys.stderr, flush=True)
    return a + b


@app.tool()
def die() -> str:
    """Exit."""
    print("dying", file=sys.stderr, flush=True)
    os._exit(3)


@app.tool()
async def hang(seconds: float) -> str:
    """Sleep."""
    try:
        await asyncio.sleep(seconds)
    except asyncio.CancelledError:
        print("cancelled", file=sys.stderr, flush=True)
        raise
    return "awake"


@app.resource("note://today")
def today() -> str:
    """Today's note."""
    return "buy milk"


@app.prompt()
def review(path: str) -> str:
    """Review a file."""
    return f"Review {path}."


if __name__ == "__main__":
    app.run(transport=sys.argv[1] if len(sys.argv) > 1 else "stdio")
