"""Limits on the bytes unpacked and kept in memory from the network (docs/attach.md)."""

from __future__ import annotations

from typing import Final

MAX_HEAD: Final = 256 << 10
"""Bytes of an HTTP head."""
MAX_EARLY_HEADS: Final = 100
"""Heads such as ``100 Continue`` before that of an answer."""
MAX_BODY: Final = 64 << 20
"""Bytes of a body or WebSocket message, packed or not, that is recorded, edited or held, or read as an answer."""
MAX_MEMBERS: Final = 100
"""Consecutive packed streams in a body."""
MAX_READ_AHEAD: Final = 4 << 20
"""Bytes buffered from a client for its provider before the client has to wait."""
MAX_UNSENT: Final = 64 << 10
"""Bytes buffered for a slow end before the other one has to wait."""
MAX_UNWRITTEN: Final = 256 << 20
"""Bytes buffered for recording; further ones are not recorded."""
MAX_MCP_MESSAGE: Final = 16 << 20
"""Bytes of a line of an MCP server."""
