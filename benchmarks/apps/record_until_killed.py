"""Records an event every half millisecond until it is killed: ``record_until_killed.py DB``. An event's time is that of
the clock when it was handed over."""

import json
import sys
import time
from itertools import count
from pathlib import Path

from ctxtui.core.session import MAIN, Described, Session, ThreadSeen
from ctxtui.core.tree import Tree
from ctxtui.store.writer import InFlight, SessionBegun, Writer

PACE = 0.0005
session = Session(Tree()).fold([Described(id="bench", source="ctxtui"), ThreadSeen(MAIN)])
writer = Writer(Path(sys.argv[1]), session.tree)
writer.put(SessionBegun(session))
writer.wait(10)
print("ready", flush=True)
for number in count():
    data = json.dumps({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": f"{number}"}})
    writer.put(InFlight("call", time.time(), "heard", data))
    time.sleep(PACE)
