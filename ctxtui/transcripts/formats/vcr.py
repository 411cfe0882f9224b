"""VCR cassettes: HTTP exchanges in YAML, as written by Python's vcrpy and Ruby's VCR."""

from __future__ import annotations

import base64
import re
import zlib
from collections.abc import Iterator
from typing import Any, Final

from ctxtui.core import canonical
from ctxtui.core.canonical import Json
from ctxtui.core.json_values import as_count, as_dict, as_list, as_str
from ctxtui.core.session import Described, Event, Skipped
from ctxtui.core.tree import Tree
from ctxtui.transcripts.kit import file_head
from ctxtui.transcripts.kit.fields import as_dicts, as_time
from ctxtui.transcripts.kit.http_exchange.exchanges import Exchanges
from ctxtui.transcripts.kit.http_exchange.pair import Exchange, identify_sender, read_betas
from ctxtui.transcripts.kit.readers import whole_reader

NAME: Final = "vcr"
_MAX_VALUES: Final = 20_000_000
"""Values that a document may expand to; nested aliases can make a small file endless."""

_KEYS: Final = ("interactions", "http_interactions")
_BEGIN: Final = re.compile(
    r"(?:%YAML[^\n]*\n)?(?:#[^\n]*\n)*(?:---[^\n]*\n)?(?:version: \d+\n)?(http_)?interactions:\s*\n"
)
_TRIES: Final = 60
"""Interactions that are dropped from the end of a damaged cassette until the rest can be parsed."""
_WRAPPERS: Final = frozenset({"string", "bytes", "base64_string", "base64"})
"""Members that hold the bytes of a mapping named ``body``."""


def sniff(head: bytes, name: str) -> float:
    text = file_head.decode_head(head[:400]).replace("\r\n", "\n")
    if _BEGIN.match(text):
        return 0.95
    first = next(iter(file_head.parse_values(head)), None) if head.lstrip()[:1] == b"{" else None
    return 0.9 if any("request" in entry for key in _KEYS for entry in as_dicts(as_dict(first).get(key))[:1]) else 0.0


def _parse(data: bytes, tree: Tree) -> tuple[list[Event], Skipped | None]:
    value, tail = load(data)
    cassette = as_dict(value)
    exchanges = Exchanges(tree)
    events: list[Event] = [Described(source=NAME, client=as_str(cassette.get("recorded_with")))]
    for key in _KEYS:
        for n, entry in enumerate(as_list(cassette.get(key))):
            if isinstance(entry, dict) and isinstance(entry.get("request"), dict):
                events += exchanges.add_exchange(_make_exchange(entry))
            else:
                events.append(Skipped(1, f"an interaction without request @ $.{key}[{n}]"))
    events += exchanges.threads.settle()
    return [*events, Described(title=exchanges.threads.title)], tail


def _make_exchange(entry: dict[str, Json]) -> Exchange:
    request, response = as_dict(entry.get("request")), as_dict(entry.get("response"))
    status = response.get("status")
    recorded, headers = entry.get("recorded_at"), list(_iter_headers(request.get("headers")))
    return Exchange(
        request=_decode_body(request),
        response=_decode_body(response),
        url=as_str(request.get("uri")) or as_str(request.get("url")),
        method=as_str(request.get("method")) or "POST",
        status=as_count(
            as_dict(status).get("code") if isinstance(status, dict) else response.get("status_code", status)
        ),
        ended=as_time(_ruby_time(as_str(recorded))),
        extra=read_betas(headers),
        sender=identify_sender({name.lower(): text for name, text in headers}),
    )


def _iter_headers(headers: Json) -> Iterator[tuple[str, str]]:
    for name, values in as_dict(headers).items():
        yield from ((str(name), as_str(value)) for value in (values if isinstance(values, list) else [values]))


def _ruby_time(text: str) -> str | None:
    # Ruby: Tue, 14 Oct 2025 09:00:00 GMT.
    match = re.match(r"\w{3}, (\d{2}) (\w{3}) (\d{4}) (\d{2}:\d{2}:\d{2}) (?:GMT|UTC|[+-]0000)$", text)
    if not match:
        return text or None
    day, month, year, clock = match.groups()
    months = "JanFebMarAprMayJunJulAugSepOctNovDec"
    return f"{year}-{months.find(month) // 3 + 1:02}-{day}T{clock}Z" if month in months else None


def _decode_body(side: dict[str, Json]) -> bytes:
    """Decode a body in any of its forms: text, bytes, base64, compressed, or already parsed."""
    parsed = side.get("parsed_body")
    if parsed is not None:
        return parsed.encode("utf-8", "surrogatepass") if isinstance(parsed, str) else canonical.dumps(_as_json(parsed))
    body = side.get("body", side.get("content"))
    # A mapping wraps the text, or is the body itself, parsed by the test suite's own serializer.
    if isinstance(body, dict) and (_WRAPPERS & body.keys() or body.keys() == {"encoding"}):
        packed = body.get("base64_string", body.get("base64"))
        body = _decode_base64(packed) if packed is not None else body.get("string", body.get("bytes"))
    if isinstance(body, dict | list):
        return canonical.dumps(_as_json(body))
    raw = body.encode("utf-8", "surrogateescape") if isinstance(body, str) else body
    return _decompress(raw) if isinstance(raw, bytes) else b""


def _as_json(value: Any) -> Json:
    """Convert YAML's further values to JSON: binary text, sets, and keys that are no text."""
    if isinstance(value, dict):
        return {str(key): _as_json(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set):
        return [_as_json(item) for item in value]
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value


def _decode_base64(packed: Json) -> bytes:
    try:
        return base64.b64decode(packed)
    except (ValueError, TypeError):
        return b""


def _decompress(raw: bytes) -> bytes:
    if raw[:2] not in (b"\x1f\x8b", b"\x78\x9c", b"\x78\xda", b"\x78\x01"):
        return raw
    try:
        # 47: zlib recognizes gzip and zlib headers by itself. The limit is in bytes.
        return zlib.decompressobj(47).decompress(raw, 200_000_000)
    except zlib.error:
        return raw


def load(data: bytes) -> tuple[Json, Skipped | None]:
    """Parse the document in `data`, or what precedes a cut; also returns the error."""
    import yaml

    text = data.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "replace")
    try:
        return _check_size(yaml.load(text, Loader=_make_loader())), None
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        line = (mark.line if mark is not None else 0) + 1
        problem = " ".join(str(getattr(error, "problem", None) or error).split())
        return _load_until(text, line), Skipped(line, f"not YAML: {problem}")


def _load_until(text: str, line: int) -> Json:
    import yaml

    lines = text.splitlines(keepends=True)[:line]
    starts = [n for n, words in enumerate(lines) if words.startswith(("- ", "  - "))]
    for end in starts[::-1][:_TRIES]:
        try:
            return _check_size(yaml.load("".join(lines[:end]), Loader=_make_loader()))
        except (yaml.YAMLError, ValueError, RecursionError):
            continue
    return None


def _check_size(value: Json) -> Json:
    sizes: dict[int, int] = {}

    def size(item: Json) -> int:
        if not isinstance(item, dict | list):
            return 1
        if id(item) not in sizes:
            # An item that contains itself is infinite.
            sizes[id(item)] = _MAX_VALUES
            children = item.values() if isinstance(item, dict) else item
            sizes[id(item)] = 1 + sum(size(child) for child in children)
        return sizes[id(item)]

    if size(value) >= _MAX_VALUES:
        raise ValueError("the aliases of this document unfold without end")
    return value


def _make_loader() -> Any:
    import yaml

    class Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
        """Times stay text, binary of either language is bytes, unknown tags are ignored."""

    def binary(loader: Any, node: Any) -> bytes:
        try:
            return base64.b64decode(node.value)
        except ValueError:
            return str(node.value).encode()

    def plain(loader: Any, tag: str, node: Any) -> Any:
        make = {"scalar": loader.construct_scalar, "sequence": loader.construct_sequence}
        return make.get(node.id, loader.construct_mapping)(node)

    Loader.add_constructor("tag:yaml.org,2002:timestamp", lambda loader, node: loader.construct_scalar(node))
    Loader.add_constructor("tag:yaml.org,2002:binary", binary)
    Loader.add_constructor("!binary", binary)
    Loader.add_multi_constructor("!", plain)
    Loader.add_multi_constructor("tag:", plain)
    return Loader


reader = whole_reader(_parse)
