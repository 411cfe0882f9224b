"""Ollama's own ``/api/chat`` (facts §5)."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from typing import Final

from ctxtui.core import canonical
from ctxtui.core.block import of
from ctxtui.core.canonical import Json
from ctxtui.offline.answer import LENGTH, ModelAnswer, Thought, limited
from ctxtui.offline.conversation import listen
from ctxtui.offline.counting import output_tokens, text_counter
from ctxtui.offline.exchange import ApiRequest, Refusal, Reply, compact, pieces
from ctxtui.offline.json_shape import bounded, members, rows
from ctxtui.offline.local.prompt import fitted, rendered
from ctxtui.offline.local.servers import Local, serving
from ctxtui.offline.model.reply import Manner
from ctxtui.offline.openai.chat_api import MOST_SAID
from ctxtui.offline.provider import Provider
from ctxtui.offline.usage_ledger import WeighedRequest
from ctxtui.wire.grammar import OLLAMA
from ctxtui.wire.ollama_chat import encode_request

_LINES: Final = "application/x-ndjson"
_NANOSECONDS: Final = 1_000_000


def chat(local: Local, provider: Provider, asked: ApiRequest) -> Reply | Refusal:
    """The reply of ``/api/chat``: a stream unless that is turned off."""
    model = serving(local, asked)
    options = members(asked.body.get("options"))
    window = bounded(options.get("num_ctx") or model.window, model.window, 1, model.maximum)

    def weigh(raw: bytes) -> WeighedRequest:
        return provider.ledger.weigh(provider.ledger.read(OLLAMA, raw), asked.model)

    if asked.body.get("truncate") is False and weigh(asked.raw).tokens > window:
        return Refusal("input length exceeds the context length", 400, rule="context window")
    weighed = fitted(asked, window, weigh)
    if asked.body.get("_debug_render_only") is True:
        text = rendered(canonical.loads(encode_request(weighed.request)))
        return Reply(body=_shell(provider, asked) | {"_debug_info": {"rendered_template": text}})
    outcome = provider.ledger.ask(weighed, asked.model, provider.now(), provider=local.kind)
    said = _answered(provider, asked, weighed, options)
    message = _message(provider, said)
    output = _output(asked, said, message)
    whole = _shell(provider, asked) | {
        "message": message,
        "done": True,
        "done_reason": "length" if said.ended == LENGTH else "stop",
        "total_duration": 3 * _NANOSECONDS,
        "load_duration": _NANOSECONDS,
        # Cached tokens are counted in: nothing tells them apart.
        "prompt_eval_count": weighed.tokens,
        "prompt_eval_duration": _NANOSECONDS,
        "eval_count": output,
        "eval_duration": _NANOSECONDS,
    }
    streams = asked.body.get("stream") is not False
    return Reply(
        body=whole,
        events=tuple(_lines(whole)) if streams else None,
        begin=lambda: provider.ledger.begin(outcome, provider.now()),
        broken=compact({"error": "an error was encountered while running the model"}) + b"\n",
        kind=_LINES,
        output=output,
    )


def _shell(provider: Provider, asked: ApiRequest) -> dict[str, Json]:
    now = datetime.datetime.fromtimestamp(provider.now(), datetime.UTC)
    return {"model": asked.model, "created_at": now.strftime("%Y-%m-%dT%H:%M:%S.%fZ")}


def _answered(provider: Provider, asked: ApiRequest, weighed: WeighedRequest, options: dict[str, Json]) -> ModelAnswer:
    form = asked.body.get("format")
    manner = Manner(
        thinks=asked.body.get("think") not in (None, False),
        form=form if isinstance(form, dict) else {"type": "object"} if form == "json" else None,
    )
    said = provider.say(weighed.request, listen(weighed.request), manner)
    most = options.get("num_predict")
    stops = [stop for stop in rows(options.get("stop")) if isinstance(stop, str)]
    room = most if isinstance(most, int) and 0 < most < MOST_SAID else MOST_SAID
    return limited(said, stops, room, text_counter(asked.model))


def _message(provider: Provider, said: ModelAnswer) -> dict[str, Json]:
    message: dict[str, Json] = {"role": "assistant", "content": said.text}
    thoughts = "".join(part.text for part in said.parts if isinstance(part, Thought))
    if thoughts:
        message["thinking"] = thoughts
    if said.calls:
        message["tool_calls"] = [
            {"id": provider.names.new("call_", 8), "function": {"index": n, "name": c.name, "arguments": c.arguments}}
            for n, c in enumerate(said.calls)
        ]
    return message


def _output(asked: ApiRequest, said: ModelAnswer, message: dict[str, Json]) -> int:
    count = text_counter(asked.model)
    thought = sum(count(part.text) for part in said.parts if isinstance(part, Thought))
    blocks = [of({"type": "text", "text": said.text})] if said.text else []
    blocks += [of({**call, "type": "tool_call"}) for call in message.get("tool_calls", ())]
    return thought + output_tokens(asked.model, blocks)


def _lines(whole: dict[str, Json]) -> Iterator[bytes]:
    shell = {key: whole[key] for key in ("model", "created_at")}
    message = whole["message"]

    def line(news: dict[str, Json]) -> bytes:
        return compact({**shell, "message": {"role": "assistant", "content": "", **news}, "done": False}) + b"\n"

    for key in ("thinking", "content"):
        for piece in pieces(message.get(key, "")):
            yield line({key: piece})
    for call in message.get("tool_calls", ()):
        yield line({"tool_calls": [call]})
    yield compact({**whole, "message": {"role": "assistant", "content": ""}}) + b"\n"
