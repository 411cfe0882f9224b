"""Runs a program with a relay around it: the terminal is the program's, its exit code is what comes back."""

from __future__ import annotations

import asyncio
import os
import signal
import ssl
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path, PurePath
from typing import Final, Protocol
from urllib.parse import urlsplit

from ctxtui.attach.gate import Gate
from ctxtui.attach.recorder import Recorder
from ctxtui.attach.relay import SWITCH_INTERVAL, Relay
from ctxtui.attach.run import RecordedRun, new_run
from ctxtui.attach.upstream import Upstream
from ctxtui.core.errors import BadConfig
from ctxtui.services.attach.control import Control
from ctxtui.services.attach.desk.request_desk import RequestDesk
from ctxtui.services.attach.edits_gate import EditsGate
from ctxtui.services.attach.forking.fork_gate import ForkGate
from ctxtui.services.attach.forking.recorded_answers import RecordedAnswers
from ctxtui.services.attach.hold_rules import HoldRules
from ctxtui.services.attach.holding import HoldGate
from ctxtui.services.attach.program import Env, Program, Started
from ctxtui.services.attach.registry import own_folder
from ctxtui.services.config.settings import Settings

_USUAL: Final = ("SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS")
"""Variables that name certificates, whatever the program's own are."""


def trusted(env: Mapping[str, str], variables: Sequence[str]) -> bytes:
    """The certificates that count on this machine and those that `env` names by `variables`, in PEM."""
    found = list(_named(env, (*variables, *_USUAL)))
    system = _system()
    return b"\n".join([*found, *([system] if system else [])])


def _named(env: Mapping[str, str], variables: Sequence[str]) -> Iterator[bytes]:
    for path in dict.fromkeys(env[name] for name in variables if env.get(name)):
        with suppress(OSError):
            yield Path(path).read_bytes()


def _system() -> bytes:
    paths = ssl.get_default_verify_paths()
    for path in (paths.openssl_cafile, "/etc/ssl/certs/ca-certificates.crt", "/etc/ssl/cert.pem"):
        with suppress(OSError):
            return Path(path).read_bytes()
    context = ssl.create_default_context()
    own = "".join(map(ssl.DER_cert_to_PEM_cert, context.get_ca_certs(binary_form=True))).encode()
    if not own and find_spec("certifi") is not None:
        import certifi

        return Path(certifi.where()).read_bytes()
    return own


def written(certificates: bytes) -> Path:
    """A file of certificates for the time of a run, for its owner alone: they are public, no key is among them."""
    number, name = tempfile.mkstemp(prefix="ctxtui-trusted-", suffix=".pem")
    with os.fdopen(number, "wb") as file:
        file.write(certificates)
    return Path(name)


class Leading(Protocol):
    """A way in which `program` is led to us. `urls` are the base URLs that it is given, by provider."""

    urls: Mapping[str, str]

    async def begin(self, arguments: Sequence[str], cwd: str) -> Started:
        """Begin to serve; how the program is started with these arguments."""

    async def close(self) -> None:
        """End."""


class ByAddress:
    """A relay for each provider, whose base URL the program is given."""

    def __init__(
        self, program: Program, env: Env, recorder: Recorder, gate: Gate, upstreams: Sequence[Upstream]
    ) -> None:
        self._program, self._env = program, env
        self._relays = {one.name: Relay([one], recorder.put, recorder.next_name, gate=gate) for one in upstreams}
        self.urls: Mapping[str, str] = {}

    async def begin(self, arguments: Sequence[str], cwd: str) -> Started:
        """Begin to serve; how the program is started with these arguments."""
        for relay in self._relays.values():
            await relay.start()
        self.urls = {name: relay.base_url(relay.upstreams[0]) for name, relay in self._relays.items()}
        return self._program.started(self.urls, arguments, self._env, cwd)

    async def close(self) -> None:
        """End the relays."""
        for relay in self._relays.values():
            await relay.close()


class ByProxy:
    """A proxy that stands in for the providers' hosts, with certificates that this program alone is told to trust."""

    def __init__(
        self, program: Program, env: Env, recorder: Recorder, gate: Gate, upstreams: Sequence[Upstream]
    ) -> None:
        # Imported here: only a run with a forward proxy pays for certificates.
        from ctxtui.attach.forward import ForwardProxy
        from ctxtui.attach.local_ca import LocalAuthority

        self._program, self._env = program, env
        self._authority = LocalAuthority()
        self._proxy = ForwardProxy(
            upstreams, recorder.put, recorder.next_name, authority=self._authority, gate=gate, env=env
        )
        self._bundle: Path | None = None
        self.urls: Mapping[str, str] = {}

    async def begin(self, arguments: Sequence[str], cwd: str) -> Started:
        """Begin to serve; how the program is started with these arguments."""
        await self._proxy.start()
        known = trusted(self._env, self._program.certificates)
        self._bundle = written(known + b"\n" + self._authority.certificate)
        hosts = {one.host for one in self._proxy.upstreams}
        env = self._program.proxied(self._proxy.url, str(self._bundle), hosts, self._env)
        return Started(list(arguments), env)

    async def close(self) -> None:
        """End the proxy; nobody trusts its certificates any more."""
        await self._proxy.close()
        if self._bundle is not None:
            self._bundle.unlink(missing_ok=True)


NOT_FOUND: Final = 127
"""What a program that is not there ends with, as shells say it."""
NOT_RUN: Final = 126
"""What a file that cannot be run ends with."""
_SIGNALLED: Final = 128
"""Above it: the number of the signal that ended a program."""


@dataclass(slots=True, kw_only=True)
class Around:
    """A program and what is put around it. `given` are upstreams by name that the user named, `folder` is where
    recordings go, `database` holds the edits, `hold` says which requests wait; with `forward` it is led by a proxy and
    certificates of this run instead of base URLs;
    `say` is told what a person should hear once the program has ended."""

    command: Sequence[str]
    program: Program
    folder: Path
    database: Path
    env: Mapping[str, str]
    cwd: str
    given: Mapping[str, str] = field(default_factory=dict)
    tags: tuple[str, ...] = ()
    say: Callable[[str], None] = lambda text: None
    run: str = field(default_factory=new_run)
    recorder: Recorder = field(init=False)
    urls: dict[str, str] = field(default_factory=dict)
    """The base URLs that the program is given, by provider; none where it is led by a proxy."""
    hold: HoldRules = field(default_factory=HoldRules)
    settings: Settings = field(default_factory=Settings)
    policies: tuple[str, ...] = ()
    """Policies and files of profiles that stand over every thread."""
    policy_settings: tuple[str, ...] = ()
    forward: bool = False
    answers: RecordedAnswers | None = None
    """Those of a recorded session, for a program that forks from it."""
    fork: ForkGate | None = None
    gate: HoldGate = field(init=False)
    control: Control = field(init=False)
    _led: Leading = field(init=False)
    _ran: bool = field(init=False, default=False)

    def __post_init__(self) -> None:
        closed = self.program.closed(self.env)
        if closed and not self.given:
            raise BadConfig(closed, way_out="lead it to `ctxtui proxy` yourself, or name --as any and --upstream")
        known = self.program.upstreams(self.env, self.cwd)
        stray = next((name for name in self.given if name not in known), "")
        if stray:
            raise BadConfig(
                f"{self.program.name} asks no provider called {stray!r}",
                place="--upstream",
                way_out=f"it asks {', '.join(sorted(known))}",
            )

    @property
    def troubles(self) -> list[str]:
        """What went wrong in words: what was not recorded, what was not known of requests before they left."""
        desk = self.gate.desk
        return [
            *(f"not everything was recorded: {one}" for one in self.recorder.troubles),
            *(desk.troubles if desk is not None else ()),
        ]

    @property
    def unheard(self) -> str:
        """What may be done where the program ran and no request came by, in words; "" where one did."""
        if not self._ran or self.recorded or self.troubles:
            return ""
        name = PurePath(self.command[0]).name
        by = "it does not go by the proxy of its environment" if self.forward else "it has its address from elsewhere"
        ways = [] if self.forward else [f"`ctxtui exec --forward -- {name}`"]
        ways.append(f"the variables of its address in {own_folder() / f'{name}.toml'}")
        return f"nothing is recorded: no request to a model came by. If {name} made one, {by}; try {', or '.join(ways)}"

    @property
    def recorded(self) -> list[Path]:
        """The files that are written so far."""
        return self.recorder.files if hasattr(self, "recorder") else []

    def upstreams(self) -> list[Upstream]:
        """Whom the program would ask by itself, or what was named instead. Raises `BadConfig`."""
        found = dict(self.program.upstreams(self.env, self.cwd)) | dict(self.given)
        return [Upstream(name, url) for name, url in found.items()]

    async def serve(self) -> Started:
        """Begin to serve; how the program is started. Raises `BadConfig`."""
        upstreams = self.upstreams()
        if self.forward:
            upstreams += [Upstream(urlsplit(url).hostname or url, url) for url in self.program.also]
            plain = next((one for one in upstreams if not one.tls), None)
            if plain is not None:
                raise BadConfig(f"{plain.url} has no TLS, and needs no proxy", way_out="leave out --forward")
        name = Path(self.command[0]).name if self.command else ""
        urls = {one.name: one.url for one in upstreams}
        session = "" if self.program.doors == () else f"run-{self.run}"
        self.recorder = Recorder(
            RecordedRun(self.folder, self.run, session, program=name, cwd=self.cwd, tags=self.tags, upstreams=urls)
        )
        desk = RequestDesk(self.folder, self.settings, self.recorder.flush, self.policies, self.policy_settings)
        edits = EditsGate(self.database, session)
        self.gate = HoldGate(
            edits, self.hold, self.recorder.put, self._recorded, desk=desk, troubles=lambda: self.recorder.troubles
        )
        self.control = Control(self.folder, self.run, self.gate.answer)
        await self.control.start()
        self.fork = ForkGate(self.gate, self.answers) if self.answers is not None else None
        made = ByProxy if self.forward else ByAddress
        self._led = made(self.program, self.env, self.recorder, self.fork or self.gate, upstreams)
        started = await self._led.begin(list(self.command[1:]), self.cwd)
        self.urls = dict(self._led.urls)
        sys.setswitchinterval(SWITCH_INTERVAL)
        edits.look_ahead()
        return started

    def _recorded(self) -> list[str]:
        """The names of the files that are written."""
        return [path.name for path in self.recorder.files]

    async def close(self) -> None:
        """End the relays, and write what waits."""
        await self._led.close()
        await self.control.close()
        self.gate.close()
        await asyncio.to_thread(self.recorder.close)

    async def go(self) -> int:
        """Run the program to its end; its exit code. Raises `BadConfig`."""
        started = await self.serve()
        try:
            # Before the program runs: it may ask for one at once.
            passing = _PassedSignals(asyncio.get_running_loop())
            try:
                child = subprocess.Popen(
                    [self.command[0], *started.arguments], env={**self.env, **started.env}, cwd=self.cwd
                )
            except FileNotFoundError:
                self.say(f"{self.command[0]}: no such program")
                return NOT_FOUND
            except OSError as error:
                self.say(f"{self.command[0]}: {error.strerror}")
                return NOT_RUN
            self._ran = True
            passing.to(child)
            return await self._wait(child)
        finally:
            await self.close()

    async def _wait(self, child: subprocess.Popen[bytes]) -> int:
        loop = asyncio.get_running_loop()
        ended: asyncio.Future[int] = loop.create_future()

        def done(code: int) -> None:
            if not ended.done():
                ended.set_result(code)

        def wait() -> None:
            code = _waited(child.pid)
            with suppress(RuntimeError):
                loop.call_soon_threadsafe(done, code)

        threading.Thread(target=wait, name="ctxtui waits", daemon=True).start()
        code = await ended
        child.returncode = code
        return code if code >= 0 else _SIGNALLED - code


class _PassedSignals:
    """Signals for ctxtui go on to the program; those that come before it runs, as soon as it does."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._pid = 0
        self._early: list[signal.Signals] = []
        for number in (signal.SIGINT, signal.SIGQUIT):
            # The terminal sends them to the program as well, and what becomes of them is its own business.
            loop.add_signal_handler(number, lambda: None)
        for number in (signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(number, self._pass_on, number)

    def to(self, child: subprocess.Popen[bytes]) -> None:
        """The program runs."""
        self._pid = child.pid
        for number in self._early:
            self._pass_on(number)

    def _pass_on(self, number: signal.Signals) -> None:
        if not self._pid:
            self._early.append(number)
            return
        with suppress(ProcessLookupError):
            os.kill(self._pid, number)


def _waited(pid: int) -> int:
    """The exit code of `pid` once it has ended, below zero for a signal. A program that is stopped at a terminal stops
    ctxtui as well: the shell waits for ctxtui."""
    flags = os.WUNTRACED if os.isatty(0) else 0
    while True:
        _, status = os.waitpid(pid, flags)
        if os.WIFSTOPPED(status):
            os.kill(os.getpid(), signal.SIGSTOP)
            # Whoever wakes ctxtui alone means the program.
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)
            continue
        return os.waitstatus_to_exitcode(status)
