import asyncio
import os
import struct
import sys
import zlib

from mcp.server import MCPServer
from mcp.server.mcpserver import Image
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


@app.tool(structured_output=False)
def flood(size: int) -> str:
    """Say much."""
    return "x" * size


@app.tool()
async def hang(seconds: float) -> str:
    """Sleep."""
    print("hanging", file=sys.stderr, flush=True)
    try:
        await asyncio.sleep(seconds)
    except asyncio.CancelledError:
        print("cancelled", file=sys.stderr, flush=True)
        raise
    return "awake"


@app.tool(annotations=ToolAnnotations(read_only_hint=True), structured_output=False)
def picture(wide: int = 3) -> list[str | Image]:
    """A picture, in words and dots."""
    return ["a picture:", Image(data=png(wide), format="png"), "and no picture:", Image(data=b"dots", format="png")]


def png(wide: int) -> bytes:
    """A black picture, two dots high."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", wide, 2, 8, 0, 0, 0, 0)
    dots = zlib.compress((b"\0" + bytes(wide)) * 2)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", dots) + chunk(b"IEND", b"")


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
