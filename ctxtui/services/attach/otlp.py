"""Sends calls as OpenTelemetry spans to a collector, by OTLP over HTTP.

The collector's keys come from the variables that OpenTelemetry's own exporters read, and are stored nowhere.
"""

from __future__ import annotations

import os
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from http.client import HTTPException
from pathlib import Path
from typing import Final, NamedTuple
from urllib.parse import unquote, urlsplit

from ctxtui.core.call import Call
from ctxtui.core.errors import BadConfig, CtxtuiError
from ctxtui.core.session import Session
from ctxtui.curation.mask_rules import Level
from ctxtui.curation.masking import Masker
from ctxtui.pricing.price import price_call
from ctxtui.providers.endpoint import check_address, is_loopback, must_withhold_key
from ctxtui.services.child_process import ChildGone
from ctxtui.services.config.package_data import mask_rules
from ctxtui.services.config.settings import Settings
from ctxtui.services.counting.pricing import prices_for
from ctxtui.services.recordings.open import load
from ctxtui.services.recordings.recording import Loaded
from ctxtui.services.worker import Worker
from ctxtui.transcripts.formats.opentelemetry.protobuf import encode, parse_rejection
from ctxtui.transcripts.formats.opentelemetry.written import Content, Span, call_span, wrap_spans
from ctxtui.wire.key_mask import mask_url

_PATH: Final = "/v1/traces"
_HEADERS: Final = ("OTEL_EXPORTER_OTLP_TRACES_HEADERS", "OTEL_EXPORTER_OTLP_HEADERS")
TIMEOUT_S: Final = 10.0
MAX_SPANS: Final = 50
"""Maximum spans of one request."""
MAX_CONTENT_BYTES: Final = 4 << 20
"""Approximate maximum size of a request of several spans that include content."""
MAX_WAITING_SPANS: Final = 10_000
"""Maximum spans that wait for a collector that does not answer; the oldest are dropped."""


def traces_url(url: str) -> str:
    """The URL for spans, from a collector's base URL or the whole address. Raises `BadConfig`."""
    check_address(url, "--otlp")
    parts = urlsplit(url)
    if parts.username or parts.password:
        raise BadConfig("a key in an address would be shown", place="--otlp", way_out=f"put it into {_HEADERS[1]}")
    path = parts.path.rstrip("/")
    return parts._replace(path=path if path.endswith(_PATH) else path + _PATH, fragment="").geturl()


def collector_headers(url: str, settings: Settings, env: Mapping[str, str]) -> dict[str, str]:
    """The collector's headers, from the first of OpenTelemetry's variables that is set.

    Raises `BadConfig` if they would go over plain http to another machine.
    """
    name = next((variable for variable in _HEADERS if env.get(variable)), "")
    pairs = (pair.partition("=") for pair in env.get(name, "").split(",") if pair.strip())
    headers = {unquote(key.strip()): unquote(value.strip()) for key, _, value in pairs}
    if headers and must_withhold_key(url, key_over_http=settings.key_over_http):
        raise BadConfig(
            f"{name} would go over plain http to another machine",
            place="--otlp",
            way_out="use https, or set key_over_http = true in your own configuration",
        )
    return headers


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """Refuses redirects, so that spans only go where the user said."""

    def redirect_request(self, *_: object) -> None:
        return None


@dataclass(slots=True)
class Exporter:
    """Sends spans to the collector at `url`, the oldest first.

    With `content` they include prompts and answers, with secrets masked. `lost` counts spans that were dropped here, or
    refused by the collector; `error` is the last request's ("": none).
    """

    url: str
    settings: Settings
    content: bool = False
    sent: int = 0
    lost: int = 0
    error: str = ""
    _waiting: list[tuple[str, str, Span]] = field(default_factory=list)
    _mask: Content = None
    _headers: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.url = traces_url(self.url)
        self._headers = collector_headers(self.url, self.settings, os.environ)
        self._mask = Masker(mask_rules(), Level.SECRETS).mask_value if self.content else None

    @property
    def waiting(self) -> int:
        return len(self._waiting)

    def add(self, session: Session, calls: Sequence[Call], name: str) -> None:
        """Queue the spans of `calls`; `name` is the session's name in them."""
        table = prices_for(self.settings)
        about = session.about
        for call in calls:
            cost = price_call(call, table)
            usd = cost.usd if cost is not None else None
            span = call_span(session, call, name=name, usd=usd, content=self._mask)
            self._waiting.append((about.client or about.source, about.version, span))
        if len(self._waiting) > MAX_WAITING_SPANS:
            self.lost += len(self._waiting) - MAX_WAITING_SPANS
            del self._waiting[:-MAX_WAITING_SPANS]

    def send(self) -> bool:
        """Send the queued spans; False if some still wait because the collector failed."""
        while self._waiting:
            client, version, _ = self._waiting[0]
            spans = list(self._next_request_spans(client, version))
            if not self._post(encode(wrap_spans(spans, client, version)), len(spans)):
                return False
            del self._waiting[: len(spans)]
        return True

    def _next_request_spans(self, client: str, version: str) -> Iterator[Span]:
        size = 0
        for number, (client_, version_, span) in enumerate(self._waiting[:MAX_SPANS]):
            size += len(str(span)) if self.content else 0
            if (client_, version_) != (client, version) or (number and size > MAX_CONTENT_BYTES):
                return
            yield span

    def _post(self, body: bytes, spans: int) -> bool:
        own = {"Content-Type": "application/x-protobuf", "User-Agent": "ctxtui"}
        request = urllib.request.Request(self.url, body, {**own, **self._headers}, method="POST")
        handlers: list[urllib.request.BaseHandler] = [_NoRedirect()]
        if is_loopback(self.url):
            handlers.append(urllib.request.ProxyHandler({}))
        try:
            with urllib.request.build_opener(*handlers).open(request, timeout=TIMEOUT_S) as answer:
                refused, why = (
                    parse_rejection(answer.read(1 << 16))
                    if "protobuf" in answer.headers.get_content_type()
                    else (0, "")
                )
        except urllib.error.HTTPError as error:
            error.close()
            self.error = f"{mask_url(self.url)} answers {error.code}"
            return False
        except (OSError, ValueError, HTTPException) as error:
            self.error = f"{mask_url(self.url)}: {getattr(error, 'reason', None) or error}"
            return False
        refused = min(refused, spans)
        self.lost += refused
        self.sent += spans - refused
        self.error = f"{mask_url(self.url)} refused {refused} spans: {why}" if refused else ""
        return True


CHECK_SECONDS: Final = 1.0
"""Seconds between checks of the recordings."""
FINAL_SECONDS: Final = 10.0
"""Seconds allowed for the rest when a run has ended."""
MAX_PAUSE_SECONDS: Final = 30.0
"""Maximum seconds between checks while a collector does not answer."""


class FeedStatus(NamedTuple):
    """Numbers of spans, and the last error."""

    sent: int = 0
    waiting: int = 0
    lost: int = 0
    error: str = ""


@dataclass(slots=True, kw_only=True)
class OtlpFeed:
    """Sends the calls of recordings (`files`) that begin from now on to the collector at `url`."""

    url: str
    settings: Settings
    content: bool
    files: Callable[[], Sequence[Path]]
    status: FeedStatus = field(default_factory=FeedStatus)
    _worker: Worker[FeedSender] = field(init=False)
    _stop: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread = field(init=False)
    _begun: float = field(init=False, default_factory=time.time)

    def __post_init__(self) -> None:
        self._worker = Worker(FeedSender, self.url, self.settings, self.content, self._begun)
        collector_headers(traces_url(self.url), self.settings, os.environ)
        self._thread = threading.Thread(target=self._work, name="ctxtui otlp", daemon=True)
        self._thread.start()

    def close(self, seconds: float = FINAL_SECONDS) -> list[str]:
        """Send the rest for at most `seconds`; return a message about spans that were not sent."""
        self._stop.set()
        self._thread.join(seconds)
        is_late = self._thread.is_alive()
        self._worker.close()
        self._thread.join(seconds)
        missing = self.status.waiting + self.status.lost
        why = self.status.error or ("the collector took longer than ctxtui waits" if is_late else "")
        return [f"{missing or 'some'} spans were not sent: {why}"] if missing or why else []

    def _work(self) -> None:
        pause = CHECK_SECONDS
        while not self._stop.wait(pause):
            self._check()
            pause = min(MAX_PAUSE_SECONDS, pause * 2) if self.status.waiting else CHECK_SECONDS
        self._check()

    def _check(self) -> None:
        files = list(self.files())
        if not files:
            return
        try:
            self.status = self._worker.call(FeedSender.send, files)
        except (ChildGone, CtxtuiError) as error:
            self.status = self.status._replace(error=str(error))


class FeedSender:
    """Follows recordings and sends their calls that began at `begun` or later; for a `Worker`."""

    def __init__(self, url: str, settings: Settings, content: bool, begun: float) -> None:
        self._exporter = Exporter(url, settings, content=content)
        self._begun = begun
        self._open: dict[Path, Loaded] = {}
        self._sent: set[tuple[Path, str]] = set()

    def send(self, files: Sequence[Path]) -> FeedStatus:
        """Read what is new in the recordings `files`, and send it."""
        trouble = ""
        for file in files:
            try:
                self._add(file)
            except CtxtuiError as error:
                # A recording has no context before its first answer; its calls are sent at the next check.
                trouble = str(error)
        exporter = self._exporter
        exporter.send()
        return FeedStatus(
            exporter.sent, exporter.waiting, exporter.lost, exporter.error or ("" if self._sent else trouble)
        )

    def _add(self, file: Path) -> None:
        loaded = self._open.get(file)
        if loaded is None:
            loaded = self._open[file] = load(file, own="")
        else:
            loaded.add_news(loaded.fetch())
        session = loaded.session
        new = [
            call
            for call in session.calls.values()
            if (file, call.id) not in self._sent and call.started is not None and call.started >= self._begun
        ]
        self._sent.update((file, call.id) for call in new)
        self._exporter.add(session, new, session.about.id or file.stem)
