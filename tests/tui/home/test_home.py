"""Home in a Textual app without a terminal: painted from names, filled in, filtered, sorted, asked."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from threading import Event

import pytest
from msgspec.structs import replace
from textual.app import App
from textual.pilot import Pilot
from textual.screen import Screen

from ctxtui.core.errors import CtxtuiError
from ctxtui.tui.home.loader import ReadingQueue, SessionsListed
from ctxtui.tui.home.screen import HomeScreen
from ctxtui.tui.messages import Open
from ctxtui.tui.theme.theme import apply_theme
from ctxtui.tui.widgets.keyline import KeyLine
from ctxtui.views.home.session_list import SessionsSought
from ctxtui.views.model.session_summary import CallSpent, GrowthColumn, SessionSummary
from ctxtui.views.text.span import Span
from tests.tui.painting import Painted
from tests.tui.waiting import LONG, do

HERE = "/home/u/src/handy"


def glimpse(key: str, **fields: object) -> SessionSummary:
    """A session before it is read."""
    base: dict[str, object] = {
        "title": key,
        "source": "codex",
        "path": f"/r/{key}",
        "cwd": HERE,
        "mtime": time.time() - 90,
    }
    return SessionSummary(key=key, **{**base, **fields})  # type: ignore[arg-type]


def read(one: SessionSummary) -> SessionSummary:
    """The same with figures."""
    return replace(
        one, known=True, model="gpt-5.5", calls=3, peak_tokens=1000, peak_call=3, window=10_000, usable=7_500,
        total_tokens=2000, cost_usd=float(len(one.key)), read_share=0.95, growth=(GrowthColumn(500, 400, 100),) * 3,
        composition_at_peak=(("user", 1000),), first_user_text=f"first words of {one.key}", turns=1,
        spent=(CallSpent(f"call of {one.key}", 2000, 1900, 1800, float(len(one.key))),),
    )  # fmt: skip


class Shelf:
    """Sessions from memory. With `hold` reading waits until the event is set."""

    def __init__(self, sessions: Iterable[SessionSummary], hold: Event | None = None) -> None:
        self.sessions = list(sessions)
        self.hold = hold
        self.order: list[str] = []
        self.changed: list[SessionSummary] = []
        self.trouble: CtxtuiError | None = None

    def list_fast(self) -> list[SessionSummary]:
        """What is there."""
        return list(self.sessions)

    refresh = all_sessions = list_fast

    def folders_changed(self) -> bool:
        """Whether files came or went."""
        return False

    def find_changed(self, seen: Iterable[SessionSummary]) -> list[SessionSummary]:
        """What is said to have changed."""
        changed, self.changed = self.changed, []
        return changed

    def iter_cached(self, seen: Iterable[SessionSummary]) -> Iterator[SessionSummary]:
        """Nothing is remembered."""
        return iter(())

    def figures(self, seen: Iterable[SessionSummary], stop: Event) -> Iterator[SessionSummary]:
        """One after the other."""
        for one in seen:
            self.order.append(one.key)
            while self.hold is not None and not self.hold.wait(0.02):
                if stop.is_set():
                    return
            yield replace(one, known=True, error="binary data at byte 0") if one.key == "bad" else read(one)


class Keeper:
    """Notes what it is asked for."""

    def __init__(self) -> None:
        self.asked: list[tuple[object, ...]] = []
        self.refuses = False

    def _note(self, *what: object) -> str:
        if self.refuses:
            raise CtxtuiError("the database is full", way_out="delete something")
        self.asked.append(what)
        return "done that"

    def import_(self, one: SessionSummary) -> str:
        """As `services.library.session_actions`."""
        return self._note("import", one.key)

    def rename(self, one: SessionSummary, title: str) -> str:
        """As `services.library.session_actions`."""
        return self._note("rename", one.key, title)

    def tag(self, one: SessionSummary, tags: Sequence[str]) -> str:
        """As `services.library.session_actions`."""
        return self._note("tag", one.key, *tags)

    def subscription(self, one: SessionSummary, on: bool) -> str:
        return self._note("subscription", one.key, on)

    def archive(self, one: SessionSummary, archived: bool) -> str:
        """As `services.library.session_actions`."""
        return self._note("archive", one.key, archived)

    def delete(self, one: SessionSummary) -> str:
        """As `services.library.session_actions`."""
        return self._note("delete", one.key)

    def export(self, one: SessionSummary, form: str, path: str) -> str:
        """As `services.library.session_actions`."""
        return self._note("export", one.key, form, path)

    def export_name(self, one: SessionSummary, form: str) -> str:
        """As `services.library.session_actions`."""
        return f"{one.key}.json"


class HomeApp(App[None]):
    """Home and nothing else."""

    def __init__(self, shelf: Shelf, *, first_run: bool = False, glyphs: str = "unicode") -> None:
        super().__init__()
        apply_theme(self, {}, "dark", glyphs)
        self.keeper = Keeper()
        self.home = HomeScreen(shelf, self.keeper, Path(HERE), Path("/home/u"), first_run=first_run)
        self.opened: list[str] = []

    def get_default_screen(self) -> HomeScreen:
        """Home."""
        return self.home

    def on_open(self, message: Open) -> None:
        """What would be opened."""
        self.opened.append(message.target)


def lines(app: App[None]) -> list[str]:
    """What is on the screen."""
    return [strip.text for strip in app.screen._compositor.render_strips()]


def text(app: App[None]) -> str:
    """All of it."""
    return "\n".join(lines(app))


async def until(pilot: Pilot[None], app: App[None], words: str, present: bool = True) -> str:
    """Wait until `words` are on the screen, or are not."""
    end = time.monotonic() + LONG
    while time.monotonic() < end:
        if (words in text(app)) is present:
            return text(app)
        await pilot.pause(0.02)
    raise AssertionError(f"{words!r} {'never came' if present else 'stayed'}:\n{text(app)}")


async def all_read(pilot: Pilot[None], app: App[None]) -> None:
    """Wait until every session's figures are on the screen: the first of them may come a while before the others."""
    await until(pilot, app, "95 %")
    await until(pilot, app, "reading", present=False)


def a_few() -> Shelf:
    """Sessions of all groups."""
    now = time.time()
    return Shelf(
        [
            glimpse("alpha", mtime=now - 10, live=True),
            glimpse("be", mtime=now - 7200),
            glimpse("far", cwd="/x", mtime=now - 90000),
            glimpse("sample", cwd="", group="samples"),
        ]
    )


async def test_names_stand_in_the_first_frame_and_figures_replace_dots() -> None:
    shelf = a_few()
    shelf.hold = Event()
    app = HomeApp(shelf)
    async with app.run_test(size=(120, 40)) as pilot:
        shown = await until(pilot, app, "reading 0 of 4")
        assert "~/src/handy  2 sessions" in shown and "● alpha" in shown and "······" in shown
        assert "samples  1 shipped with ctxtui" in shown
        shelf.hold.set()
        shown = await until(pilot, app, "reading", present=False)
        assert "······" not in shown and "95 %" in shown
        assert "3 sessions   6.0k tokens   $10.00 list price   cache read 95 %" in shown
        assert "› first words of alpha" in shown


async def test_cursor_passes_group_heads_and_enter_opens() -> None:
    app = HomeApp(a_few())
    async with app.run_test(size=(120, 40)) as pilot:
        await all_read(pilot, app)
        for expected in ("alpha", "be", "far", "sample"):
            assert app.home.browser.rows.current is not None
            assert app.home.browser.rows.current.key == expected
            await pilot.press("down")
        await pilot.press("home", "down", "enter")
        await pilot.pause()
        assert app.opened == ["/r/be"]


async def test_an_unreadable_session_is_named_and_not_opened() -> None:
    app = HomeApp(Shelf([glimpse("bad")]))
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, app, "▲ not readable: binary data at byte 0")
        await pilot.press("enter")
        await do(pilot, "Rename")
        await pilot.pause()
        assert app.opened == [] and not app.home.prompt.display


async def test_typing_filters_and_escape_shows_all() -> None:
    app = HomeApp(a_few())
    async with app.run_test(size=(120, 40)) as pilot:
        await all_read(pilot, app)
        await pilot.press("slash", *"FAR q")
        await until(pilot, app, "No session matches “FAR q”")
        await pilot.press("backspace", "backspace")
        shown = await until(pilot, app, "elsewhere")
        assert "alpha" not in shown and app.is_running
        await pilot.press("enter", "enter")
        await pilot.pause()
        assert app.opened == ["/r/far"]
        await pilot.press("escape")
        await until(pilot, app, "● alpha")


async def test_the_list_moves_while_the_filter_is_typed() -> None:
    app = HomeApp(a_few())
    async with app.run_test(size=(120, 40)) as pilot:
        await all_read(pilot, app)
        await pilot.press("slash", "down")
        assert app.home.browser.rows.current is not None and app.home.browser.rows.current.key == "be"


async def test_sort_goes_round_and_turns() -> None:
    app = HomeApp(Shelf([glimpse("short"), glimpse("rather long")]))
    async with app.run_test(size=(120, 40)) as pilot:
        await all_read(pilot, app)
        await pilot.press("S")
        await until(pilot, app, "sort: cost ↓")
        assert app.home.browser.rows.current is not None and app.home.browser.rows.current.key == "rather long"
        await do(pilot, "ReverseSort")
        await until(pilot, app, "sort: cost ↑")
        assert app.home.browser.rows.current.key == "short"
        await pilot.press("S", "S", "S", "S", "S")
        await until(pilot, app, "sort: title ↑")
        await pilot.press("S")
        await until(pilot, app, "sort: age ↓")
        await pilot.click("Heads", offset=(78, 0))
        await until(pilot, app, "sort: peak ↓")


async def test_new_files_do_not_move_the_cursor_from_its_session_or_line() -> None:
    shelf = Shelf([glimpse(f"s{i:03}", mtime=time.time() - 1000 - i) for i in range(100)])
    app = HomeApp(shelf)
    async with app.run_test(size=(120, 40)) as pilot:
        await all_read(pilot, app)
        await pilot.press("pagedown", "pagedown", "down")
        rows = app.home.browser.rows
        assert rows.current is not None
        key, line = rows.current.key, rows.viewport.heights.line_of(rows.cursor) - rows.viewport.top
        shelf.sessions.insert(0, glimpse("brand new", mtime=time.time(), live=True))
        app.home.watcher.request_listing()
        await until(pilot, app, "101 sessions")
        assert rows.current.key == key
        assert rows.viewport.heights.line_of(rows.cursor) - rows.viewport.top == line


async def test_what_is_on_the_screen_is_read_first() -> None:
    shelf = Shelf([glimpse(f"s{i:03}", mtime=1e9 - i) for i in range(300)], hold=Event())
    app = HomeApp(shelf)
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, app, "reading")
        await pilot.press("end")
        await pilot.pause()
        assert shelf.hold is not None
        shelf.hold.set()
        await until(pilot, app, "reading", present=False)
        assert {"s299", "s298"} <= set(shelf.order[1:40])


async def test_a_session_that_goes_is_gone() -> None:
    shelf = a_few()
    app = HomeApp(shelf)
    async with app.run_test(size=(120, 40)) as pilot:
        await all_read(pilot, app)
        del shelf.sessions[0]
        app.home.watcher.request_listing()
        shown = await until(pilot, app, "alpha", present=False)
        assert "2 sessions" in shown


async def test_welcome_comes_once_and_goes_with_escape() -> None:
    app = HomeApp(Shelf([]), first_run=True)
    async with app.run_test(size=(80, 24)) as pilot:
        shown = await until(pilot, app, "Read-only; nothing leaves this machine.")
        assert "No recorded session on this machine." in shown
        await pilot.press("escape")
        await until(pilot, app, "Read-only", present=False)
    assert "Read-only" not in await _shown(HomeApp(Shelf([])))


async def test_a_filter_takes_the_place_of_the_welcome() -> None:
    app = HomeApp(
        Shelf([glimpse("cart", cwd="", group="samples"), glimpse("shop", cwd="", group="samples")]), first_run=True
    )
    app.home.collection.sought = (SessionsSought("codex", "~/.codex/sessions"),)
    async with app.run_test(size=(80, 40)) as pilot:
        shown = await until(pilot, app, "No session found yet. Below: four samples, and where ctxtui looked.")
        assert "cart" in shown and "shop" in shown and "~/.codex/sessions" in shown
        await pilot.press("slash", *"cart")
        shown = await until(pilot, app, "shop", present=False)
        assert "cart" in shown and "Below" not in shown, "the list below is another one"
        await pilot.press("x", "enter")
        await until(pilot, app, "No session matches “cartx”.  esc show all")
        await pilot.press("escape")
        shown = await until(pilot, app, "No session found yet.")
        assert "cart" in shown and "shop" in shown and "~/.codex/sessions" in shown
        await pilot.press("escape")
        await until(pilot, app, "No session found yet.", present=False)


async def _shown(app: HomeApp) -> str:
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        return text(app)


async def test_rename_is_asked_on_the_prompt_line() -> None:
    app = HomeApp(a_few())
    async with app.run_test(size=(120, 40)) as pilot:
        await all_read(pilot, app)
        await do(pilot, "Rename")
        await until(pilot, app, "title › alpha")
        assert lines(app)[-1].split() == "⏎ accept esc leave ^p palette f1 help".split(), "letters are typed"
        await pilot.press("ctrl+u", *"new q", "left", "x", "enter")
        await until(pilot, app, "✓ done that")
        assert app.keeper.asked == [("rename", "alpha", "new xq")]
        await pilot.press("down")
        await until(pilot, app, "✓ done that", present=False)
        await do(pilot, "Tag")
        await pilot.press(*"a b", "escape")
        await pilot.pause()
        assert len(app.keeper.asked) == 1 and app.home.browser.rows.has_focus


async def test_tags_archive_and_import() -> None:
    app = HomeApp(a_few())
    async with app.run_test(size=(120, 40)) as pilot:
        await all_read(pilot, app)
        for name, keys in (("Tag", [*"x y", "enter"]), ("Subscription", []), ("Archive", []), ("Import", [])):
            await do(pilot, name)
            await pilot.press(*keys)
            await until(pilot, app, "✓ done that")
        tagged, *rest = app.keeper.asked
        assert tagged == ("tag", "alpha", "x", "y")
        assert rest == [("subscription", "alpha", True), ("archive", "alpha", True), ("import", "alpha")]


async def test_an_empty_answer_removes_tags_and_says_that_a_title_is_missing() -> None:
    app = HomeApp(Shelf([glimpse("tagged", stored="id1", tags=("x", "y")), glimpse("plain", stored="id2", mtime=1.0)]))
    async with app.run_test(size=(120, 40)) as pilot:
        await all_read(pilot, app)
        await do(pilot, "Tag")
        await pilot.press("ctrl+u", "enter")
        await until(pilot, app, "✓ done that")
        assert app.keeper.asked == [("tag", "tagged")]
        await do(pilot, "Rename")
        await pilot.press("ctrl+u", "enter")
        await until(pilot, app, "no title: nothing is changed")
        await pilot.press("down")
        await do(pilot, "Tag")
        await pilot.press("enter")
        await until(pilot, app, "no tags: nothing is changed")
        assert len(app.keeper.asked) == 1


async def test_delete_is_only_for_what_is_stored_and_asks() -> None:
    app = HomeApp(Shelf([glimpse("kept", stored="id1"), glimpse("file", mtime=1.0)]))
    async with app.run_test(size=(120, 40)) as pilot:
        await all_read(pilot, app)
        assert "delete" in [key.label for key in app.home.query_one(KeyLine).keys]
        await pilot.press("delete")
        await until(pilot, app, "Its recording is not touched.")
        await pilot.press("n", "escape")
        assert app.keeper.asked == []
        await pilot.press("delete", "y")
        await until(pilot, app, "✓ done that")
        assert app.keeper.asked == [("delete", "kept")]
        await pilot.press("down", "delete")
        await pilot.pause()
        assert not app.home.changes.is_asking
        assert "delete" not in [key.label for key in app.home.query_one(KeyLine).keys]


async def test_export_asks_for_format_and_file() -> None:
    app = HomeApp(a_few())
    async with app.run_test(size=(120, 40)) as pilot:
        await all_read(pilot, app)
        await pilot.press("ctrl+e")
        await until(pilot, app, "export as  c ctxtui  a anthropic  o openai-chat  r openai-responses")
        await pilot.press("x", "a")
        await until(pilot, app, "anthropic file › alpha.json")
        await pilot.press("enter")
        await until(pilot, app, "✓ done that")
        assert app.keeper.asked == [("export", "alpha", "anthropic", "alpha.json")]


async def test_a_refusal_names_reason_and_way_out() -> None:
    app = HomeApp(a_few())
    app.keeper.refuses = True
    async with app.run_test(size=(120, 40)) as pilot:
        await all_read(pilot, app)
        await do(pilot, "Import")
        await until(pilot, app, "✗ failed: the database is full; delete something")


@pytest.mark.parametrize("size", [(200, 60), (120, 40), (80, 24), (60, 16), (40, 10), (30, 6)])
async def test_every_size_shows_the_list_whole(size: tuple[int, int]) -> None:
    app = HomeApp(a_few())
    async with app.run_test(size=size) as pilot:
        await until(pilot, app, "$5.00")
        assert all(len(line) <= size[0] for line in lines(app))
        assert ("growth" in text(app)) is (size[0] >= 60 and size[1] >= 16)
        await pilot.resize_terminal(120, 40)
        await until(pilot, app, "growth")


async def test_ascii_terminals_get_ascii() -> None:
    app = HomeApp(a_few(), glyphs="ascii")
    async with app.run_test(size=(120, 40)) as pilot:
        await all_read(pilot, app)
        assert text(app).isascii()


async def test_a_key_costs_two_rows_however_long_the_list() -> None:
    app = HomeApp(Shelf([read(glimpse(f"s{i:04}", mtime=1e9 - i)) for i in range(5000)]))
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, app, "5,000 sessions")
        rows = app.home.browser.rows
        painted = Painted(rows)
        await pilot.press("down")
        await pilot.pause()
        assert painted.count <= 4
        await pilot.press("end")
        await pilot.pause()
        assert painted.count <= 4 + rows.body_height + 2


def test_a_feed_hands_out_the_front_first_and_each_session_once() -> None:
    feed = ReadingQueue()
    feed.add([glimpse("a"), glimpse("b"), glimpse("c")])
    feed.front = ("c",)
    given = iter(feed)
    assert next(given).key == "c"
    feed.add([glimpse("d")])
    feed.front = ("d",)
    assert [one.key for one in given] == ["d", "a", "b"]


async def test_a_file_that_grows_is_marked_live_and_read_again_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ctxtui.tui.home.loader.TICK_SECONDS", 0.05)
    monkeypatch.setattr("ctxtui.tui.home.screen.TICK_SECONDS", 0.05)
    monkeypatch.setattr("ctxtui.views.home.collection.RELOAD_INTERVAL", 0.3)
    shelf = a_few()
    app = HomeApp(shelf)
    async with app.run_test(size=(120, 40)) as pilot:
        await all_read(pilot, app)
        far = next(one for one in shelf.sessions if one.key == "far")
        for _ in range(100):  # the one percentage on the screen is another session's
            if "far" in shelf.order:
                break
            await pilot.pause(0.02)
        assert shelf.order.count("far") == 1
        shelf.changed = [replace(far, size=99, mtime=time.time(), live=True)]
        shown = await until(pilot, app, "● far")
        assert "$3.00" in shown
        for _ in range(100):
            if shelf.order.count("far") == 2:
                break
            await pilot.pause(0.02)
        assert shelf.order.count("far") == 2


async def test_nothing_is_looked_at_while_a_session_covers_the_list() -> None:
    app = HomeApp(a_few())
    async with app.run_test(size=(120, 40)) as pilot:
        await all_read(pilot, app)
        await app.push_screen(Screen())
        await pilot.pause()
        assert not app.home.watcher.is_awake
        app.pop_screen()
        await pilot.pause()
        assert app.home.watcher.is_awake


async def test_news_of_the_database_waits_behind_what_a_key_answered() -> None:
    app = HomeApp(Shelf([glimpse("one")]))
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, app, "one")
        app.home.changes.show_notice([Span("refused: no", "crit")])
        app.home.post_message(SessionsListed([glimpse("one")], "the disk is full"))
        await pilot.pause()
        assert "refused: no" in text(app) and "are not shown" not in text(app)
        await pilot.press("escape")
        app.home.post_message(SessionsListed([glimpse("one")], "the disk is full"))
        await until(pilot, app, "Sessions in the database are not shown: the disk is full")
