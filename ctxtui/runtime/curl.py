"""A call as a shell command that sends it again; the key comes from the environment, never from here."""

from __future__ import annotations

from typing import Final, NamedTuple


class _Endpoint(NamedTuple):
    url: str
    headers: tuple[str, ...]


VERSION: Final = "2026-10-21"
"""The version of Anthropic's API that requests are written for (facts §1)."""

_OPENAI: Final = ("Authorization: Bearer $OPENAI_API_KEY",)
_ENDPOINTS: Final = {
    "anthropic": _Endpoint(
        "https://api.anthropic.com/v1/messages",
        ("x-api-key: $ANTHROPIC_API_KEY", f"anthropic-version: {VERSION}"),
    ),
    "openai-chat": _Endpoint("https://api.openai.com/v1/chat/completions", _OPENAI),
    "openai-responses": _Endpoint("https://api.openai.com/v1/responses", _OPENAI),
}
_MARK: Final = "CTXTUI_BODY"


def command(form: str, body: bytes) -> bytes:
    """The curl command that posts `body`, a request in the dialect `form`.

    The body stands in a here-document, byte for byte; the shell expands nothing in it.
    """
    endpoint = _ENDPOINTS[form]
    lines = [f"curl -sS {endpoint.url} \\"]
    lines += [f'  -H "{header}" \\' for header in ("content-type: application/json", *endpoint.headers)]
    mark = _MARK
    while mark.encode() in body:
        mark += "_"
    lines.append(f"  --data-binary @- <<'{mark}'")
    return "\n".join(lines).encode() + b"\n" + body.rstrip(b"\n") + f"\n{mark}\n".encode()
