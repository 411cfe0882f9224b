"""What each column of the table promises, as assertions on a client that was played through."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping

from ctxtui.core.block import HEADER, NOT_RECORDED
from ctxtui.core.call import Call
from ctxtui.core.usage import Usage
from ctxtui.pricing.price import price
from ctxtui.services.recordings.open import load
from tests.clients.client import ACCEPTED, CURATED, FOLLOWED, FOUND, OPENED, RESUMED
from tests.clients.lab import KEPT, OUT
from tests.clients.play import Play
from tests.clients.wire import Exchange, Tokens, said

CENT = 0.01


def found(play: Play) -> None:
    """The user's list of sessions has what the client recorded, under the client's project."""
    recording = play.recording
    listed = play.lab.ctxtui("sessions", "--json")["sessions"]
    paths = [one["path"] for one in listed]
    assert str(recording) in paths, f"{recording} is not among {paths}"


def opened(play: Play) -> None:
    """The session is what was asked and answered: calls, tokens, money, messages."""
    asked, calls = play.recorded, play.calls
    assert not play.session.skipped, play.session.skipped
    assert len(calls) == len(asked), f"{len(calls)} calls of {len(asked)}"
    assert [_tokens(call) for call in calls] == [one.tokens for one in asked]
    assert [call.model for call in calls] == [one.model for one in asked]
    spent = sum(_cost(one) for one in asked)
    told = play.lab.ctxtui("cost", str(play.recording), "--json")
    assert told["unpriced_calls"] == 0 and abs(told["total_usd"] - spent) < CENT, (told["total_usd"], spent)
    for number, (call, one) in enumerate(zip(calls, asked, strict=True), 1):
        _same_context(play, call, one, number)


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
    """Every text of the request's messages stands in the call's context, as often, and nothing else does."""
    tree = play.session.tree
    in_session = Counter(
        _plain(
            said(
                [
                    block.value()
                    for block, place in tree.items(call.sent_head)
                    if block.kind not in (HEADER, NOT_RECORDED) and place.section == "messages"
                ]
            )
        )
    )
    on_wire = Counter(_plain(said(one.messages)))
    lacking, added = on_wire - in_session, in_session - on_wire
    assert not lacking, f"call {number}: on the wire, not in the session: {_short(lacking)}"
    assert not added, f"call {number}: in the session, not on the wire: {_short(added)}"
    answer = Counter(_plain(said(one.answered)))
    after = Counter(_plain(said([item.block.value() for item in tree.items(call.response_head, call.sent_head)])))
    assert answer == after, f"call {number}: answered {_short(answer - after)}, recorded {_short(after - answer)}"


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
    (head,) = {written.threads["main"].tip}
    again = [
        item.block.value()
        for item in written.tree.items(head)
        if item.block.kind not in (HEADER, NOT_RECORDED) and item.place.section == "messages"
    ]
    assert OUT not in json.dumps(again) and KEPT in json.dumps(again)
    assert _history(said(play.context)) == _history(said(again))


def resumed(play: Play) -> None:
    """The request that leaves holds the curated history and the new prompt, nothing else; nothing is compacted."""
    asked = [one for one in play.resumed if not play.client.aside(one) and "count_tokens" not in one.path]
    assert asked, "the client asked nothing"
    first = asked[0]
    assert first.accepted, (first.status, first.rule, first.answer)
    sent = _history(said(first.messages))
    history = _history(said(play.context))
    assert OUT not in json.dumps(first.request), f"{OUT} was curated away and is sent"
    lacking = Counter(history) - Counter(sent)
    assert not lacking, f"curated history that is not sent: {_short(lacking)}"
    new = list((Counter(sent) - Counter(history)).elements())
    assert any(play.client.last in text for text in new), new
    strange = [text for text in new if play.client.last not in text and not _added_by_client(text)]
    assert not strange, f"sent, and not of the curated history: {strange}"
    # One request for the prompt's tool, one for its result: a compaction would be one more.
    assert len(asked) == 2, [one.path for one in asked]


def _history(texts: Iterable[str]) -> list[str]:
    """Texts of the conversation, without what a client adds anew to each session."""
    return [text for text in _plain(texts) if not _added_by_client(text)]


def _added_by_client(text: str) -> bool:
    return text.startswith(("<system-reminder>", "# Environment"))


def accepted(play: Play) -> None:
    """No request of the client was refused, also where it went on with a curated session."""
    assert play.whole, "nothing was asked"
    if RESUMED not in play.client.lacks:
        play.tried_to_resume()
    refused = [(one.path, one.status, one.rule, one.answer) for one in play.lab.seen() if not one.accepted]
    assert not refused


PROMISES: dict[str, Callable[[Play], None]] = {
    FOUND: found,
    OPENED: opened,
    FOLLOWED: followed,
    CURATED: curated,
    RESUMED: resumed,
    ACCEPTED: accepted,
}
