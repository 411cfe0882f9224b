"""What each column of the table promises, as assertions on a client that was played through."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import groupby
from typing import Any

from ctxtui.core.block import HEADER, NOT_RECORDED, Item
from ctxtui.core.call import Call, Fidelity
from ctxtui.core.canonical import Json
from ctxtui.core.session import MAIN
from ctxtui.core.usage import Usage
from ctxtui.pricing.price import price
from ctxtui.services.recordings.open import load
from ctxtui.wire.registry import encode
from ctxtui.wire.request import Request
from tests.clients.client import ACCEPTED, CURATED, FOLLOWED, FOUND, OPENED, RESUMED
from tests.clients.lab import KEPT, OUT
from tests.clients.play import Play
from tests.clients.wire import Exchange, Tokens, said

CENT = 0.01
NEAR = 0.1
"""How near a client's meter is to the size of the next request, as a share: the prompt comes to it."""
_OWN = ("system", "developer")
"""Roles in which no person, model or tool speaks."""


def found(play: Play) -> None:
    """The user's list of sessions has what the client recorded, under the client's project."""
    recording = play.recording
    listed = play.lab.ctxtui("sessions", "--json")["sessions"]
    # A session of a database is DATABASE#ID.
    paths = [one["path"].partition("#")[0] for one in listed]
    assert str(recording) in paths


def opened(play: Play) -> None:
    """The session is what was asked and answered: calls, tokens, money, messages."""
    asked, calls = play.recorded, [call for call in play.calls if not call.is_sum]
    assert not play.session.skipped, play.session.skipped
    assert len(calls) == len(asked), f"{len(calls)} calls of {len(asked)}"
    if play.client.sums:
        _same_sums(play, asked)
    else:
        _same_tokens(play, calls, asked)
    # litellm's names have the provider in front.
    assert [call.model.rpartition("/")[2] for call in calls] == [one.model for one in asked]
    for number, (call, one) in enumerate(zip(calls, asked, strict=True), 1):
        _same_context(play, call, one, number)
        if play.client.exact:
            _same_request(play, call, one)


def _same_sums(play: Play, asked: Sequence[Exchange]) -> None:
    """Input and output of all calls are the wire's; those of the last call stand there by themselves."""
    reported = [call.usage for call in play.calls if call.usage]
    assert sum(usage.input for usage in reported) == sum(one.tokens.input for one in asked)
    assert sum(usage.output for usage in reported) == sum(one.tokens.output for one in asked)
    last = play.session.thread_calls()[-1].usage
    assert last is not None and (last.input, last.output) == (asked[-1].tokens.input, asked[-1].tokens.output)


def _same_tokens(play: Play, calls: Sequence[Call], asked: Sequence[Exchange]) -> None:
    """Tokens and money of each call."""
    assert [_tokens(call) for call in calls] == [one.tokens for one in asked]
    spent = sum(_cost(one) for one in asked)
    told = play.lab.ctxtui("cost", str(play.recording), "--json")
    assert told["unpriced_calls"] == 0 and abs(told["total_usd"] - spent) < CENT, (told["total_usd"], spent)
    if play.client.spent is not None:
        assert abs(play.client.spent(play.recording) - spent) < CENT


def _tokens(call: Call) -> Tokens | None:
    usage = call.usage
    return usage and Tokens(usage.fresh, usage.cache_read, usage.cache_write, usage.output)


def _cost(one: Exchange) -> float:
    tokens = one.tokens
    # All clients here write entries of the shortest lifetime that their provider has.
    writes = {"write_5m": tokens.written} if one.path.endswith("/messages") else {"write_30m": tokens.written}
    usage = Usage(tokens.fresh, tokens.read, output=tokens.output, **writes)
    cost = price(usage, one.model)
    assert cost is not None, one.model
    return cost.usd


def _same_context(play: Play, call: Call, one: Exchange, number: int) -> None:
    """Every text of the request's messages stands in the call's context, as often, and nothing that was not sent."""
    tree = play.session.tree
    # Copilot CLI records the texts of its system prompt as one.
    instructions = [*one.instructions, *("\n\n".join(said(text)) for text in one.instructions)]
    sent = (text for text in said(one.messages) if not text.startswith(play.client.unrecorded))
    _same(sent, instructions, tree.items(call.sent_head), f"call {number}: context")
    _same(said(one.answered), [], tree.items(call.response_head, call.sent_head), f"call {number}: answer")


def _same_request(play: Play, call: Call, one: Exchange) -> None:
    """The session's request is the one that left, less what is in no record (facts §13.1): system's billing block,
    and members that say nothing of the context."""
    assert call.fidelity is Fidelity.WIRE and call.skeleton is not None
    told = json.loads(encode(Request(tuple(play.session.tree.items(call.sent_head)), call.skeleton)))
    sent = {name: value for name, value in one.request.items() if name not in ("metadata", "stream", "safeguards")}
    assert told == sent | {"system": sent["system"][1:]}


def _same(wire: Iterable[str], besides: list[Json], items: Sequence[Item], what: str) -> None:
    """`wire` is in the session; `besides` may be: not every client records its system prompt."""
    on_wire, in_session = Counter(_plain(wire)), Counter(_plain(said(_bodies(items))))
    lacking, added = on_wire - in_session, in_session - on_wire - Counter(_plain(said(besides)))
    assert not lacking, f"{what}: on the wire, not in the session: {_short(lacking)}"
    assert not added, f"{what}: in the session, not on the wire: {_short(added)}"


def _bodies(items: Sequence[Item]) -> list[Json]:
    """The blocks of system and messages, as their JSON."""
    told = [item for item in items if item.block.kind not in (HEADER, NOT_RECORDED)]
    return [item.block.value() for item in told if item.place.section != "tools"]


def _plain(texts: Iterable[str]) -> list[str]:
    return [text.strip() for text in texts]


def _short(texts: Mapping[str, int]) -> str:
    return ", ".join(repr(text[:300]) for text in texts)


def followed(play: Play) -> None:
    """While the client runs, new calls appear in an open session; in the end it is as if opened anew."""
    watched = play.watched
    assert not watched.errors, watched.errors
    assert watched.loaded is not None and watched.loaded.follows, "it is not followed"
    assert watched.live > 0, "no new call was seen while the client ran"
    fresh = load(play.recording).session
    seen = watched.loaded.session
    assert list(seen.calls) == list(fresh.calls)
    assert [_tokens(call) for call in seen.calls.values()] == [_tokens(call) for call in fresh.calls.values()]


def curated(play: Play) -> None:
    """The curated session is written in the client's format, and read again it is the curated context."""
    written = load(play.curated).session
    items = written.tree.items(written.threads[MAIN].tip)
    again = _bodies([item for item in items if item.place.section == "messages" and item.place.role not in _OWN])
    assert OUT not in json.dumps(again) and KEPT in json.dumps(again)
    before, after = _history(play, play.context), _history(play, again)
    assert before == after, (
        f"gone {_short(Counter(before) - Counter(after))}, new {_short(Counter(after) - Counter(before))}"
    )


def resumed(play: Play) -> None:
    """The request that leaves holds the curated history and the new prompt, nothing else; nothing is compacted."""
    asked = [one for one in play.resumed if one.asks and not play.client.aside(one)]
    assert asked, "the client asked nothing"
    first = asked[0]
    assert first.accepted, (first.status, first.answer)
    context = _joined(play.context) if play.client.joins else play.context
    sent, history = _history(play, first.messages), _history(play, context)
    assert OUT not in json.dumps(first.request), f"{OUT} was curated away and is sent"
    lacking = Counter(history) - Counter(sent)
    assert not lacking, f"curated history that is not sent: {_short(lacking)}"
    new = list((Counter(sent) - Counter(history)).elements())
    assert any(play.client.last in text for text in new), new
    strange = [text for text in new if play.client.last not in text]
    assert not strange, f"sent, and not of the curated history: {strange}"
    size, metered = first.tokens.input, play.metered or _reported(play)
    assert metered is None or abs(metered - size) <= NEAR * size, f"{metered} tokens by the client's meter, {size} sent"
    # A compaction would be one more.
    assert len(asked) == play.client.rounds, [one.path for one in asked]


def _reported(play: Play) -> int | None:
    """What the last answer in the curated file says of the size, which a client's meter goes by: an estimate that is
    marked as one, or usage; None where it says nothing."""
    last = load(play.curated).session.thread_calls()[-1]
    return last.usage.input if last.usage is not None else last.estimated_input


def _history(play: Play, messages: Iterable[Json]) -> list[str]:
    """What person, model and tools said, without what a client adds anew to each session."""
    told = [m for m in messages if not (isinstance(m, dict) and m.get("role") in _OWN)]
    return [own for text in _plain(said(told)) if (own := play.client.spoken(text).strip())]


def _joined(messages: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Consecutive answers as one, their texts without anything between."""
    told: list[dict[str, Any]] = []
    for role, group in groupby(messages, lambda message: message["role"]):
        answers = list(group)
        if role == "assistant":
            parts = [part for answer in answers for part in answer["content"]]
            text = "".join(part["text"] for part in parts if part["type"] == "text")
            others = [part for part in parts if part["type"] != "text"]
            answers = [{"role": role, "content": [{"type": "text", "text": text}, *others]}]
        told += answers
    return told


def accepted(play: Play) -> None:
    """No request of the client was refused, also where it went on with a curated session."""
    assert play.whole, "nothing was asked"
    if RESUMED not in play.client.lacks:
        play.tried_to_resume()
    refused = [(one.method, one.path, one.status, one.answer) for one in play.lab.seen() if not one.accepted]
    assert not refused


PROMISES: dict[str, Callable[[Play], None]] = {
    FOUND: found,
    OPENED: opened,
    FOLLOWED: followed,
    CURATED: curated,
    RESUMED: resumed,
    ACCEPTED: accepted,
}
