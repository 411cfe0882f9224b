"""The offline provider in a process of its own: whoever has a screen does not wait for its tokenizer."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import ExitStack

from ctxtui.offline.anthropic.models import OFFLINE
from ctxtui.offline.counting import text_counter
from ctxtui.offline.http.hosting import offline
from ctxtui.offline.http.server import Server


def starter() -> Callable[[float], str]:
    """What a child process is asked with: given a pace in tokens a second, it serves at that pace until the process
    ends, and tells its address."""
    stack = ExitStack()

    def start(pace: float) -> str:
        running = stack.enter_context(offline(Server(pace=pace)))
        # The tokenizer is loaded while the person still writes.
        threading.Thread(target=text_counter(OFFLINE), args=("",), daemon=True).start()
        return running.url

    return start
