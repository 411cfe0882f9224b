"""How the process of a relay shares itself and the machine, so that a chunk waits for as little as it can: for no other
thread and no search for garbage in the process, and for no other program that has the processor just then."""

from __future__ import annotations

import gc
import os
import platform
import struct
import sys
from typing import Final

SWITCHING: Final = 0.00005
"""Seconds that a thread may keep the others waiting: a chunk never waits for the recorder."""
SLICE: Final = 100_000
"""Nanoseconds for which the relay wants the processor at a time: a chunk takes less. By default Linux gives one to
three milliseconds, and whoever asks for less comes sooner."""
_SCHED_SETATTR: Final = {"x86_64": 314, "aarch64": 274, "riscv64": 274}
"""The number of the system call: neither Python nor most C libraries have a function for it."""
_ATTRIBUTES: Final = struct.Struct("=IIQiIQQQ")
"""``struct sched_attr``: its size, policy, flags, nice value, priority, and three times, of which the first is the
slice."""
_RESET_ON_FORK: Final = 1
"""The program that is run, and other threads, have turns as long as any."""


def give_way() -> None:
    """Have nothing else keep what goes by waiting: no other thread of this process for long, no search for garbage
    among everything that is loaded by now, and other programs no longer than they must. For the thread of the event
    loop."""
    sys.setswitchinterval(SWITCHING)
    gc.collect()
    gc.freeze()
    ask_for_short_turns()


def ask_for_short_turns() -> bool:
    """Have the scheduler give this thread short turns, and soon, rather than long ones: its share of the processor
    stays the same. Whether it was asked; kernels before Linux 6.12 take it and do nothing."""
    number = _SCHED_SETATTR.get(platform.machine()) if sys.platform == "linux" else None
    # Whoever started ctxtui with a policy of another kind knows what for.
    if number is None or os.sched_getscheduler(0) != os.SCHED_OTHER:
        return False
    try:
        import ctypes
    except ImportError:
        # A Python that was built without it.
        return False
    nice = os.getpriority(os.PRIO_PROCESS, 0)
    asked = _ATTRIBUTES.pack(_ATTRIBUTES.size, os.SCHED_OTHER, _RESET_ON_FORK, nice, 0, SLICE, 0, 0)
    # Where that is not allowed (a sandbox's filter of system calls), turns are as long as any.
    return not ctypes.CDLL(None).syscall(number, 0, asked, 0)
