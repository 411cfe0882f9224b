"""What leads a program to us: relays whose addresses it is given, or a proxy that stands in for its providers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

from ctxtui.attach.gate import Gate
from ctxtui.attach.recorder import Recorder
from ctxtui.attach.relay import Relay
from ctxtui.attach.upstream import Upstream
from ctxtui.services.attach.program import Env, Program, Started
from ctxtui.services.attach.trust import trusted, written


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
