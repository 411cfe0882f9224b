"""A run that holds requests, with everything real: a provider, a relay, the gate, what it records, its control line."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from ctxtui.attach.recorder import Recorder
from ctxtui.attach.relay import Relay
from ctxtui.attach.run import RecordedRun
from ctxtui.attach.upstream import Upstream
from ctxtui.offline import Provider, RunningProvider, Server, serving
from ctxtui.services.attach.control import Control
from ctxtui.services.attach.edits_gate import EditsGate
from ctxtui.services.attach.hold_rules import HoldRules
from ctxtui.services.attach.holding import HoldGate
from ctxtui.services.attach.preparation.preparer_client import PreparerClient
from ctxtui.services.config.settings import Settings


@dataclass(kw_only=True)
class HoldingRun:
    """`url` is what a program is given; `path` is what is recorded of its session, which is called ``s``."""

    provider: RunningProvider
    gate: HoldGate
    recorder: Recorder
    url: str
    path: Path

    async def until(self, there: Callable[[], bool]) -> None:
        async with asyncio.timeout(60):
            while not there():
                await asyncio.sleep(0.01)

    async def held(self, count: int = 1) -> None:
        await self.until(lambda: len(self.gate.held) == count)

    async def written(self) -> None:
        assert await asyncio.to_thread(self.recorder.flush)


@asynccontextmanager
async def holding(
    folder: Path,
    rules: HoldRules,
    database: Path | None = None,
    policies: tuple[str, ...] = (),
    given: tuple[str, ...] = (),
    url: str = "",
) -> AsyncIterator[HoldingRun]:
    async with serving(Server(Provider())) as provider:
        recorder = Recorder(RecordedRun(folder, "r", "s"))
        edits = EditsGate(database or folder / "ctxtui.db", "s")
        desk = PreparerClient(folder, Settings(data_dir=str(folder)), recorder.flush, policies, given)
        written, lost = (lambda: [path.name for path in recorder.files]), (lambda: recorder.troubles)
        gate = HoldGate(edits, rules, recorder.put, written, preparer=desk, troubles=lost)
        control = Control(folder, "r", gate.handle)
        relay = Relay([Upstream("x", url or provider.url)], recorder.put, recorder.next_name, gate=gate)
        await relay.start()
        await control.start()
        try:
            yield HoldingRun(
                provider=provider,
                gate=gate,
                recorder=recorder,
                url=f"http://127.0.0.1:{relay.port}",
                path=folder / "s.jsonl",
            )
        finally:
            await relay.close()
            await control.close()
            gate.close()
            await asyncio.to_thread(recorder.close)
