"""The floor of a key's frame: one Static that changes on each key."""

from textual.app import App, ComposeResult
from textual.widgets import Static


class OneStatic(App[None]):
    """Counts keys."""

    BINDINGS = [("down", "count", "count"), ("pagedown", "count", "count")]
    count = 0

    def compose(self) -> ComposeResult:
        yield Static("0", markup=False)

    def action_count(self) -> None:
        self.count += 1
        self.query_one(Static).update(str(self.count))


OneStatic().run()
