"""Limits on received bytes that are decompressed or kept in memory (docs/attach.md)."""

from __future__ import annotations

from typing import Final

MAX_HEAD_BYTES: Final = 256 << 10
"""Bytes of an HTTP head, and of all trailers of a body."""
MAX_EARLY_HEADS: Final = 100
"""Heads of one answer: its own and those before it, such as ``100 Continue``."""
MAX_BODY_BYTES: Final = 64 << 20
"""Bytes, compressed and decompressed, of a request body or WebSocket message to record, edit or hold.

Also of an answer to hold, and of an answer to ctxtui's own request.
"""
MAX_COMPRESSED_MEMBERS: Final = 100
"""Compressed members (gzip members, zstd frames) in one body."""
MAX_READ_AHEAD_BYTES: Final = 4 << 20
"""Bytes buffered from a client for its provider before the client has to wait."""
MAX_UNSENT_BYTES: Final = 64 << 10
"""Bytes buffered for a slow peer before the other one has to wait."""
MAX_UNWRITTEN_BYTES: Final = 256 << 20
"""Bytes buffered for recording; further ones are not recorded."""
MAX_MCP_MESSAGE_BYTES: Final = 16 << 20
"""Bytes of a line of an MCP server over stdio; over HTTP `MAX_BODY_BYTES` applies."""
