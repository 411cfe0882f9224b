"""A place for one client: a home and a project of its own, in a namespace with the offline provider."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.clients.client import ROOT, Client, Command
from tests.clients.namespace import Namespace, finish, namespace, tail
from tests.clients.wire import Exchange, exchanges

PORT = 4010
SECONDS = 60.0
"""How long a process of a client may take."""

OUT = "cerulean"
"""Stands in `a.txt` and is curated away."""
KEPT = "Rotterdam"
"""Stands in `b.txt` and stays."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lab:
    """`folder` holds `home`, the project `work` and what the offline provider saw, `wire`."""

    client: Client
    folder: Path
    space: Namespace
    url: str

    @property
    def home(self) -> Path:
        return self.folder / "home"

    @property
    def work(self) -> Path:
        return self.folder / "work"

    @property
    def wire(self) -> Path:
        """What the offline provider saw, as `--log` writes it."""
        return self.folder / "wire"

    @property
    def printed(self) -> Path:
        """What the client printed."""
        return self.folder / "printed.txt"

    @property
    def env(self) -> dict[str, str]:
        """The client's environment: nothing of the user's own but PATH."""
        own = {name: self.fill(value) for name, value in self.client.env.items()}
        folder = self.client.folder
        # pi wants a newer node than many machines have: it brings one along.
        path = f"{folder / 'bin'}:{folder / 'node_modules' / 'node' / 'bin'}:{os.environ['PATH']}"
        return {"HOME": str(self.home), "PATH": path, "LANG": "C.UTF-8", "TERM": "dumb", **own}

    def fill(self, text: str) -> str:
        """`text` with {url} and {home} filled in."""
        return text.replace("{url}", self.url).replace("{home}", str(self.home))

    def run(self, command: Command) -> None:
        """Run the client to its end."""
        self.end(self.space.start(command, cwd=self.work, env=self.env, log=self.printed))

    def begin(self, command: Command) -> subprocess.Popen[bytes]:
        """Start the client, its input open where it talks."""
        return self.space.start(command, cwd=self.work, env=self.env, log=self.printed, open_=self.client.talks)

    def end(self, running: subprocess.Popen[bytes]) -> None:
        """Wait until the client has ended well."""
        finish(running, self.printed, SECONDS)
        # What it asked last is in the log once its answer has left.
        sizes = [-1]
        soon(lambda: sizes.append(sum(log.stat().st_size for log in self.wire.glob("*"))) or sizes[-1] == sizes[-2], 5)

    def ctxtui(self, *args: str) -> Any:
        """What the command `ctxtui ... --json` says to somebody whose home this is."""
        out, said = self.folder / "ctxtui.json", self.folder / "ctxtui.txt"
        command = [sys.executable, "-m", "ctxtui", *args]
        env = self.env | {"PYTHONPATH": str(ROOT), "CTXTUI_HOME": str(self.home / "ctxtui")}
        self.space.run(command, cwd=self.work, env=env, log=said, out=out, seconds=SECONDS)
        return json.loads(out.read_bytes() or b"null")

    def open_gate(self, number: int) -> None:
        """Let the client past `gate.sh NUMBER`."""
        (self.work / f"open{number}").touch()

    def open_gates(self) -> None:
        """Let the client past every gate."""
        self.open_gate(1)
        self.open_gate(2)

    def close_gates(self) -> None:
        """Hold the client where it comes to a gate."""
        for path in self.work.glob("open?"):
            path.unlink()

    def seen(self) -> list[Exchange]:
        """What the offline provider was asked so far."""
        return exchanges(self.wire)

    def recorded(self) -> list[Path]:
        """The client's recordings, oldest first."""
        return sorted(self.folder.glob(self.client.recordings), key=lambda path: (path.stat().st_mtime, path.name))


def soon(told: Callable[[], bool], seconds: float) -> bool:
    """Whether `told` comes true within `seconds`."""
    limit = time.monotonic() + seconds
    while not (true := told()) and time.monotonic() < limit:
        time.sleep(0.05)
    return true


@contextmanager
def lab(client: Client, folder: Path) -> Iterator[Lab]:
    """A lab for `client` in `folder`; when it is left nothing of it runs on."""
    for name in ("home", "work"):
        (folder / name).mkdir(parents=True)
    work = folder / "work"
    # Large: whether a meter counts it or not is no matter of a few tokens.
    (work / "a.txt").write_text("".join(f"The colour of line {n} is {OUT}.\n" for n in range(400)))
    (work / "b.txt").write_text(f"The harbour is {KEPT}.\n")
    # `sh gate.sh 1` waits for the file `open1`: so a client is held at its work for as long as a test looks at it.
    (work / "gate.sh").write_text(
        "n=0; until [ -e open$1 ] || [ $n = 600 ]; do sleep 0.05; n=$((n + 1)); done; date +%j\n"
    )
    with namespace() as space:
        place = Lab(client=client, folder=folder, space=space, url=f"http://127.0.0.1:{PORT}")
        for name, text in client.files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(place.fill(text))
        log = folder / "offline.txt"
        serve = [sys.executable, "-m", "ctxtui", "offline", "--port", str(PORT), "--log", str(place.wire), "--json"]
        space.start(serve, cwd=ROOT, env=os.environ | {"PYTHONPATH": str(ROOT)}, log=log)
        assert soon(lambda: b"http" in log.read_bytes(), 20), f"the offline provider does not serve\n{tail(log)}"
        yield place
