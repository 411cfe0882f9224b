"""Runs the offline provider and writes each request with its answer as a line of FILE: serve.py FILE PORT."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

from ctxtui.offline.http.hosting import serving
from ctxtui.offline.http.server import Seen, Server


async def main(file: Path, port: int) -> None:
    with file.open("a") as log:

        def told(seen: Seen) -> None:
            line = {"path": seen.path, "status": seen.status, "rule": seen.rule, "answer": seen.answer}
            print(json.dumps(line | {"request": seen.body.decode()}), file=log, flush=True)

        async with serving(Server(told=told), port=port) as running:
            print(json.dumps({"url": running.url}), flush=True)
            await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), int(sys.argv[2])))
