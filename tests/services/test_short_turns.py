"""The relay's turns on the processor: short ones, for itself alone."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from ctxtui.services.short_turns import SLICE, ask_for_short_turns

_GET = {"x86_64": 315, "aarch64": 275, "riscv64": 275}
_LOOK = f"""
import ctypes, json, os, struct
said = ctypes.create_string_buffer(48)
ctypes.CDLL(None).syscall({_GET.get(platform.machine(), 0)}, 0, said, 48, 0)
size, policy, flags, nice, priority, slice, *_ = struct.unpack("=IIQiIQQQ", said.raw)
found = [policy, nice, slice]
"""
known = pytest.mark.skipif(
    sys.platform != "linux" or platform.machine() not in _GET, reason="only Linux has turns that can be asked for"
)


def look() -> tuple[int, int, int]:
    """This thread's policy, nice value, and the nanoseconds of a turn (0: the kernel does not say)."""
    found: dict[str, list[int]] = {}
    exec(_LOOK, found)
    policy, nice, turn = found["found"]
    return policy, nice, turn


@known
def test_the_relays_turns_are_short_and_nobody_elses() -> None:
    def relay() -> tuple[object, ...]:
        before = look()
        asked = ask_for_short_turns()
        with ThreadPoolExecutor(1) as pool:
            thread = pool.submit(look).result()
        ran = subprocess.run(
            [sys.executable, "-c", f"{_LOOK}\nprint(json.dumps(found))"], capture_output=True, text=True, check=True
        )
        return before, asked, look(), thread, tuple(json.loads(ran.stdout))

    # In a thread of its own: what is asked for ends with it.
    with ThreadPoolExecutor(1) as pool:
        before, asked, after, thread, program = pool.submit(relay).result()
    assert isinstance(before, tuple) and isinstance(after, tuple)
    if not before[2]:
        pytest.skip("this kernel does not say how long turns are (Linux 6.12 does)")
    assert asked
    assert after == (*before[:2], SLICE)
    assert thread == program == before


@known
def test_who_was_started_with_a_policy_of_its_own_keeps_it() -> None:
    def relay() -> tuple[bool, int]:
        os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))
        return ask_for_short_turns(), os.sched_getscheduler(0)

    with ThreadPoolExecutor(1) as pool:
        asked, policy = pool.submit(relay).result()
    assert not asked and policy == os.SCHED_BATCH


def test_where_nothing_can_be_asked_for_nothing_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "m68k")
    assert not ask_for_short_turns()
    monkeypatch.undo()
    monkeypatch.setattr(sys, "platform", "darwin")
    assert not ask_for_short_turns()
    monkeypatch.undo()
    monkeypatch.setitem(sys.modules, "ctypes", None)
    assert not ask_for_short_turns()
