"""Rules between the rows of the transcript: what Enter does on one, and what it says."""

from __future__ import annotations

from ctxtui.core.call import Call
from ctxtui.tui.inspector.controller import Controller
from ctxtui.views.text import numbers
from ctxtui.views.text.span import Span, Spans
from ctxtui.views.transcript.row_index import RuleRow


class RulesController(Controller):
    """Opens the rule under the cursor: of an answer its blocks, of a new epoch its first call, of a broken prefix what
    it costs. What a compaction lost has a screen of its own."""

    def open_rule(self, rule: RuleRow) -> None:
        """What this rule stands for."""
        if rule.kind in ("answer", "since"):
            self._open_blocks(rule)
        elif rule.kind == "break":
            self._say_breakage()
        else:
            self._to_epoch(rule)

    def _open_blocks(self, rule: RuleRow) -> None:
        """All blocks below the rule, or, if they are open, fold them."""
        pane, rows = self.panels.transcript, self.panels.transcript.data
        if rows is None or rows.scene is None:
            return
        below = []
        for index in range(pane.cursor + 1, rows.count):
            if rows.entry(index) <= 0:
                break
            below.append(index)
        shut = [index for index in below if rows.open_state(index) is None]
        for index in shut or below:
            rows.toggle(index)
        pane.reopen()
        what = f"{len(below):,} block{'' if len(below) == 1 else 's'}"
        number = rows.scene.number
        said = f"what call {number:,} answered" if rule.kind == "answer" else "what came since: the next call reads it"
        self.say([Span(f"{said}: {what} {'opened' if shut else 'folded'}", "dim")])

    def _say_breakage(self) -> None:
        """What is written again from here on, and how to pay less for it."""
        what = self.panels.staged.what if self.panels.staging is not None else None
        broken = what.staging.breakage if what is not None else None
        if what is None or broken is None:
            self.say([Span("what the staged edits break is still being worked out", "dim")])
            return
        now = next((one.once for one in what.moments if one.name == "now"), None)
        paid = f", {numbers.signed_money(now)} now" if now is not None else ""
        words: list[Span] = [
            Span("from here on the request differs: "),
            Span(f"{numbers.tokens(broken.tokens)} of {numbers.tokens(broken.cached)} cached", "warn"),
            Span(f" are written again once{paid}  "),
        ]
        self.say([*words, *_key("w", "waits until they have expired"), *_key("l", "what quotes it")])

    def _to_epoch(self, rule: RuleRow) -> None:
        """To the first call of the epoch, with what it had to write again."""
        scene = self.panels.scene
        if scene is None:
            return
        tree = scene.session.tree
        found = (n for n, call in enumerate(scene.calls) if tree.holds(call.sent_head, rule.before))
        index = next(found, None)
        if index is None:
            self.say([Span("no call has read what follows yet", "dim")])
            return
        if index != self.state.index:
            self.state.go(index)
        self.say([Span(f"call {index + 1:,}, the first one after it"), *_charged(scene.calls[index])])


def _charged(call: Call) -> Spans:
    """What a call read and wrote."""
    usage = call.usage
    if usage is None:
        return [Span(": no usage is recorded of it", "dim")]
    fresh = usage.input - usage.cache_read - usage.cache_write
    parts = [("read", usage.cache_read), ("wrote", usage.cache_write), ("paid in full", fresh)]
    told = ", ".join(f"{name} {numbers.tokens(tokens)}" for name, tokens in parts if tokens)
    return [Span(f": it {told or 'read nothing'}  ", "dim"), *_key("c", "misses, with why")]


def _key(key: str, what: str) -> list[Span]:
    return [Span(key, "accent bold"), Span(f" {what}  ", "dim")]
