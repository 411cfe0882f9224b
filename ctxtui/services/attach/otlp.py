"""Sends calls as OpenTelemetry spans to a collector, by OTLP over HTTP; what could not be sent is kept and told.

Keys for the collector come from the variable that its own exporters read, and are written nowhere.
"""

from __future__ import annotations

import os
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, NamedTuple
from urllib.parse import unquote, urlsplit

from ctxtui.core.call import Call
from ctxtui.core.errors import BadConfig, CtxtuiError
from ctxtui.core.session import Session
from ctxtui.curation.mask_rules import Level
from ctxtui.curation.masking import Masker
from ctxtui.pricing.price import price_call
from ctxtui.providers.endpoint import is_loopback, is_plain
from ctxtui.services.child_process import ChildGone
from ctxtui.services.config.package_data import mask_rules
from ctxtui.services.config.settings import Settings
from ctxtui.services.counting.pricing import prices_for
from ctxtui.services.recordings.open import load
from ctxtui.services.recordings.recording import Loaded
from ctxtui.services.worker import Worker
from ctxtui.transcripts.formats.opentelemetry.protobuf import encode, parse_rejection
from ctxtui.transcripts.formats.opentelemetry.written import Content, Span, call_span, wrap_spans

LOCAL: Final = "http://127.0.0.1:4318"
"""Where a collector of this machine listens by default."""
_PATH: Final = "/v1/traces"
_HEADERS: Final = ("OTEL_EXPORTER_OTLP_TRACES_HEADERS", "OTEL_EXPORTER_OTLP_HEADERS")
_SECONDS: Final = 10.0
_TOGETHER: Final = 50
"""Spans of one request."""
_BYTES: Final = 4 << 20
"""Bytes about which a request ends, where spans say what was said."""
MOST_WAITING: Final = 10_000
"""Spans that wait for a collector that does not answer; the oldest go first."""


def address(url: str) -> str:
    """Where spans go, of a collector's base URL or the whole address. Raises `BadConfig`."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise BadConfig(f"{url!r} is no address of a collector", place="--otlp", way_out=f"such as {LOCAL}")
    if parts.username or parts.password:
        raise BadConfig("a key in an address would be shown", place="--otlp", way_out=f"put it into {_HEADERS[1]}")
    path = parts.path.rstrip("/")
    return parts._replace(path=path if path.endswith(_PATH) else path + _PATH, fragment="").geturl()


def headers_of(url: str, settings: Settings, env: Mapping[str, str]) -> dict[str, str]:
    """The headers that the collector wants, by the variables of OpenTelemetry. Raises `BadConfig` where they would go
    over plain http to another machine."""
    name = next((one for one in _HEADERS if env.get(one)), "")
    pairs = (pair.partition("=") for pair in env.get(name, "").split(",") if pair.strip())
    found = {unquote(key.strip()): unquote(value.strip()) for key, _, value in pairs}
    if found and is_plain(url, key_over_http=settings.key_over_http):
        raise BadConfig(
            f"{name} would go over plain http to another machine",
            place="--otlp",
            way_out="use https, or set key_over_http = true in your own configuration",
        )
    return found


class _Stay(urllib.request.HTTPRedirectHandler):
    """Follows no redirect: what is sent goes where the user said."""

    def redirect_request(self, *_: object) -> None:
        return None


@dataclass(slots=True)
class Exporter:
    """Sends spans to the collector at `url`, those that wait first; `content`: with what was asked and answered,
    secrets masked. `sent` and `lost` are counted, `why` says what was wrong last ("": nothing)."""

    url: str
    settings: Settings
    content: bool = False
    sent: int = 0
    lost: int = 0
    why: str = ""
    _waiting: list[tuple[str, str, Span]] = field(default_factory=list)
    _mask: Content = None
    _headers: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.url = address(self.url)
        self._headers = headers_of(self.url, self.settings, os.environ)
        self._mask = Masker(mask_rules(), Level.SECRETS).value if self.content else None

    @property
    def waiting(self) -> int:
        """Spans that could not be sent so far."""
        return len(self._waiting)

    def add(self, session: Session, calls: Sequence[Call], name: str) -> None:
        """Have `calls` of a session that is called `name` wait to be sent."""
        table = prices_for(self.settings)
        about = session.about
        for call in calls:
            cost = price_call(call, table)
            usd = cost.usd if cost is not None else None
            span = call_span(session, call, name=name, usd=usd, content=self._mask)
            self._waiting.append((about.client or about.source, about.version, span))
        if len(self._waiting) > MOST_WAITING:
            self.lost += len(self._waiting) - MOST_WAITING
            del self._waiting[:-MOST_WAITING]

    def send(self) -> bool:
        """Send what waits; whether all of it was."""
        while self._waiting:
            client, version, _ = self._waiting[0]
            spans = list(self._next(client, version))
            if not self._post(encode(wrap_spans(spans, client, version)), len(spans)):
                return False
            del self._waiting[: len(spans)]
        return True

    def _next(self, client: str, version: str) -> Iterator[Span]:
        size = 0
        for number, (of, at, span) in enumerate(self._waiting[:_TOGETHER]):
            size += len(str(span)) if self.content else 0
            if (of, at) != (client, version) or (number and size > _BYTES):
                return
            yield span

    def _post(self, body: bytes, spans: int) -> bool:
        own = {"Content-Type": "application/x-protobuf", "User-Agent": "ctxtui"}
        request = urllib.request.Request(self.url, body, {**own, **self._headers}, method="POST")
        handlers: list[urllib.request.BaseHandler] = [_Stay()]
        if is_loopback(self.url):
            handlers.append(urllib.request.ProxyHandler({}))
        try:
            with urllib.request.build_opener(*handlers).open(request, timeout=_SECONDS) as answer:
                refused, why = (
                    parse_rejection(answer.read(1 << 16))
                    if "protobuf" in answer.headers.get_content_type()
                    else (0, "")
                )
        except urllib.error.HTTPError as error:
            error.close()
            self.why = f"{self.url} answers {error.code}"
            return False
        except (OSError, ValueError) as error:
            self.why = f"{self.url}: {getattr(error, 'reason', None) or error}"
            return False
        refused = min(refused, spans)
        self.lost += refused
        self.sent += spans - refused
        self.why = f"{self.url} refused {refused} spans: {why}" if refused else ""
        return True


EVERY: Final = 1.0
"""Seconds between looks at the recordings."""
LAST: Final = 10.0
"""Seconds that the rest may take when a run has ended."""
_SLOWEST: Final = 30.0


class Fed(NamedTuple):
    """How far it is: spans that were `sent`, that still wait, that were `lost`; `why` says what was wrong last."""

    sent: int = 0
    waiting: int = 0
    lost: int = 0
    why: str = ""


@dataclass(slots=True, kw_only=True)
class OtlpFeed:
    """Sends the calls of the recordings `files` that begin from now on to the collector at `url`."""

    url: str
    settings: Settings
    content: bool
    files: Callable[[], Sequence[Path]]
    said: Fed = field(default_factory=Fed)
    _worker: Worker[FeedSender] = field(init=False)
    _stop: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread = field(init=False)
    _begun: float = field(init=False, default_factory=time.time)

    def __post_init__(self) -> None:
        self._worker = Worker(FeedSender, self.url, self.settings, self.content, self._begun)
        headers_of(address(self.url), self.settings, os.environ)
        self._thread = threading.Thread(target=self._work, name="ctxtui otlp", daemon=True)
        self._thread.start()

    def close(self, seconds: float = LAST) -> list[str]:
        """Send the rest, for at most so many seconds; what could not be sent, in words."""
        self._stop.set()
        self._thread.join(seconds)
        late = self._thread.is_alive()
        self._worker.close()
        self._thread.join(seconds)
        missing = self.said.waiting + self.said.lost
        why = self.said.why or ("the collector took longer than ctxtui waits" if late else "")
        return [f"{missing or 'some'} spans were not sent: {why}"] if missing or why else []

    def _work(self) -> None:
        pause = EVERY
        while not self._stop.wait(pause):
            self._look()
            pause = min(_SLOWEST, pause * 2) if self.said.waiting else EVERY
        self._look()

    def _look(self) -> None:
        files = list(self.files())
        if not files:
            return
        try:
            self.said = self._worker.call(FeedSender.send, files)
        except (ChildGone, CtxtuiError) as error:
            self.said = self.said._replace(why=str(error))


class FeedSender:
    """Reads recordings on, and sends their calls that began at `begun` or later; for a `Worker`."""

    def __init__(self, url: str, settings: Settings, content: bool, begun: float) -> None:
        self._exporter = Exporter(url, settings, content=content)
        self._begun = begun
        self._open: dict[Path, Loaded] = {}
        self._told: set[tuple[Path, str]] = set()

    def send(self, files: Sequence[Path]) -> Fed:
        """Send what is new in `files`."""
        trouble = ""
        for file in files:
            try:
                self._add(file)
            except CtxtuiError as error:
                # A recording has no context before its first answer; its calls come with the next look.
                trouble = str(error)
        exporter = self._exporter
        exporter.send()
        return Fed(exporter.sent, exporter.waiting, exporter.lost, exporter.why or ("" if self._told else trouble))

    def _add(self, file: Path) -> None:
        loaded = self._open.get(file)
        if loaded is None:
            loaded = self._open[file] = load(file, own="")
        else:
            loaded.take(loaded.fetch())
        session = loaded.session
        new = [
            call
            for call in session.calls.values()
            if (file, call.id) not in self._told and call.started is not None and call.started >= self._begun
        ]
        self._told.update((file, call.id) for call in new)
        self._exporter.add(session, new, session.about.id or file.stem)
