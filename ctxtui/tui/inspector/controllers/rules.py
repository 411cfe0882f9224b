"""Actions on the rules between the rows of the transcript."""

from __future__ import annotations

from ctxtui.core.call import Call
from ctxtui.tui.inspector.controller import Controller
from ctxtui.views.text import numbers
from ctxtui.views.text.signs import key_hint
from ctxtui.views.text.span import Span, Spans
from ctxtui.views.transcript.row_index import RuleRow


class RulesController(Controller):
    """Opens the rule under the cursor, except that of a compaction, which has its own screen."""

    def open_rule(self, rule: RuleRow) -> None:
        if rule.kind in ("answer", "since"):
            self._open_blocks(rule)
        elif rule.kind == "break":
            self._say_breakage()
        else:
            self._to_epoch(rule)

    def _open_blocks(self, rule: RuleRow) -> None:
        """Open all blocks below the rule, or fold them if they are open."""
        pane, rows = self.panels.transcript, self.panels.transcript.data
        if rows is None or rows.scene is None:
            return
        below = []
        for index in range(pane.cursor + 1, rows.count):
            if rows.entry(index) <= 0:
                break
            below.append(index)
        folded = [index for index in below if rows.open_state(index) is None]
        for index in folded or below:
            rows.toggle(index)
        pane.reopen()
        number, count = rows.scene.number, numbers.many(len(folded or below), "block")
        label = f"answer of call {number:,}" if rule.kind == "answer" else "new blocks, read by the next call"
        self.show_message([Span(f"{label}: {count} {'opened' if folded else 'folded'}", "dim")])

    def _say_breakage(self) -> None:
        """Show what is written again from here on, and how to pay less."""
        pane = self.panels.staged.content if self.panels.staging is not None else None
        broken = pane.staging.breakage if pane is not None else None
        if pane is None or broken is None:
            self.show_message([Span("The effect of the staged edits on the cache is still being computed.", "dim")])
            return
        now = next((moment.once for moment in pane.moments if moment.name == "now"), None)
        paid = f", {numbers.signed_money(now)} now" if now is not None else ""
        words: list[Span] = [
            Span("The request differs from here on: "),
            Span(f"{numbers.tokens(broken.tokens)} of {numbers.tokens(broken.cached)} cached", "warn"),
            Span(f" tokens are written again once{paid}  "),
        ]
        self.show_message([*words, *key_hint("w", "waits until they expire  "), *key_hint("l", "lists later quotes")])

    def _to_epoch(self, rule: RuleRow) -> None:
        """Go to the first call of the epoch, and show what it read, wrote and paid in full."""
        scene = self.panels.scene
        if scene is None:
            return
        tree = scene.session.tree
        matches = (n for n, call in enumerate(scene.calls) if tree.holds(call.sent_head, rule.before))
        index = next(matches, None)
        if index is None:
            self.show_message([Span("No call has read the next blocks yet.", "dim")])
            return
        if index != self.state.index:
            self.state.go(index)
        self.show_message([Span(f"call {index + 1:,} is the first call after it"), *_charged(scene.calls[index])])


def _charged(call: Call) -> Spans:
    """Return what a call read, wrote and paid in full."""
    usage = call.usage
    if usage is None:
        return [Span("; its usage was not recorded", "dim")]
    fresh = usage.input - usage.cache_read - usage.cache_write
    parts = [("read", usage.cache_read), ("wrote", usage.cache_write), ("paid in full", fresh)]
    parts_text = ", ".join(f"{name} {numbers.tokens(tokens)}" for name, tokens in parts if tokens)
    return [Span(f": it {parts_text or 'read nothing'}  ", "dim"), *key_hint("c", "lists misses")]
