"""An OpenCode session that the client imports and resumes, with an edited context: what ``opencode export`` writes.

``opencode import`` passes over ids that it has, so the session, its messages and their parts get new ones; they begin
as the old ones do, because OpenCode orders messages by time and id, parts by id (facts §13.4).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any

from ctxtui.core import canonical
from ctxtui.core.block import Item
from ctxtui.core.call import MAKER
from ctxtui.transcripts.formats.opencode import resume_messages
from ctxtui.transcripts.formats.opencode.resume_messages import COPIED, ESTIMATED, ImportMessage, held
from ctxtui.transcripts.formats.opencode.resume_source import source_of
from ctxtui.transcripts.formats.opencode.talk import OpenCodeMessage
from ctxtui.transcripts.kit.fields import at as member
from ctxtui.transcripts.kit.fields import obj, word
from ctxtui.transcripts.kit.resume import (
    UNANSWERED,
    UNHELD,
    ResumedFile,
    ResumeOrder,
    ResumePlan,
    losses,
    matched,
    plan,
    told,
)

MOVED = "a text put into a message stands before it"


def resume(order: ResumeOrder) -> ResumedFile:
    """A file for ``opencode import``, so that the session it makes has the context that is asked for."""
    info, said = source_of(order.source, order.session)
    messages = [ImportMessage(one) for one in said]
    draft = _Draft(messages, order)
    draft.change()
    draft.cut()
    draft.put_in()
    draft.settle()
    left = [message for message in messages if not message.gone]
    _answering(left)
    id_ = resume_messages.session_id(order.now, next(order.ids))
    whole = {"info": _info(info, left, id_, order.now), "messages": [one.value for one in left]}
    renamed = resume_messages.renamed(whole, id_, order.ids)
    return ResumedFile(canonical.dumps(renamed) + b"\n", losses(draft.lost), id_, f"{id_}.json")


class _Draft:
    """The messages on their way to the new context, and what could not be done."""

    def __init__(self, messages: list[ImportMessage], order: ResumeOrder) -> None:
        self._messages, self._order = messages, order
        self._places = [(m, p) for m, message in enumerate(messages) for p in range(len(message.parts))]
        self._kinds = [held(messages[m].said, messages[m].parts[p]) for m, p in self._places]
        where = matched(order.path, [[digest for digest, _ in kinds] for kinds in self._kinds])
        self._found = {at: (*self._places[n], self._kinds[n][k][1]) for at, (n, k) in where.items()}
        calls = {word(messages[m].parts[p].get("callID")): (m, p) for m, p in self._places}
        for at, item in told(enumerate(order.path)):
            place = calls.get(str(item.block.member("tool_use_id")))
            if at not in self._found and item.block.kind == "tool_result" and place is not None:
                self._found[at] = (*place, resume_messages.RESULT)
        kept = [one for one in order.sent if order.end is None or one.at is None or one.at < order.end]
        self._wanted: ResumePlan = plan(order.path, kept)
        self._first = len(messages)
        self.lost: list[str] = []

    def change(self) -> None:
        """Drop and replace what is asked for."""
        gone: set[tuple[int, int]] = set()
        changed: list[tuple[int, int, str, Item]] = []
        for at, item in told(enumerate(self._order.path[: self._order.end])):
            stands = self._wanted.stands.get(at)
            if stands is not None and stands.block.digest == item.block.digest:
                continue
            if at not in self._found:
                self.lost.append(UNHELD)
                continue
            m, p, kind = self._found[at]
            self._first = min(self._first, m)
            if stands is not None:
                changed.append((m, p, kind, stands))
            elif kind == resume_messages.SAID:
                gone.add((m, p))
            elif not any(one[:2] == (m, p) for one in gone):
                self.lost.append(UNHELD)
        for m, p, kind, stands in changed:
            self.lost += self._messages[m].rewrite(p, kind, stands.block)
        for m, p in gone:
            self._messages[m].drop(p)

    def cut(self) -> None:
        """Take out what follows the end of the path."""
        inside = [self._found[at][:2] for at in self._found if self._order.end is None or at < self._order.end]
        if not inside:
            return
        last, part = max(inside)
        for message in self._messages[last + 1 :]:
            waits = self._order.end is not None and not message.said.answers
            if waits and message.said.parts and not message.gone:
                self.lost.append(UNANSWERED)
            message.gone = True
        self._messages[last].cut(part)

    def put_in(self) -> None:
        """New messages for what edits made."""
        new: list[tuple[int, ImportMessage]] = []
        for at, items in sorted(self._wanted.after.items()):
            later = (self._found[n][:2] for n in sorted(self._found) if n > at)
            above = self._found[at][0] if at in self._found else -1
            follower = next((m for m, _ in later if not self._messages[m].gone), len(self._messages))
            if follower == above:
                self.lost.append(MOVED)
            self._first = min(self._first, follower - 1)
            for role, group in groupby(items, lambda item: "assistant" if item.place.role == "assistant" else "user"):
                near, texts = self._near(follower, role), [one.block for one in group]
                if near is None:
                    self.lost.append(UNHELD)
                    continue
                behind = self._messages[follower] if follower < len(self._messages) else None
                new.append((follower, ImportMessage.made(near, behind, self._messages, texts)))
        for count, (place, message) in enumerate(new):
            self._messages.insert(place + count, message)

    def _near(self, place: int, role: str) -> OpenCodeMessage | None:
        """A message of `role` near the place, after which a new one is made."""
        same = [n for n, one in enumerate(self._messages) if one.said.answers == (role == "assistant")]
        return self._messages[min(same, key=lambda n: abs(n - place))].said if same else None

    def settle(self) -> None:
        """Take reports out that are not true of the new context; the last answer gets the size that was worked out."""
        answers = [one for one in self._messages if one.said.answers and not one.gone and not one.new]
        before = [one for one in self._messages if not one.new][: self._first + 1]
        for one in answers:
            if one in before[:-1] or (one in before and not one.has_steps):
                continue
            told_ = self._order.input_tokens if one is answers[-1] else None
            one.report(told_, self._order.answer_tokens)


def _answering(messages: Sequence[ImportMessage]) -> None:
    """An answer whose question is gone answers the one before it."""
    asked = next((one.said.id for one in messages if not one.said.answers), "")
    there = {one.said.id for one in messages}
    for one in messages:
        if not one.said.answers:
            asked = one.said.id
        elif asked and one.value["info"].get("parentID") not in there:
            one.value["info"]["parentID"] = asked


def _info(info: dict[str, Any], messages: Sequence[ImportMessage], id_: str, now: float) -> dict[str, Any]:
    """What the session says of itself: it has spent what its own messages report."""
    tokens = [one.value["info"].get("tokens") or {} for one in messages if one.said.answers]
    flat = {key: sum(int(one.get(key) or 0) for one in tokens) for key in ("input", "output", "reasoning")}
    cache = {key: sum(int(member(one, "cache", key) or 0) for one in tokens) for key in ("read", "write")}
    time = obj(info.get("time"))
    made = {key: value for key, value in info.items() if key not in ("parentID", "share", "revert", "summary")}
    return {
        **made,
        "id": id_,
        "title": f"{info.get('title') or 'session'} (curated)",
        "cost": sum(float(one.value["info"].get("cost") or 0) for one in messages if one.said.answers),
        "tokens": {**flat, "cache": cache},
        "time": {"created": time.get("created") or round(now * 1000), "updated": round(now * 1000)},
        "metadata": {**(made.get("metadata") or {}), MAKER: _listed(messages)},
    }


def _listed(messages: Sequence[ImportMessage]) -> dict[str, Any]:
    """Which messages are copies, and which have tokens that are an estimate, by their ids."""
    answers = [one for one in messages if one.said.answers]
    estimated = [one.said.id for one in answers if one.estimated]
    return {COPIED: [one.said.id for one in answers], **({ESTIMATED: estimated} if estimated else {})}
