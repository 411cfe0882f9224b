"""A collector of OpenTelemetry on loopback that keeps what it is sent."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from ctxtui.core.session import Session
from ctxtui.services.recordings.open import load


@dataclass
class Collector:
    """What came: `bodies`, the `headers` of each request and its path. It answers with `status` and `answer`."""

    url: str = ""
    status: int = 200
    answer: bytes = b""
    bodies: list[bytes] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)

    def session(self, folder: Path) -> Session:
        """What came, as ctxtui reads traces."""
        file = folder / "traces.pb"
        file.write_bytes(b"".join(self.bodies))
        return load(file).session


@contextmanager
def collector() -> Iterator[Collector]:
    """A collector that serves meanwhile."""
    made = Collector()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            made.paths.append(self.path)
            made.headers.append({name.lower(): value for name, value in self.headers.items()})
            if made.status == 200:
                made.bodies.append(body)
            self.send_response(made.status)
            self.send_header("content-type", "application/x-protobuf")
            self.send_header("content-length", str(len(made.answer)))
            self.end_headers()
            self.wfile.write(made.answer)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    made.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield made
    finally:
        server.shutdown()
        server.server_close()
        thread.join(10)
