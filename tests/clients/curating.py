"""Curates an attached client while it works: `python -m tests.clients.curating RECORDINGS COUNT OUT`, in its namespace.

Each request of the client is held. Where results that were not curated yet stand in it, one of them is dropped,
truncated or replaced, the edit is applied, what the request will read from the cache is foretold, and it leaves under
the edits. OUT gets a line for each request: its exchange, which result was curated and how, and the forecast.
"""

from __future__ import annotations

import json
import re
import sys
import time
from collections import Counter as Times
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from ctxtui.analysis.cache.what_if import Replay
from ctxtui.core.edit import Target, make
from ctxtui.core.edit_kinds import DROP, REPLACE, TRUNCATE
from ctxtui.core.errors import NoContext
from ctxtui.core.session import MAIN
from ctxtui.services.attach.held_requests import decide, read_status
from ctxtui.services.attach.holding import APPLY
from ctxtui.services.config.config import load as load_config
from ctxtui.services.config.settings import Settings
from ctxtui.services.counting.books import book_for, cache_rules_by_call
from ctxtui.services.counting.counting import Counter
from ctxtui.services.editing.next_request import next_call_in
from ctxtui.services.editing.overlay import SessionEdits
from ctxtui.services.recordings.open import load

RESULT = re.compile(rb"RESULT-(\d+) line 1\b")
"""Begins what the N-th command that is run prints."""
STAND_IN = "curated: result {} is not needed any more"
_RESULTS = ("tool_result", "function_call_output", "custom_tool_call_output", "function_response")
KINDS = (TRUNCATE, REPLACE, DROP)
_KEPT = 3
"""Results that are left alone at the end of the context: the next edit is not always about the newest."""
_NEWEST = range(5, 1000, 8)
"""Which edits are about the newest result of all, which carries the client's last cache marker where it sets any."""
_PATIENCE = 240.0
"""Seconds without a request after which the client is taken to be done, or stuck."""


@dataclass
class Curating:
    """Curations of one session, `count` at most."""

    folder: Path
    count: int
    settings: Settings
    done: set[int] = field(default_factory=set)
    chance: Random = field(default_factory=lambda: Random(20))

    def run(self) -> Iterator[dict[str, Any]]:
        """What was done with each request."""
        done: Times[Path] = Times()
        until = time.monotonic() + _PATIENCE
        while time.monotonic() < until:
            for path in sorted(self.folder.glob("*.jsonl")):
                for held in read_status(path).held:
                    # Requests over a WebSocket are one exchange. The recording says a moment later that one waits.
                    if path.read_bytes().count(b'"held":') <= done[path]:
                        continue
                    done[path] += 1
                    told = self.curate(path, held.model) if held.thread == MAIN else {}
                    decide(self.folder, held.id, APPLY)
                    until = time.monotonic() + _PATIENCE
                    yield {"x": held.id, **told}
            time.sleep(0.02)

    def curate(self, path: Path, model: str) -> dict[str, Any]:
        """One more edit on the request that waits, and its forecast."""
        try:
            loaded = load(path)
        except NoContext:
            return {"calls": 0}
        session, counter = loaded.session, Counter()
        head = session.threads[MAIN].tip
        calls = session.thread_calls()
        told: dict[str, Any] = {"calls": len(calls)}
        if not calls:
            return told
        edits = SessionEdits(loaded, self.settings)
        overlay = edits.of_thread(MAIN)
        found: list[tuple[int, Target]] = []
        times: dict[str, int] = {}
        for block, _ in session.tree.items(head):
            times[block.digest] = times.get(block.digest, -1) + 1
            said = RESULT.search(block.body)
            if said and block.kind in _RESULTS:
                found.append((int(said[1]), Target(block.digest, times[block.digest])))
        old = found[-1:] if len(self.done) in _NEWEST else found[:-_KEPT]
        fresh = [one for one in old if one[0] not in self.done]
        if fresh and len(self.done) < self.count:
            number, target = self.chance.choice(fresh)
            kind = KINDS[len(self.done) % len(KINDS)]
            given: dict[str, Any] = {
                REPLACE: {"text": STAND_IN.format(number)},
                TRUNCATE: {"head": 90, "tail": 10},
            }.get(kind, {})
            overlay.stage_all([make(kind, [target], given)])
            overlay.apply()
            edits.save()
            self.done.add(number)
            told |= {"result": number, "kind": kind}
        book = book_for(session, counter, self.settings)
        replay = Replay(book, cache_rules_by_call(book))
        now = next_call_in(
            replay, book, counter, self.settings, MAIN, overlay.applied, time.time(), head=head, model=model
        )
        if now is not None:
            told |= {"read": now.forecast.read, "input": now.forecast.input}
        return told


def main() -> None:
    folder, count, out = Path(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3])
    with out.open("a") as file:
        for told in Curating(folder, count, load_config().settings).run():
            file.write(json.dumps(told) + "\n")
            file.flush()


if __name__ == "__main__":
    main()
