"""Identify the user at the other end of a loopback connection, where the system can (Linux)."""

from __future__ import annotations

import os
import socket
import struct
from functools import cache
from typing import Final

# linux/sock_diag.h, linux/inet_diag.h
_SOCK_DIAG, _BY_FAMILY, _REQUEST = 4, 20, 1
_QUERY: Final = struct.Struct("=IHHII BBBxI")
_ANY: Final = struct.pack("=III", 0, 0xFFFFFFFF, 0xFFFFFFFF)
"""Any interface, any cookie."""
_ANY_STATE: Final = 0xFFFFFFFF
_OWNER: Final = 16 + 64
"""Offset of user and inode in an answer."""


def user_of(connection: socket.socket) -> int | None:
    """The user of the program at the other end of a local IPv4 connection.

    None if closed or unknown.
    """
    # Queries the kernel directly: /proc/net/tcp takes 6 ms, this 0.03.
    try:
        (host, port), (here, our_port) = connection.getpeername()[:2], connection.getsockname()[:2]
        ends = struct.pack("!HH4s12x4s12x", port, our_port, socket.inet_aton(host), socket.inet_aton(here))
        size = _QUERY.size + len(ends) + len(_ANY)
        query = _QUERY.pack(size, _BY_FAMILY, _REQUEST, 1, 0, socket.AF_INET, socket.IPPROTO_TCP, 0, _ANY_STATE)
        with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, _SOCK_DIAG) as kernel:
            kernel.settimeout(1.0)
            kernel.send(query + ends + _ANY)
            answer = kernel.recv(4096)
    except (OSError, AttributeError):
        return None
    if len(answer) < _OWNER + 8 or struct.unpack_from("=H", answer, 4)[0] != _BY_FAMILY:
        return None
    user, inode = struct.unpack_from("=II", answer, _OWNER)
    # A closed connection has no owner, and is reported as root's.
    return int(user) if inode else None


@cache
def can_identify_peers() -> bool:
    """Whether the system can identify the user of a connection's other end."""
    try:
        with (
            socket.create_server(("127.0.0.1", 0)) as server,
            socket.create_connection(server.getsockname()),
            server.accept()[0] as accepted,
        ):
            return user_of(accepted) == os.geteuid()
    except OSError:
        return False


def is_allowed(user: int | None) -> bool:
    """Whether `user` is the user of this process, or root, who may do everything anyway."""
    return user in (0, os.getuid(), os.geteuid())
