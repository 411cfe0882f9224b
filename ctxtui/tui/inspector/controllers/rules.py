"""Actions of the transcript's separator rows (`RuleRow`).

These are the beginnings of the answer, of unsent blocks and of epochs, and the end of the cached prefix.
"""

from __future__ import annotations

from ctxtui.core.call import Call
from ctxtui.curation.price.price_tag import Breakage
from ctxtui.tui.inspector.controller import Controller
from ctxtui.views.text import numbers
from ctxtui.views.text.signs import key_hint
from ctxtui.views.text.span import Span, Spans
from ctxtui.views.transcript.row_index import RuleRow
from ctxtui.views.transcript.staged_rows import BREAK


class RulesController(Controller):
    """Opens the separator row under the cursor.

    A compaction's row opens a screen of its own instead.
    """

    def open_rule(self, rule: RuleRow) -> None:
        if rule.kind in ("answer", "since"):
            self._open_blocks(rule)
        elif rule.kind == BREAK:
            self._say_breakage()
        else:  # the start of an epoch
            self._to_epoch(rule)

    def _open_blocks(self, rule: RuleRow) -> None:
        """Open all blocks below the row, or fold them if they are open."""
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
        """Show the cached tokens that are written again from here on, and the keys for details."""
        pane = self.panels.staged.content if self.panels.staging is not None else None
        broken = pane.staging.breakage if pane is not None else None
        if pane is None or broken is None:
            self.show_message([Span("The effect of the staged edits on the cache is still being computed.", "dim")])
            return
        now = next((moment.once for moment in pane.moments if moment.name == "now"), None)
        self.show_message(describe_breakage(broken, now))

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


def describe_breakage(broken: Breakage, now: float | None) -> Spans:
    """Return what is written again, with its price `now` in USD (None: unknown), and keys."""
    listed = key_hint("l", "lists what it breaks")
    if not broken.tokens:
        return [Span("The request differs from here on; no cached tokens are lost.  "), *listed]
    paid = f", {numbers.signed_money(now)} now" if now is not None else ""
    return [
        Span("The request differs from here on: "),
        Span(f"{numbers.tokens(broken.tokens)} of {numbers.tokens(broken.cached)} cached", "warn"),
        Span(f" tokens are written again once{paid}  "),
        *key_hint("w", "waits for expiry  "),
        *listed,
    ]


def _charged(call: Call) -> Spans:
    """Return what a call read, wrote and paid in full."""
    usage = call.usage
    if usage is None:
        return [Span("; its usage was not recorded", "dim")]
    if not usage.has_cache:
        return [Span(f": {numbers.tokens(usage.input)} of input; its cache figures were not recorded", "dim")]
    parts = [("read", usage.cache_read), ("wrote", usage.cache_write), ("paid in full", usage.fresh)]
    parts_text = ", ".join(f"{name} {numbers.tokens(tokens)}" for name, tokens in parts if tokens)
    return [Span(f": it {parts_text or 'read nothing'}  ", "dim"), *key_hint("c", "lists misses")]
