"""Memory that is free given back to the system, in a process that took in something large.

The C library keeps what was freed for what may come next, of each thread apart, and the more of it the larger the
pieces were that went: after a long session was taken over that is a sixth of the process.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Final

_MMAP_THRESHOLD: Final = -3
"""``M_MMAP_THRESHOLD`` of glibc's ``mallopt``."""
_LARGE: Final = 1 << 18
"""Bytes from which on a piece is the system's again as soon as it is freed. Left to itself glibc raises this to the
size of any such piece that was freed, up to 32 MB."""


@cache
def _library() -> Any:
    """The C library where it can be asked; None elsewhere (musl, macOS, Windows)."""
    try:
        import ctypes

        library = ctypes.CDLL(None)
        _ = library.mallopt, library.malloc_trim
    except (ImportError, OSError, TypeError, AttributeError):
        return None
    return library


def expect_large_pieces() -> None:
    """Have large pieces be the system's as soon as they are freed, from now on."""
    library = _library()
    if library is not None:
        library.mallopt(_MMAP_THRESHOLD, _LARGE)


def give_back() -> None:
    """Give back what is free by now: some milliseconds."""
    library = _library()
    if library is not None:
        library.malloc_trim(0)
