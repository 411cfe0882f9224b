"""The authors' own cures of the cache beside the marker that they wanted to replace, and the layout that reads most.

The root's requests of a search, word for word, with other markers, each kind taken through ctxtui's simulated cache."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from examples.evolve import texts
from examples.kit import Failed, asked

Json = dict[str, Any]
INPUT, WRITE, READ = 3e-6, 1.25, 0.1
"""USD of a token, and what a token costs of that where it is written to the cache for five minutes, or read."""
MARKER = {"cache_control": {"type": "ephemeral"}}


@dataclass(frozen=True)
class Sent:
    """A request of the root as it left, and when (Unix seconds)."""

    body: Json
    at: float


def watching(found: list[Sent]) -> Callable[[Any], None]:
    """An observer of a run that keeps the requests of its main thread."""

    def observe(news: Any) -> None:
        draft, attempt = getattr(news.moment, "draft", None), getattr(news.moment, "attempt", 0)
        if news.thread == "main" and draft is not None and attempt == 1:
            found.append(Sent(json.loads(draft.body), news.moment.at))

    return observe


def summaries_in(sent: Sent) -> Iterator[str]:
    """The summaries of older generations that a request holds."""
    for message in sent.body["messages"]:
        blocks = message["content"] if isinstance(message["content"], list) else [{"text": message["content"]}]
        yield from (text for b in blocks if (text := str(b.get("text", ""))).startswith("[Historical Summary"))


def _plain(sent: Sequence[Sent]) -> list[Json]:
    """The requests without a marker; each text is one block."""
    bodies = []
    for one in sent:
        body = json.loads(json.dumps(one.body))
        body.pop("cache_control", None)
        for block in body["system"]:
            block.pop("cache_control", None)
        bodies.append(body)
    return bodies


def _users(body: Json) -> list[Json]:
    return [message for message in body["messages"] if message["role"] == "user"]


def _mark(message: Json) -> None:
    message["content"][-1] |= MARKER


def moving(sent: Sequence[Sent]) -> list[Json]:
    """As the authors had it (4.1): the static part of the system prompt, the last user message but one."""
    bodies = _plain(sent)
    for body in bodies:
        body["system"][0] |= MARKER
        for message in _users(body)[-2:-1]:
            _mark(message)
    return bodies


def first(sent: Sequence[Sent]) -> list[Json]:
    """Their cure 7.3: the marker stays on the first user message."""
    bodies = _plain(sent)
    for body in bodies:
        body["system"][0] |= MARKER
        _mark(_users(body)[0])
    return bodies


def preamble(sent: Sequence[Sent]) -> list[Json]:
    """Its alternative: a stable preamble in that message, and the marker there."""
    bodies = first(sent)
    for body in bodies:
        block = _users(body)[0]["content"][0]
        block["text"] = texts.prompt("preamble") + f"\n---\n\n{block['text']}"
    return bodies


def prefix(sent: Sequence[Sent]) -> list[Json]:
    """Their 6.4: a static prefix inside of every user message, under the moving marker."""
    bodies = moving(sent)
    for body in bodies:
        for message in _users(body):
            message["content"][0]["text"] = f"{texts.prompt('prefix')}\n{message['content'][0]['text']}"
    return bodies


def layout(sent: Sequence[Sent]) -> list[Json]:
    """What reads most: the state behind the messages, where nothing stands that it could break, and a marker at the
    end of each request besides the static part."""
    bodies = _plain(sent)
    states: dict[int, str] = {}
    last = ""
    for body in bodies:
        state = "\n".join(block["text"] for block in body["system"][1:])
        if state != last:
            states[len(body["messages"]) - 1] = last = state
        body["system"] = [{**body["system"][0], **MARKER}]
        for at, text in states.items():
            body["messages"][at]["content"].append({"type": "text", "text": text})
        _mark(body["messages"][-1])
    return bodies


LAYOUTS: Mapping[str, Callable[[Sequence[Sent]], list[Json]]] = {
    "moving marker": moving,
    "marker on the first message": first,
    "stable preamble": preamble,
    "static prefix in messages": prefix,
    "state behind the messages": layout,
}


@dataclass(frozen=True)
class Cached:
    """What a cache does with a run's input: the share that is read, and USD of all of it at the authors' price."""

    share: float
    usd: float


def simulated(files: Mapping[str, Path], folder: Path) -> dict[str, Cached]:
    """What ``ctxtui lab`` says of each file of requests. Raises `Failed`."""
    sessions = asked("lab", *map(str, files.values()), "--cache", "recorded", cwd=folder)["sessions"]
    if len(sessions) != len(files):
        raise Failed(f"ctxtui lab told of {len(sessions)} of {len(files)} files")
    found = {}
    for layout, session in zip(files, sessions, strict=True):
        one = session["variants"][0]
        usd = INPUT * float(one["fresh"] + WRITE * one["write"] + READ * one["read"])
        found[layout] = Cached(one["read"] / one["total_input"], usd)
    return found


def request_file(folder: Path, run: str, layout: str, sent: Sequence[Sent]) -> Path:
    """A file of a run's requests in a layout, with their answers, which stand in the requests after them."""
    path, bodies = folder / f"cache-{run}-{layout.replace(' ', '-')}.jsonl", LAYOUTS[layout](sent)
    with path.open("w", encoding="utf-8") as file:
        for n, (one, body) in enumerate(zip(sent, bodies, strict=True)):
            later = bodies[n + 1]["messages"][len(body["messages"])] if n + 1 < len(bodies) else None
            answer = {
                "id": f"msg_{n}",
                "type": "message",
                "role": "assistant",
                "model": body["model"],
                "content": later["content"] if later else [{"type": "text", "text": "(the last answer)"}],
                "stop_reason": "end_turn",
            }
            file.write(json.dumps({"request": body, "response": answer, "started_at": one.at}) + "\n")
    return path
