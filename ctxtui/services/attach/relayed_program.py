"""Runs a program on the user's terminal with a relay around it; returns its exit code."""

from __future__ import annotations

import asyncio
import os
import signal
import ssl
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path, PurePath
from typing import Final, NamedTuple, Protocol
from urllib.parse import urlsplit

from ctxtui.attach.exchange_events import ExchangeEvent
from ctxtui.attach.gate import Gate
from ctxtui.attach.recorder import Recorder
from ctxtui.attach.relay import SWITCH_INTERVAL, Relay
from ctxtui.attach.run import RecordedRun, new_run_name
from ctxtui.attach.upstream import Upstream
from ctxtui.core.errors import BadConfig, CtxtuiError
from ctxtui.services.attach.control import Control
from ctxtui.services.attach.edits_gate import EditsGate
from ctxtui.services.attach.forking.fork_gate import ForkGate
from ctxtui.services.attach.forking.recorded_answers import RecordedAnswers
from ctxtui.services.attach.hold_rules import HoldRules
from ctxtui.services.attach.holding import HoldGate
from ctxtui.services.attach.keep_warm import KeepWarm
from ctxtui.services.attach.preparation.preparer_client import PreparerClient
from ctxtui.services.attach.program import Env, Program, Started
from ctxtui.services.attach.registry import own_folder
from ctxtui.services.config.extras import import_extra
from ctxtui.services.config.settings import Settings

COMMON_CERTIFICATE_VARIABLES: Final = ("SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS")


def trusted_certificates(env: Mapping[str, str], variables: Sequence[str]) -> bytes:
    """Certificates (PEM) of this machine, and of files named by environment `variables`.

    Those of `COMMON_CERTIFICATE_VARIABLES` are always included.
    """
    named = _named_certificates(env, (*variables, *COMMON_CERTIFICATE_VARIABLES))
    return b"\n".join(filter(None, (*named, _system_certificates())))


def _named_certificates(env: Mapping[str, str], variables: Sequence[str]) -> Iterator[bytes]:
    for path in dict.fromkeys(env[name] for name in variables if env.get(name)):
        with suppress(OSError):
            yield Path(path).read_bytes()


def _system_certificates() -> bytes:
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


def write_certificates(certificates: bytes) -> Path:
    number, name = tempfile.mkstemp(prefix="ctxtui-trusted-", suffix=".pem")
    with os.fdopen(number, "wb") as file:
        file.write(certificates)
    return Path(name)


class Routing(Protocol):
    """A way to route the program's requests through ctxtui.

    `urls`: base URLs for the program, by provider; `troubles`: reasons why requests did not pass.
    """

    urls: Mapping[str, str]

    @property
    def troubles(self) -> Sequence[str]:
        pass

    async def begin(self, arguments: Sequence[str], cwd: str) -> Started:
        """Start serving; returns how to start the program with these arguments."""

    async def close(self) -> None:
        pass


class EventSink(NamedTuple):
    """Functions that a routing needs to report exchanges.

    `tell` takes an event, `name` returns the name of a new exchange, `clock` the time in Unix seconds.
    """

    tell: Callable[[ExchangeEvent], None]
    name: Callable[[], str]
    clock: Callable[[], float]


class BaseUrlRouting:
    """Route the program by base URLs, each of which leads to a relay for one provider."""

    troubles: Sequence[str] = ()

    def __init__(self, program: Program, env: Env, sink: EventSink, gate: Gate, upstreams: Sequence[Upstream]) -> None:
        self._program, self._env = program, env
        self._relays = {
            upstream.name: Relay([upstream], sink.tell, sink.name, gate=gate, clock=sink.clock)
            for upstream in upstreams
        }
        self.urls: Mapping[str, str] = {}

    async def begin(self, arguments: Sequence[str], cwd: str) -> Started:
        for relay in self._relays.values():
            await relay.start()
        self.urls = {name: relay.base_url(relay.upstreams[0]) for name, relay in self._relays.items()}
        return self._program.start_relayed(self.urls, arguments, self._env, cwd)

    async def close(self) -> None:
        for relay in self._relays.values():
            await relay.close()


class ProxyRouting:
    """Route the program through a forward proxy for the providers' hosts.

    Its certificates are made for this run.
    """

    def __init__(self, program: Program, env: Env, sink: EventSink, gate: Gate, upstreams: Sequence[Upstream]) -> None:
        # Imported here: only a run with a forward proxy pays for certificates.
        import_extra("forward")
        from ctxtui.attach.forward import ForwardProxy
        from ctxtui.attach.local_ca import LocalAuthority

        self._program, self._env = program, env
        self._authority = LocalAuthority()
        self._proxy = ForwardProxy(
            upstreams, sink.tell, sink.name, authority=self._authority, gate=gate, env=env, clock=sink.clock
        )
        self._bundle: Path | None = None
        self.urls: Mapping[str, str] = {}

    async def begin(self, arguments: Sequence[str], cwd: str) -> Started:
        await self._proxy.start()
        certificates = trusted_certificates(self._env, self._program.certificates)
        self._bundle = write_certificates(certificates + b"\n" + self._authority.certificate)
        hosts = {upstream.host for upstream in self._proxy.upstreams}
        env = self._program.proxy_variables(self._proxy.url, str(self._bundle), hosts, self._env)
        return Started(list(arguments), env)

    @property
    def troubles(self) -> Sequence[str]:
        return self._proxy.troubles

    async def close(self) -> None:
        await self._proxy.close()
        if self._bundle is not None:
            self._bundle.unlink(missing_ok=True)


COMMAND_NOT_FOUND: Final = 127
"""Exit code for a command that does not exist, as in shells."""
CANNOT_EXECUTE: Final = 126
"""Exit code for a file that cannot be executed, as in shells."""
SIGNAL_EXIT_BASE: Final = 128
"""Added to the number of a signal that ended a program, for its exit code."""


@dataclass(slots=True, kw_only=True)
class RelayedProgram:
    """A program, and the relay that runs around it.

    - `named_upstreams`: base URLs that the user gave, by provider.
    - `folder`: for the recordings; `database`: has the edits.
    - `keep_warm_usd`: limits the requests that keep caches warm (see `KeepWarm`); 0: none are sent.
    - `forward`: the program is routed by a proxy instead of base URLs.
    - `say`: prints why the program could not be started.

    Raises `BadConfig` if the program cannot be routed, or does not use a provider of `named_upstreams`.
    """

    command: Sequence[str]
    program: Program
    folder: Path
    database: Path
    env: Mapping[str, str]
    cwd: str
    named_upstreams: Mapping[str, str] = field(default_factory=dict)
    tags: tuple[str, ...] = ()
    say: Callable[[str], None] = lambda text: None
    run: str = field(default_factory=new_run_name)
    recorder: Recorder = field(init=False)
    urls: dict[str, str] = field(init=False, default_factory=dict)
    """The base URLs given to the program, by provider; empty with `forward`, and before `serve`."""
    hold: HoldRules = field(default_factory=HoldRules)
    settings: Settings = field(default_factory=Settings)
    policies: tuple[str, ...] = ()
    policy_settings: tuple[str, ...] = ()
    forward: bool = False
    keep_warm_usd: float = 0.0
    clock: Callable[[], float] = time.time
    answers: RecordedAnswers | None = None
    fork: ForkGate | None = field(init=False, default=None)
    gate: HoldGate = field(init=False)
    control: Control = field(init=False)
    keep_warm: KeepWarm | None = field(init=False, default=None)
    _routing: Routing = field(init=False)
    _started: Started = field(init=False)
    _has_run: bool = field(init=False, default=False)
    _unsaved: list[str] = field(init=False, default_factory=list)
    """Settings that the program changed and that could not be written back."""

    def __post_init__(self) -> None:
        reason = "" if self.forward else self.program.unroutable_reason(self.command[1:], self.env, self.cwd)
        if reason and not self.named_upstreams:
            raise BadConfig(reason, way_out="use --forward, which leaves its addresses as they are")
        upstreams = self.program.upstreams(self.env, self.cwd)
        unknown = next((name for name in self.named_upstreams if name not in upstreams), "")
        if unknown:
            raise BadConfig(
                f"{self.program.name} uses no provider called {unknown!r}",
                place="--upstream",
                way_out=f"it uses {', '.join(sorted(upstreams))}",
            )

    @property
    def troubles(self) -> list[str]:
        preparer = self.gate.preparer
        return [
            *(f"not everything was recorded: {trouble}" for trouble in self.recorder.troubles),
            *(preparer.troubles if preparer is not None else ()),
            *self._routing.troubles,
            *self._unsaved,
        ]

    @property
    def silence_advice(self) -> str:
        """Advice for the user if the program ran and nothing was recorded; else ""."""
        if not self._has_run or self.recorded_files or self.troubles:
            return ""
        name = PurePath(self.command[0]).name
        by = "it ignores the proxy variables" if self.forward else "its address is set elsewhere"
        ways = [] if self.forward else [f"`ctxtui exec --forward -- {name}`"]
        ways.append(f"its address variables in {own_folder() / f'{name}.toml'}")
        fix = f"If {name} made one, {by}; try {', or '.join(ways)}"
        return f"nothing is recorded: no request to a model passed the relay. {fix}"

    @property
    def recorded_files(self) -> list[Path]:
        return self.recorder.files if hasattr(self, "recorder") else []

    def upstreams(self) -> list[Upstream]:
        """The providers that the program uses, with the addresses of `named_upstreams`. Raises `BadConfig`."""
        urls = dict(self.program.upstreams(self.env, self.cwd)) | dict(self.named_upstreams)
        paths = self.program.paths(self.env)
        return [Upstream(name, url, paths.get(name, {})) for name, url in urls.items()]

    async def serve(self) -> Started:
        """Start serving; returns how to start the program. Raises `BadConfig`."""
        upstreams = self.upstreams()
        if self.forward:
            upstreams += [Upstream(urlsplit(url).hostname or url, url) for url in self.program.also]
            without_tls = next((upstream for upstream in upstreams if not upstream.tls), None)
            if without_tls is not None:
                raise BadConfig(f"{without_tls.url} has no TLS, and needs no proxy", way_out="remove --forward")
        name = Path(self.command[0]).name if self.command else ""
        urls = {upstream.name: upstream.url for upstream in upstreams}
        session = "" if self.program.providers == () else f"run-{self.run}"
        self.recorder = Recorder(
            RecordedRun(
                self.folder,
                self.run,
                session,
                program=name,
                cwd=self.cwd,
                tags=self.tags,
                upstreams=urls,
                clock=self.clock,
            )
        )
        preparer = PreparerClient(
            self.folder, self.settings, self.recorder.flush, self.policies, self.policy_settings, self.clock
        )
        edits = EditsGate(self.database, session, self.clock)
        tell = self.recorder.put
        if self.keep_warm_usd:
            names, clock = self.recorder.next_name, self.clock
            self.keep_warm = KeepWarm(self.keep_warm_usd, tell, names, edits, preparer, session, clock)
            tell = self.keep_warm.put
        self.gate = HoldGate(
            edits,
            self.hold,
            self.recorder.put,
            lambda: [path.name for path in self.recorder.files],
            preparer=preparer,
            clock=self.clock,
            troubles=lambda: self.recorder.troubles,
            keep_warm=self.keep_warm,
        )
        self.control = Control(self.folder, self.run, self.gate.handle)
        await self.control.start()
        self.fork = ForkGate(self.gate, self.answers) if self.answers is not None else None
        routing = ProxyRouting if self.forward else BaseUrlRouting
        sink = EventSink(tell, self.recorder.next_name, self.clock)
        self._routing = routing(self.program, self.env, sink, self.fork or self.gate, upstreams)
        self._started = await self._routing.begin(list(self.command[1:]), self.cwd)
        self.urls = dict(self._routing.urls)
        sys.setswitchinterval(SWITCH_INTERVAL)
        edits.load_ahead()
        if self.keep_warm is not None:
            self.keep_warm.start()
        return self._started

    async def close(self) -> None:
        if self.keep_warm is not None:
            await self.keep_warm.close()
        await self._routing.close()
        try:
            self._started.end()
        except CtxtuiError as error:
            self._unsaved.append(str(error))
        await self.control.close()
        self.gate.close()
        await asyncio.to_thread(self.recorder.close)

    async def run_to_end(self) -> int:
        """Run the program to its end; returns its exit code. Raises `BadConfig`."""
        started = await self.serve()
        try:
            # Before the program starts: signals may arrive at once.
            signals = _SignalForwarder(asyncio.get_running_loop())
            try:
                child = subprocess.Popen(
                    [self.command[0], *started.arguments], env={**self.env, **started.env}, cwd=self.cwd
                )
            except FileNotFoundError:
                self.say(f"{self.command[0]}: no such program")
                return COMMAND_NOT_FOUND
            except OSError as error:
                self.say(f"{self.command[0]}: {error.strerror}")
                return CANNOT_EXECUTE
            self._has_run = True
            signals.forward_to(child)
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
            code = _wait_for_exit(child.pid)
            with suppress(RuntimeError):
                loop.call_soon_threadsafe(done, code)

        threading.Thread(target=wait, name="ctxtui waits", daemon=True).start()
        code = await ended
        child.returncode = code
        return code if code >= 0 else SIGNAL_EXIT_BASE - code


class _SignalForwarder:
    """Forwards signals for ctxtui to the program, also those that arrive before it has started."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._pid = 0
        self._early: list[signal.Signals] = []
        for number in (signal.SIGINT, signal.SIGQUIT):
            # The terminal sends them to the program as well, which handles them itself.
            loop.add_signal_handler(number, lambda: None)
        for number in (signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(number, self._forward, number)

    def forward_to(self, child: subprocess.Popen[bytes]) -> None:
        self._pid = child.pid
        for signal_ in self._early:
            self._forward(signal_)

    def _forward(self, number: signal.Signals) -> None:
        if not self._pid:
            self._early.append(number)
            return
        with suppress(ProcessLookupError):
            os.kill(self._pid, number)


def _wait_for_exit(pid: int) -> int:
    """Wait for `pid`; returns its exit code, below zero for a signal.

    If the program is stopped at a terminal, ctxtui stops too, because the shell waits for ctxtui.
    """
    flags = os.WUNTRACED if os.isatty(0) else 0
    while True:
        _, status = os.waitpid(pid, flags)
        if os.WIFSTOPPED(status):
            os.kill(os.getpid(), signal.SIGSTOP)
            # SIGCONT may have been sent to ctxtui alone; it is meant for the program.
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)
            continue
        return os.waitstatus_to_exitcode(status)
