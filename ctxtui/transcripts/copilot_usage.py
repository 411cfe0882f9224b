"""What Copilot CLI says of tokens: figures of a call in some versions, sums at a session's end in all."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ctxtui.core.call import Call
from ctxtui.core.canonical import Json
from ctxtui.core.session import CallSeen, Event, Outcome
from ctxtui.core.tree import Tree
from ctxtui.core.usage import Usage
from ctxtui.transcripts.dialogue import Ids, in_all
from ctxtui.transcripts.fields import at, count, money, obj
from ctxtui.transcripts.outcomes import words


class Totals:
    """Sums of a session, given to its only call or kept beside the calls."""

    def __init__(self, tree: Tree, ids: Ids) -> None:
        self._tree, self._ids = tree, ids

    def told(self, data: dict[str, Json], calls: list[Call]) -> Iterator[Event]:
        """What the session used, by model: a single call's own figures, else a call that is only a sum."""
        for model, report in obj(data.get("modelMetrics")).items():
            used = usage(obj(obj(report).get("usage")))
            silent = [n for n, call in enumerate(calls) if call.model == model and call.usage is None]
            if used is None:
                continue
            if len(silent) == 1 and count(at(report, "requests", "count")) == 1:
                calls[silent[0]] = replace(calls[silent[0]], usage=used)
                yield CallSeen(calls[silent[0]])
            elif silent or not calls:
                yield from self._sum(model, used, obj(report), calls)
        for key in ("currentTokens", "systemTokens", "conversationTokens", "toolDefinitionsTokens", "shutdownType"):
            if data.get(key) is not None:
                yield Outcome(key, words(data[key]))

    def _sum(self, model: str, used: Usage, report: dict[str, Json], calls: list[Call]) -> Iterator[Event]:
        known = sum((c.usage for c in calls if c.model == model and c.usage), Usage.nothing())
        rest = replace(used, fresh=max(0, used.fresh - known.fresh), output=max(0, used.output - known.output))
        extra = {"requests": report["requests"]} if "requests" in report else {}
        whole = Call("", "", model=model, usage=rest, extra=extra)
        yield from in_all(self._tree, self._ids, whole, f"totals {model}")


def usage(report: dict[str, Json]) -> Usage | None:
    """Usage whose input includes what was read from and written to the cache; None for nothing but zeros."""
    given, read = count(report.get("inputTokens")), count(report.get("cacheReadTokens"))
    written, output = count(report.get("cacheWriteTokens")), count(report.get("outputTokens"))
    if given + read + written == 0:
        return None
    fresh = given - read - written if given >= read + written else given
    return Usage(
        fresh,
        read,
        write_5m=written,
        output=output,
        reasoning=count(report.get("reasoningTokens")),
        has_cache="cacheReadTokens" in report,
        cost=money(report.get("cost")) if "cost" in report and "requests" not in report else None,
    )
