"""How much is unpacked and kept in memory of what comes over a network. docs/attach.md names these figures."""

from __future__ import annotations

from typing import Final

MAX_HEAD: Final = 256 << 10
"""Bytes of an HTTP head."""
MAX_EARLY_HEADS: Final = 100
"""Heads such as ``100 Continue`` before that of an answer."""
MAX_BODY: Final = 64 << 20
"""Bytes of a body or a WebSocket message, packed and unpacked, that are kept whole: for the record, to be edited or
held. The Messages API takes requests of 32 MB."""
MAX_MEMBERS: Final = 100
"""Packed streams one behind the other in a body."""
MAX_READ_AHEAD: Final = 4 << 20
"""Bytes of a client that wait for its provider before the client has to wait."""
MAX_UNSENT: Final = 64 << 10
"""Bytes that wait for a slow end before the other one has to wait."""
MAX_UNWRITTEN: Final = 256 << 20
"""Bytes that wait to be recorded; what comes beyond is not recorded, and counted."""
MAX_MCP_MESSAGE: Final = 16 << 20
"""Bytes of a line of an MCP server."""
