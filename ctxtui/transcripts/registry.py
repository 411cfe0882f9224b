"""Registry of the recording formats, which are detected by content and file name."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from importlib import import_module
from itertools import chain
from typing import Any, Final

from msgspec import Struct

from ctxtui.core.canonical import Json
from ctxtui.core.tree import Tree
from ctxtui.transcripts.kit import file_head
from ctxtui.transcripts.reader import ChangedReader, Reader


class Format(Struct, frozen=True):
    """A kind of recording.

    - `name`: unique; mostly the same as `Described.source` of its sessions.
    - `sniff(head, name)`: scores (0 to 1) the first bytes of a file (cut anywhere) and its file name.
    - `companions`: glob patterns of further files of a session, relative to its folder; ``{stem}`` is the file name
      without ending.
    - `is_companion(head, other_head)`: whether a file that matches `companions` belongs to the session, by the first
      bytes of both; None: always.
    - `bodies`: the client may write the bodies of its requests into a folder; those are companions too.
    - `bare`: a name for files without any context in errors ("this is ..."); "": made from `name`.
    - `open_usage`: makes a faster reader for the usage of calls without contexts; it raises `NeedsContexts` for files
      that need them.
    """

    name: str
    sniff: Callable[[bytes, str], float]
    open: Callable[[Tree], Reader]
    companions: tuple[str, ...] = ()
    bare: str = ""
    bodies: bool = False
    is_companion: Callable[[bytes, bytes], bool] | None = None
    open_usage: Callable[[Tree], Reader] | None = None


ExtraFormats = Callable[[], Iterable[Format]]

_CERTAIN_SCORE: Final = 0.99
"""A sniff score that ends detection; modules of later formats are not imported."""


def lazy_import(module: str, name: str, *first: str) -> Callable[..., Any]:
    """Make a function that, when called, imports `name` from a format's module and calls it.

    `first` are its leading arguments.
    """
    return lambda *more: getattr(import_module(f"ctxtui.transcripts.formats.{module}"), name)(*first, *more)


def _lazy_opener(module: str, name: str, *first: str) -> Callable[[Tree], Reader]:
    return with_pass_calls(lazy_import(module, name, *first))


def with_pass_calls(make_reader: Callable[[Tree], Reader]) -> Callable[[Tree], Reader]:
    """Make readers that also emit a call for each pass of another model in an answer.

    A pass is one run of a model that the provider made for the answer (see `passes`).
    """

    def open_(tree: Tree) -> Reader:
        # Imported late, as formats are: detection does not need it.
        from ctxtui.transcripts.passes import with_passes

        return ChangedReader(make_reader(tree), with_passes)

    return open_


def _make_format(
    name: str,
    module: str,
    companions: tuple[str, ...] = (),
    bare: str = "",
    *,
    bodies: bool = False,
    checks_companions: bool = False,
    usage: bool = False,
) -> Format:
    return Format(
        name,
        lazy_import(module, "sniff"),
        _lazy_opener(module, "reader"),
        companions,
        bare,
        bodies=bodies,
        is_companion=lazy_import(module, "is_companion") if checks_companions else None,
        open_usage=_lazy_opener(module, "usage_reader") if usage else None,
    )


def _bodies_format(name: str, dialect: str) -> Format:
    module, bare = "bodies.reader", "JSON bodies without any message"
    return Format(name, lazy_import(module, "sniff_as", dialect), _lazy_opener(module, "open_as", dialect), bare=bare)


FORMATS: Final[tuple[Format, ...]] = (
    _make_format(
        "claude code",
        "claude_code.reader",
        ("{stem}/subagents/*.jsonl", "agent-*.jsonl"),
        "Claude Code history without any message",
        bodies=True,
        usage=True,
    ),
    _make_format(
        "claude code bodies",
        "claude_code.written.files",
        bare="an index of Claude Code's API bodies without any of them",
    ),
    _make_format(
        "codex", "codex.session", ("rollout-*.jsonl",), "a Codex rollout without any message", checks_companions=True
    ),
    _make_format("attached", "attached", bare="a recording of ctxtui's own without any request to a model"),
    _make_format("ctxtui", "ctxtui.read", bare="a ctxtui session without any context"),
    _make_format("mini-swe-agent", "mini_swe_agent"),
    _make_format("pi", "pi.session", bare="a pi session without any message"),
    _make_format("vcr", "vcr", bare="a VCR cassette without model traffic"),
    _make_format("llm log", "request_log", bare="a log without a request that can be read"),
    _make_format("openhands", "openhands", ("events/event-*.json",), "an OpenHands state without events"),
    _make_format("openhands v0", "openhands_v0", bare="OpenHands events without any message"),
    _bodies_format("anthropic", "anthropic"),
    _bodies_format("openai chat", "openai_chat"),
    _bodies_format("openai responses", "openai_responses"),
    _bodies_format("google", "google"),
    _make_format("inspect", "inspect_ai.sample", bare="an Inspect log without samples"),
    _make_format("gemini cli", "gemini_cli", bare="a Gemini CLI session without any message of a model"),
    _make_format("qwen code", "qwen_code.session", bare="a Qwen Code session without any message"),
    _make_format(
        "kimi code", "kimi_code.session", ("../agent-*/wire.jsonl",), "a Kimi Code session without any message"
    ),
    _make_format(
        "cline",
        "cline.session",
        ("*.compaction.json", "*.messages.json", "[0-9]*.json"),
        "a Cline session without any message of a model",
        checks_companions=True,
    ),
    _make_format("continue cli", "continue_cli.session", bare="a Continue session without any message"),
    _make_format("goose request log", "goose.request_log", bare="a Goose log without a request"),
    _make_format("goose", "goose.database", bare="a database without any message of a Goose session"),
    _make_format("goose export", "goose.export", bare="a Goose session without any message"),
    _make_format("copilot cli", "copilot_cli.session", bare="a Copilot CLI session without any message of a model"),
    _make_format("har", "har", bare="a HAR file without model traffic"),
    _make_format("event stream", "event_stream", bare="an event stream (SSE) without any answer of a model"),
    _make_format("tau-bench", "tau_bench"),
    _make_format("livemcpbench", "livemcpbench"),
    _make_format("swe-agent", "swe_agent"),
    _make_format("openai items", "openai_items"),
    _make_format("aider", "aider.chat", (".aider.llm.history*", "aider.llm.history*")),
    _make_format(
        "aider llm history",
        "aider.llm_history",
        companions=(".aider.chat.history*", "aider.chat.history*"),
        bare="aider's record of messages without any request",
    ),
    _make_format("lm studio", "lm_studio", bare="an LM Studio log without the body of any request"),
    _make_format("lm studio counts", "lm_studio_counts", bare="an LM Studio log without the tokens of any request"),
    _make_format("job folder", "job_folder.reader", bare="a job folder without any prompt or response"),
    _make_format(
        "root llm log",
        "root_llm_log",
        companions=("config.json", "cost_tracking.json", "generations/gen_*/trial_*.json"),
    ),
    _make_format("opencode", "opencode.database", bare="an OpenCode session without any message"),
    _make_format("opencode export", "opencode.export", bare="an OpenCode session without any message"),
    _make_format("llm", "llm_logs"),
    _make_format("opentelemetry", "opentelemetry.reader", bare="an OpenTelemetry trace without any call of a model"),
    _make_format(
        "opentelemetry protobuf",
        "opentelemetry.protobuf",
        bare="an OpenTelemetry trace in protobuf without any call of a model",
    ),
)


def detect(head: bytes, name: str = "", further: ExtraFormats = tuple) -> Format | None:
    """Detect the format of a file from its first 64 KiB (cut anywhere) and its name.

    None if none fits. The highest score wins, of equal ones the first. `further` returns plugin formats; it is only
    called if no built-in format is certain.
    """
    head = head[: file_head.HEAD_BYTES]
    best, best_score = None, 0.0
    for form in chain(FORMATS, _plugin_formats(further)):
        score = form.sniff(head, name)
        if score > best_score:
            best, best_score = form, score
        if score >= _CERTAIN_SCORE:
            break
    return best


def _plugin_formats(further: ExtraFormats) -> Iterable[Format]:
    # A generator, so that `further` is called only if no built-in format is certain.
    yield from further()


def describe_file(head: bytes, name: str = "", further: ExtraFormats = tuple) -> str:
    """Describe a file without a context: ``a PNG image``, ``a pi session without any message``."""
    form = detect(head, name, further)
    if form is not None:
        return form.bare or f"{'an' if form.name[0] in 'aeiou' else 'a'} {form.name} file without any message"
    return _content_kind(head)


_MAGIC: Final = (
    (b"SQLite format 3\0", "a SQLite database"),
    (b"PK\x03\x04", "a ZIP archive"),
    (b"\x1f\x8b", "gzip data"),
    (b"\x28\xb5\x2f\xfd", "zstd data"),
    (b"\x89PNG\r\n", "a PNG image"),
    (b"\xff\xd8\xff", "a JPEG image"),
    (b"GIF8", "a GIF image"),
    (b"%PDF-", "a PDF document"),
    (b"\x7fELF", "a program"),
    (b"\xff\xfe", "UTF-16 text"),
    (b"\xfe\xff", "UTF-16 text"),
)
# Files of these formats that their `sniff` does not accept.
_JSON_KINDS: Final[tuple[tuple[frozenset[str], str], ...]] = (
    (frozenset({"eval", "plan"}), "an Inspect log"),
    (frozenset({"eval", "version"}), "an Inspect log"),
    (frozenset({"trajectory_format", "messages"}), "a mini-SWE-agent trajectory"),
)
_CONTROL: Final = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f]")
_MAX_CHARACTER_BYTES: Final = 4


def _content_kind(head: bytes) -> str:
    if not head:
        return "an empty file"
    if not head.strip():
        return "a file of white space only"
    for magic, text in _MAGIC:
        if head.startswith(magic):
            return text
    values = file_head.parse_values(head, limit=20)
    # A bare word or number parses as JSON too, but identifies nothing.
    values = [value for value in values if isinstance(value, dict | list)]
    if values and head.lstrip(b"\xef\xbb\xbf \t\r\n\0")[:1] in (b"{", b"["):
        return _json_kind(values)
    binary = _binary_at(head)
    if binary is not None:
        return f"binary data at byte {binary}"
    return _text_kind(head)


def _binary_at(head: bytes) -> int | None:
    head = head[: file_head.HEAD_BYTES]
    control = _CONTROL.search(head)
    try:
        head.decode()
    except UnicodeDecodeError as error:
        # The head may cut its last character.
        if error.start < len(head) - _MAX_CHARACTER_BYTES:
            return min(error.start, control.start()) if control else error.start
    return control.start() if control else None


def _json_kind(values: list[Json]) -> str:
    first = values[0]
    if isinstance(first, dict):
        if len(values) > 1 and str(first.get("type", "")).startswith("session."):
            return "a Copilot CLI session"
        for keys, text in _JSON_KINDS:
            if keys <= first.keys():
                return text
    return "JSON without any message of a model" if len(values) == 1 else "JSON lines without any message of a model"


def _text_kind(head: bytes) -> str:
    text = file_head.decode_head(head)
    if re.match(r"\s*<(!doctype html|html)", text, re.IGNORECASE):
        return "an HTML page"
    return "text without any JSON record"
