"""What both generations of llm's tables spell alike: calls, usage, tools, attachments, rows by a column."""

from __future__ import annotations

from ctxtui.core import block as blocks
from ctxtui.core.block import TOOL, Item, Place
from ctxtui.core.call import Call
from ctxtui.core.canonical import Json
from ctxtui.core.usage import Usage
from ctxtui.transcripts.kit import plain_messages
from ctxtui.transcripts.kit.fields import at, count, moment, obj, word
from ctxtui.transcripts.kit.rows import Row, decoded


def by(rows: list[Row], key: str) -> dict[str, list[Row]]:
    """The rows by a column of texts or numbers."""
    found: dict[str, list[Row]] = {}
    for row in rows:
        found.setdefault(key_of(row.get(key)), []).append(row)
    return found


def key_of(value: Json) -> str:
    """A column's value as a key: numbers are rows' ids."""
    return value if isinstance(value, str) else str(value) if isinstance(value, int) else ""


def tool(row: Row) -> Item:
    """A tool that was offered."""
    told = {"name": row.get("name"), "description": row.get("description")}
    return Item(blocks.make(TOOL, {**told, "input_schema": decoded(row.get("input_schema"))}), Place("tools"))


def attachment(row: Row) -> dict[str, Json]:
    """A picture or document that was sent along; what was named by path or address only stays so."""
    mime, data = word(row.get("type")), at(row.get("content"), "base64")
    if mime.startswith("image/") and isinstance(data, str):
        return plain_messages.image(mime, data)
    source: dict[str, Json] = {"type": "base64", "media_type": mime, "data": data}
    if not isinstance(data, str):
        source = {key: row[key] for key in ("url", "path") if row.get(key)}
        source = {"type": next(iter(source), "none"), **source, "media_type": mime}
    return {"type": "image" if mime.startswith("image/") else "document", "source": source}


def call(row: Row) -> Call:
    """A turn or response as a call, less its context."""
    began, lasted = moment(row.get("datetime_utc")), count(row.get("duration_ms"))
    answer = obj(decoded(row.get("response_json")))
    told: dict[str, Json] = {}
    if row.get("options_json") and decoded(row["options_json"]):
        told["options"] = decoded(row["options_json"])
    told |= {key: row[key] for key in ("schema_id",) if row.get(key)}
    if answer.get("id"):
        told["response_id"] = answer["id"]
    asked = word(row.get("model"))
    return Call(
        word(row.get("id")),
        "",
        provider=asked.partition("/")[0] if "/" in asked else "",
        model=word(row.get("resolved_model")) or asked,
        started=began,
        ended=began + lasted / 1000 if began is not None and lasted else None,
        usage=usage(row, answer),
        stop_reason=word(answer.get("finish_reason")) or word(answer.get("stop_reason")),
        extra=told,
    )


def usage(row: Row, answer: dict[str, Json]) -> Usage | None:
    """Usage as llm notes it: the provider's two figures, and the rest of its report as JSON, zeros left out."""
    if row.get("input_tokens") is None and row.get("output_tokens") is None:
        return None
    details = obj(decoded(row.get("token_details")))
    given, output = count(row.get("input_tokens")), count(row.get("output_tokens"))
    inputs = [obj(details.get(name)) for name in ("prompt_tokens_details", "input_tokens_details")]
    inside = max(count(told.get("cached_tokens")) for told in inputs)
    written = max(count(told.get("cache_write_tokens")) for told in inputs)
    beside = count(details.get("cache_read_input_tokens"))
    outputs = [obj(details.get(name)) for name in ("completion_tokens_details", "output_tokens_details")]
    thought = sum(count(told.get(key)) for told in outputs for key in ("reasoning_tokens", "thinking_tokens"))
    told = {**obj(answer.get("usage")), **details}
    return Usage(
        fresh=max(0, given - inside - written),
        cache_read=inside or beside,
        write_5m=count(details.get("cache_creation_input_tokens")),
        write_30m=written,
        output=output,
        reasoning=min(output, thought),
        has_cache=any("cache" in key or key in ("prompt_tokens_details", "input_tokens_details") for key in told),
    )
