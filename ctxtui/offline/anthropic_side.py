"""The Messages API: requests in, messages and event streams out (facts §1)."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Final

from ctxtui.cache.outcome import Outcome
from ctxtui.core import canonical
from ctxtui.core.block import make, of
from ctxtui.core.canonical import Json
from ctxtui.offline.answer import CALLS, END, LENGTH, STOP, Answer, Thought, Words
from ctxtui.offline.answering import Manner
from ctxtui.offline.anthropic_events import events
from ctxtui.offline.bound_thinking import CONTROLS, Checked, check_thinking
from ctxtui.offline.claude import OFFLINE, Claude, claude
from ctxtui.offline.conversation import listen
from ctxtui.offline.counting import output_tokens, text_counter
from ctxtui.offline.exchange import Asked, Reply, named_event, named_events
from ctxtui.offline.issuing import signature
from ctxtui.offline.ledger import Weighed
from ctxtui.offline.limiting import limited
from ctxtui.offline.provider import Provider
from ctxtui.offline.refusal import Refusal
from ctxtui.offline.shape import members, rows
from ctxtui.offline.strict_anthropic import NEW_VERSION, VERSIONS, refusals
from ctxtui.wire.grammars import ANTHROPIC

_REASONS: Final = {END: "end_turn", CALLS: "tool_use", LENGTH: "max_tokens", STOP: "stop_sequence"}
_TYPES: Final = {
    401: "authentication_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    500: "api_error",
    529: "overloaded_error",
}


def error(refusal: Refusal, request_id: str) -> Json:
    """The error body."""
    told: dict[str, Json] = {"type": _TYPES.get(refusal.status, refusal.type), "message": refusal.message}
    if refusal.code:
        told["details"] = {"error_code": refusal.code}
    return {"type": "error", "error": told, "request_id": request_id}


def betas_of(asked: Asked) -> tuple[str, ...]:
    """The names in ``anthropic-beta``."""
    return tuple(name.strip() for name in asked.headers.get("anthropic-beta", "").split(",") if name.strip())


def refused(asked: Asked, counting: bool) -> list[Refusal]:
    """Why the request is not served."""
    version = asked.headers.get("anthropic-version")
    if version is None:
        return [Refusal("anthropic-version: header is required", rule="version")]
    if version not in VERSIONS:
        return [Refusal(f'anthropic-version: "{version}" is not a valid version', rule="version")]
    return refusals(asked.body, version=version or NEW_VERSION, betas=betas_of(asked), counting=counting)


def count_tokens(provider: Provider, asked: Asked) -> Reply | Refusal:
    """The reply to a request for a count."""
    weighed, _, model = _weighed(provider, asked)
    if weighed.tokens > model.window:
        return _too_long(weighed, model)
    return Reply(body={"input_tokens": weighed.tokens})


def messages(provider: Provider, asked: Asked) -> Reply | Refusal:
    """The reply to a request for a message."""
    weighed, checked, model = _weighed(provider, asked)
    if weighed.tokens > model.window:
        return _too_long(weighed, model)
    now = provider.now()
    outcome = provider.ledger.ask(weighed, asked.model, now, provider="anthropic", betas=betas_of(asked))
    said, stop = _answered(provider, asked, weighed, model)
    content = list(_content(provider, asked, said, checked.last))
    usage = _usage(asked, outcome, said, content)
    message = {
        "id": provider.names.new("msg_01"),
        "type": "message",
        "role": "assistant",
        "model": asked.model,
        "content": content,
        "stop_reason": stop,
        "stop_sequence": said.stop or None,
        "stop_details": None,
        "usage": usage,
        **_beside(provider, asked, checked),
    }
    if asked.body.get("diagnostics") is not None:
        provider.diagnoses.remember(message["id"], asked.body)
    provider.limits.note(now, outcome.fresh + outcome.written, usage["output_tokens"])
    headers = provider.limits.anthropic(now)
    broken = named_event("error", {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}})
    return Reply(
        body=message,
        events=named_events(events(message)) if asked.streams else None,
        headers=headers,
        begin=lambda: provider.ledger.begin(outcome, provider.now()),
        output=usage["output_tokens"],
        broken=broken,
    )


def _weighed(provider: Provider, asked: Asked) -> tuple[Weighed, Checked, Claude]:
    model = claude(asked.model)
    assert model is not None
    checked = check_thinking(asked.body, model, betas_of(asked))
    raw = canonical.dumps(_without(asked.body, checked.dropped)) if checked.dropped else asked.raw
    return provider.ledger.weigh(provider.ledger.read(ANTHROPIC, raw), asked.model), checked, model


def _without(body: dict[str, Json], dropped: Collection[tuple[int, int]]) -> dict[str, Json]:
    """`body` as the model reads it: without the blocks that were dropped."""
    messages = []
    for n, message in enumerate(rows(body.get("messages"))):
        content = message.get("content")
        if isinstance(content, list):
            content = [block for m, block in enumerate(content) if (n, m) not in dropped]
        messages.append({**message, "content": content})
    return {**body, "messages": messages}


def _too_long(weighed: Weighed, model: Claude) -> Refusal:
    return Refusal(f"prompt is too long: {weighed.tokens} tokens > {model.window} maximum", rule="context window")


def _answered(provider: Provider, asked: Asked, weighed: Weighed, model: Claude) -> tuple[Answer, str]:
    most = int(asked.body["max_tokens"])
    if most == 0:
        return Answer((), LENGTH), "max_tokens"
    room = model.window - weighed.tokens
    talk = listen(weighed.request)
    stops = [stop for stop in rows(asked.body.get("stop_sequences")) if isinstance(stop, str)]
    full = provider.say(weighed.request, talk, _manner(asked, model))
    said = limited(full, stops, min(most, room), text_counter(asked.model))
    if said.ended == LENGTH and room < most:
        return said, "model_context_window_exceeded"
    return said, _REASONS[said.ended]


def _manner(asked: Asked, model: Claude) -> Manner:
    choice, thinking = members(asked.body.get("tool_choice")), members(asked.body.get("thinking"))
    kind = choice.get("type")
    form = members(members(asked.body.get("output_config")).get("format"))
    return Manner(
        forced="*" if kind == "any" else str(choice["name"]) if kind == "tool" else "",
        calls=kind != "none",
        parallel=choice.get("disable_parallel_tool_use") is not True,
        thinks=thinking.get("type") in ("adaptive", "enabled") or (not thinking and model.thinks),
        form=form.get("schema"),
        stands_for="" if asked.model == OFFLINE else asked.model,
    )


def _content(provider: Provider, asked: Asked, said: Answer, last: str) -> Iterator[dict[str, Json]]:
    shown = members(asked.body.get("thinking")).get("display") != "omitted"
    for part in said.parts:
        if isinstance(part, Thought):
            signed = signature(asked.body, part.text, last)
            yield {"type": "thinking", "thinking": part.text if shown else "", "signature": signed}
        elif isinstance(part, Words):
            yield {"type": "text", "text": part.text, "citations": None}
        else:
            id_ = provider.names.new("toolu_01")
            yield {"type": "tool_use", "id": id_, "name": part.name, "input": part.arguments}


def _usage(asked: Asked, outcome: Outcome, said: Answer, content: list[dict[str, Json]]) -> dict[str, Json]:
    writes = dict(outcome.writes)
    # Thinking counts as it was thought, however much of it is shown: its signature says how much that was.
    thoughts = [of(block) for block in content if block["type"] == "thinking"]
    thought = output_tokens(asked.model, thoughts) if thoughts else 0
    spoken = [make(b["type"], b) if b["type"] == "tool_use" else of(b) for b in content if b["type"] != "thinking"]
    output = 0 if asked.body["max_tokens"] == 0 else thought + (output_tokens(asked.model, spoken) if spoken else 0)
    return {
        "input_tokens": outcome.fresh,
        "cache_creation_input_tokens": outcome.written,
        "cache_read_input_tokens": outcome.read,
        "cache_creation": {
            "ephemeral_5m_input_tokens": writes.get(300.0, 0),
            "ephemeral_1h_input_tokens": writes.get(3600.0, 0),
        },
        "output_tokens": output,
        "output_tokens_details": {"thinking_tokens": thought},
        "server_tool_use": None,
        "service_tier": "standard",
        "inference_geo": "not_available",
    }


def _beside(provider: Provider, asked: Asked, checked: Checked) -> dict[str, Json]:
    beside: dict[str, Json] = {}
    if CONTROLS in betas_of(asked):
        beside["input_transformations"] = checked.transformations
    if asked.body.get("context_management") is not None:
        beside["context_management"] = {"applied_edits": []}
    if asked.body.get("diagnostics") is not None:
        beside["diagnostics"] = provider.diagnoses.of(asked.body)
    return beside
