"""A relay in a process of its own, recording on: what it adds to each chunk of a stream and to the first one, beside a
raw relay of bytes, and mitmproxy where the variable MITMDUMP names its ``mitmdump`` (perf.md, G14 and G15)."""

from __future__ import annotations

import asyncio
import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median

from benchmarks.measure import Result

_STAMP = re.compile(rb"T(\d{8,})")
_CHUNKS = 300
_GAP = 0.002
_BODY = b'{"model":"m","stream":true,"messages":[{"role":"user","content":"' + b"x" * 2000 + b'"}]}'

_UPSTREAM = f"""
import asyncio, sys, time
async def served(r, w):
    try:
        while True:
            head = await r.readuntil(b"\\r\\n\\r\\n")
            await r.readexactly(int(head.lower().split(b"content-length:")[1].split(b"\\r\\n")[0]))
            w.write(b"HTTP/1.1 200 OK\\r\\ncontent-type: text/event-stream\\r\\ntransfer-encoding: chunked\\r\\n\\r\\n")
            due = time.perf_counter()
            for _ in range({_CHUNKS}):
                data = b'data: {{"choices":[{{"delta":{{"content":"T%d "}}}}]}}\\n\\n' % time.perf_counter_ns()
                w.write(b"%x\\r\\n%s\\r\\n" % (len(data), data))
                await w.drain()
                due += {_GAP}
                await asyncio.sleep(max(0, due - time.perf_counter()))
            w.write(b"0\\r\\n\\r\\n")
    except (asyncio.IncompleteReadError, ConnectionError):
        w.close()
async def main():
    await (await asyncio.start_server(served, "127.0.0.1", int(sys.argv[1]))).serve_forever()
asyncio.run(main())
"""
_RAW = """
import asyncio, sys
async def pipe(r, w, kept):
    try:
        while data := await r.read(65536):
            kept.append(data); w.write(data); await w.drain()
    except ConnectionError:
        pass
    finally:
        w.close()
async def served(r, w):
    to, by = await asyncio.open_connection("127.0.0.1", int(sys.argv[2]))
    await asyncio.gather(pipe(r, by, []), pipe(to, w, []))
async def main():
    await (await asyncio.start_server(served, "127.0.0.1", int(sys.argv[1]))).serve_forever()
asyncio.run(main())
"""
_ADDON = (
    "def responseheaders(flow):\n    kept = []\n    flow.response.stream = lambda data: kept.append(data) or data\n"
)


def results(folder: Path, runs: int) -> list[Result]:
    """Added time, as a ratio to a raw relay's and to mitmproxy's."""
    with _targets(folder) as paths:
        took = asyncio.run(_measured(paths, runs))
    direct = took["direct"]
    added = {name: (one[0] - direct[0], one[1] - direct[1]) for name, one in took.items()}
    ours, raw = added["ours"], added["raw"]
    note = f"added {ours[1] * 1e3:.3f} ms, raw {raw[1] * 1e3:.3f} ms"
    found = [Result("relay: added to a chunk, p50 / a raw relay's", ours[1] / raw[1], 1.6, note=note)]
    first = f"added {ours[0] * 1e3:.2f} ms, raw {raw[0] * 1e3:.2f} ms"
    if "mitmproxy" in added:
        other = added["mitmproxy"][0]
        found.append(
            Result(
                "relay: added to the first chunk / mitmproxy's", ours[0] / other, 0.30,
                note=f"{first}, mitmproxy {other * 1e3:.2f} ms",
            )
        )  # fmt: skip
    else:
        found.append(
            Result("relay: added to the first chunk", ours[0] * 1e3, float("inf"), "ms", f"{first}; no MITMDUMP")
        )
    return found


async def _measured(paths: dict[str, tuple[int, str]], runs: int) -> dict[str, tuple[float, float]]:
    """Median seconds to the first chunk and of a chunk's way, by target; the targets take turns."""
    firsts: dict[str, list[float]] = {name: [] for name in paths}
    ways: dict[str, list[float]] = {name: [] for name in paths}
    for n in range(runs + 1):
        for name, (port, path) in paths.items():
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            for warm in (True, False):
                first, way = await _asked(reader, writer, path)
                if n and not warm:
                    firsts[name].append(first)
                    ways[name] += way
            writer.close()
    return {name: (median(firsts[name]), median(ways[name])) for name in paths}


async def _asked(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, path: str) -> tuple[float, list[float]]:
    start = time.perf_counter()
    head = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\ncontent-length: {len(_BODY)}\r\n\r\n"
    writer.write(head.encode() + _BODY)
    await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 60)
    first, way = 0.0, []
    while size := int(await reader.readline(), 16):
        data, now = await reader.readexactly(size + 2), time.perf_counter_ns()
        first = first or now / 1e9 - start
        way += [(now - int(stamp)) / 1e9 for stamp in _STAMP.findall(data)]
    await reader.readline()
    return first, way


@contextmanager
def _targets(folder: Path) -> Iterator[dict[str, tuple[int, str]]]:
    """Port and path of each target, while they serve."""
    there, raw, ours, other = (_free() for _ in range(4))
    path, env = "/v1/chat/completions", {**os.environ, "CTXTUI_HOME": str(folder / "home")}
    named = ["--upstream", f"x=http://127.0.0.1:{there}"]
    commands = [
        [sys.executable, "-c", _UPSTREAM, str(there)],
        [sys.executable, "-c", _RAW, str(raw), str(there)],
        [sys.executable, "-m", "ctxtui", "proxy", "--port", str(ours), *named],
    ]
    paths = {"direct": (there, path), "raw": (raw, path), "ours": (ours, f"/x{path}")}
    if mitmdump := os.environ.get("MITMDUMP"):
        addon = folder / "streaming.py"
        addon.write_text(_ADDON)
        mode = ["--mode", f"reverse:http://127.0.0.1:{there}", "-p", str(other), "--set", f"confdir={folder / 'mitm'}"]
        commands.append([mitmdump, "-q", "--listen-host", "127.0.0.1", *mode, "-s", str(addon)])
        paths["mitmproxy"] = (other, path)
    quiet = subprocess.DEVNULL
    children = [subprocess.Popen(one, env=env, stdout=quiet, stderr=quiet) for one in commands]
    try:
        for port, _ in paths.values():
            _wait(port)
        yield paths
    finally:
        for child in children:
            child.terminate()
        for child in children:
            child.wait(30)


def _free() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def _wait(port: int) -> None:
    limit = time.monotonic() + 60
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        except OSError:
            if time.monotonic() > limit:
                raise
            time.sleep(0.05)
