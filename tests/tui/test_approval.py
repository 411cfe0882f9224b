"""Leave to write: what is asked is what is on the screen, and only a key that was meant as the answer answers."""

from __future__ import annotations

import time
from collections.abc import Iterable
from pathlib import Path

import pytest
from textual import events
from textual.pilot import Pilot

from ctxtui.tui.chat.prompt import PAUSE_SECONDS
from ctxtui.views.blocks import live_text
from ctxtui.views.text.span import plain
from tests.services.chatting import answer, provider, text, use
from tests.tui.test_chat import asked_for_leave, chatting, reply, say, shown, until

SIZES = [(80, 24), (120, 40)]
REPEAT = 0.05
"""Seconds between two keys of one that is held down."""


async def typed(pilot: Pilot[None], keys: Iterable[str], since: float) -> None:
    """Keys typed one after the other from `since` on (monotonic seconds), however long this machine takes over them: a
    key carries its own time."""
    for number, key in enumerate(keys):
        event = events.Key("space" if key == " " else key, key)
        event.time = since + REPEAT * number
        pilot.app.post_message(event)
    await pilot.pause()


def held_down(key: str, since: float) -> list[str]:
    """`key` as often as it comes from `since` until what is asked now has stood there for longer than the pause."""
    return [key] * round((time.monotonic() + PAUSE_SECONDS + 0.3 - since) / REPEAT)


@pytest.mark.parametrize("size", SIZES)
async def test_the_question_shows_where_how_much_and_what(tmp_path: Path, size: tuple[int, int]) -> None:
    content = "#!/bin/sh\n" + "".join(f"echo line {n}\n" for n in range(60))
    path = "docs/plan-for-the-next-release-and-other-things-to-do/x/../../../.git/hooks/post-checkout"
    script = [answer("m1", use("t1", "write_file", path=path, content=content)), answer("m2", text("done"))]
    async with provider(script) as server, chatting(tmp_path, server, size) as (screen, pilot):
        (tmp_path / "work/docs/plan-for-the-next-release-and-other-things-to-do/x").mkdir(parents=True)
        await say(screen, pilot, "write", wait=False)
        await asked_for_leave(screen, pilot)
        there = shown(screen)
        assert "write_file .git/hooks/post-checkout" in there and "new, 61 lines" in there
        assert ".git is read by other programs: ctxtui asks each time" in there
        assert "the model wrote docs/plan-for" in there and ".git/hooks/post-checkout" in there
        assert "1  #!/bin/sh" in there and "y once  n no  N never" in there
        assert "always" not in there, "permission for the session is not to be had"
        await pilot.press("end")
        await until(pilot, lambda: "61  echo line 59" in shown(screen))
        screen.approval.show(screen.talk.approval)
        await pilot.pause(0.1)
        assert "61  echo line 59" in shown(screen), "a layout does not throw the reader back"
        await pilot.press("pageup", "up")
        assert "echo line 59" not in shown(screen)
        await reply(screen, pilot, "a")
        await pilot.pause(0.1)
        assert screen.talk.waiting_call is not None and not (tmp_path / "work/.git").exists()
        await until(pilot, lambda: "a does nothing: y n N" in shown(screen))
        await pilot.press("d")
        await until(pilot, lambda: "d does nothing" in shown(screen))
        assert not screen.edits.overlay.staged, "no key acts on what the question hides"
        await reply(screen, pilot, "n")
        await until(pilot, lambda: not screen.state.is_running)
        assert not (tmp_path / "work/.git").exists() and screen.talk.approval is None


@pytest.mark.parametrize("size", SIZES)
async def test_an_edit_shows_its_difference(tmp_path: Path, size: tuple[int, int]) -> None:
    script = [answer("m1", use("t1", "edit_file", path="a.py", old="two", new="2")), answer("m2", text("done"))]
    async with provider(script) as server, chatting(tmp_path, server, size) as (screen, pilot):
        (tmp_path / "work" / "a.py").write_text("".join(f"{n}\n" for n in range(50)) + "one\ntwo\nthree\n")
        await say(screen, pilot, "edit", wait=False)
        await asked_for_leave(screen, pilot)
        there = shown(screen)
        assert "edit_file a.py" in there and "changed, 53 lines" in there and "two2" in there
        assert "50 lines unchanged" in there or "49 lines unchanged" in there, there
        await reply(screen, pilot, "y")
        await until(pilot, lambda: not screen.state.is_running)
        assert (tmp_path / "work" / "a.py").read_text().endswith("one\n2\nthree\n")


async def test_what_is_typed_when_the_question_comes_goes_on_in_the_prompt(tmp_path: Path) -> None:
    script = [answer("m1", use("t1", "write_file", path="typeahead.txt", content="x")), answer("m2", text("done"))]
    async with provider(script) as server, chatting(tmp_path, server) as (screen, pilot):
        since = time.monotonic()
        await say(screen, pilot, "write", wait=False)
        await asked_for_leave(screen, pilot)
        await typed(pilot, "stop that now", since)
        assert screen.prompt.text == "stop that now" and screen.talk.waiting_call is not None
        assert not (tmp_path / "work" / "typeahead.txt").exists()
        await pilot.press("enter")
        await reply(screen, pilot, "y")
        await until(pilot, lambda: not screen.state.is_running)
        assert (tmp_path / "work" / "typeahead.txt").exists()
        assert b"stop that now" in server.bodies[-1]


async def test_a_draft_waits_aside_while_the_tool_is_answered_by_the_keys_that_are_named(tmp_path: Path) -> None:
    """In each state the keys on the screen act: with the cursor in a draft, in the question, in the panes."""
    writes = [answer(f"m{n}", use(f"t{n}", "write_file", path=f"{n}.txt", content="x")) for n in (1, 2)]
    async with provider([*writes, answer("m3", text("done"))]) as server, chatting(tmp_path, server) as (screen, pilot):

        def foot() -> str:
            return "\n".join(shown(screen).splitlines()[-2:])

        assert "i type a message" not in foot() and "type a message" in foot(), "the cursor is there already"
        await say(screen, pilot, "write", wait=False)
        await pilot.press(*"half an idea")
        await until(pilot, lambda: "write_file needs your permission: esc answers" in foot())
        assert "esc answer" in foot() and "?" not in screen.prompt.text
        await pilot.press(*" yan", "escape")
        await asked_for_leave(screen, pilot)
        assert "y once  a always  n no  N never" in foot() and "esc later" in foot() and "to the panes" not in foot()
        await pilot.press("escape")
        await until(pilot, lambda: "write_file needs your permission: i answers" in foot() and " i answer " in foot())
        await pilot.press("i")
        await asked_for_leave(screen, pilot)
        await reply(screen, pilot, "y")
        await until(pilot, lambda: (tmp_path / "work" / "1.txt").exists())
        assert screen.prompt.text == "half an idea yan" and screen.prompt.has_focus
        await until(pilot, lambda: "needs your permission: esc answers" in foot())
        await pilot.press("escape")
        await reply(screen, pilot, "n")
        await until(pilot, lambda: not screen.state.is_running)
        assert not (tmp_path / "work" / "2.txt").exists() and screen.prompt.text == "half an idea yan"
        assert "esc to the panes" in foot() and foot().count("esc ") == 1, "one name for one key"
        await pilot.press("escape")
        await until(pilot, lambda: "i type a message" in foot() and "i talk" in foot())


@pytest.mark.parametrize("key", ["y", pytest.param("N", marks=pytest.mark.slow)])
async def test_a_key_held_down_answers_nothing(tmp_path: Path, key: str) -> None:
    writes = [use(f"t{n}", "write_file", path=f"{n}.txt", content="x") for n in (1, 2)]
    script = [answer("m1", *writes), answer("m2", text("done"))]
    async with provider(script) as server, chatting(tmp_path, server) as (screen, pilot):
        since = time.monotonic()
        await say(screen, pilot, "write", wait=False)
        await asked_for_leave(screen, pilot)
        await typed(pilot, held_down(key, since), since)
        waiting = screen.talk.waiting_call
        assert waiting is not None and waiting.id == "t1" and not list((tmp_path / "work").iterdir())
        await until(pilot, lambda: screen.prompt.is_ready)
        since = time.monotonic()
        await reply(screen, pilot, "y")
        await until(pilot, lambda: (tmp_path / "work" / "1.txt").exists() and screen.talk.approval is not None)
        assert "2.txt" in shown(screen)
        await typed(pilot, held_down("y", since), since)
        waiting = screen.talk.waiting_call
        assert waiting is not None and waiting.id == "t2", "one burst never answers two questions"
        await reply(screen, pilot, "y")
        await until(pilot, lambda: not screen.state.is_running)


async def test_keys_that_waited_while_the_screen_was_busy_answer_nothing(tmp_path: Path) -> None:
    script = [answer("m1", use("t1", "write_file", path="a.txt", content="x")), answer("m2", text("done"))]
    async with provider(script) as server, chatting(tmp_path, server) as (screen, pilot):
        early = events.Key("y", "y")
        await say(screen, pilot, "write", wait=False)
        await asked_for_leave(screen, pilot)
        await until(pilot, lambda: screen.prompt.is_ready)
        screen.prompt.post_message(early)
        await pilot.pause(0.1)
        assert screen.talk.waiting_call is not None, "typed before it could be read, taken after"
        await reply(screen, pilot, "y")
        await until(pilot, lambda: not screen.state.is_running)
    assert PAUSE_SECONDS >= 0.5


async def test_later_and_back_again(tmp_path: Path) -> None:
    script = [answer("m1", use("t1", "write_file", path="a.txt", content="x")), answer("m2", text("done"))]
    async with provider(script) as server, chatting(tmp_path, server) as (screen, pilot):
        await say(screen, pilot, "write", wait=False)
        await asked_for_leave(screen, pilot)
        await pilot.press("escape")
        assert screen.talk.approval is None and "to be written" not in shown(screen)
        await pilot.press("i")
        await asked_for_leave(screen, pilot)
        await pilot.resize_terminal(80, 24)
        await until(pilot, lambda: screen.approval.size.width == 80)
        assert "write_file a.txt" in shown(screen)
        await pilot.press("escape", "escape")
        await until(pilot, lambda: not screen.state.is_running)
        assert not (tmp_path / "work" / "a.txt").exists(), "esc outside of the question ends the turn"


async def test_the_wheel_scrolls_by_three_lines_and_the_rule_follows(tmp_path: Path) -> None:
    content = "".join(f"line {n}\n" for n in range(200))
    script = [answer("m1", use("t1", "write_file", path="a.txt", content=content)), answer("m2", text("done"))]
    async with provider(script) as server, chatting(tmp_path, server) as (screen, pilot):
        await say(screen, pilot, "write", wait=False)
        await asked_for_leave(screen, pilot)
        await pilot._post_mouse_events([events.MouseScrollDown], screen.approval, offset=(5, 5))
        await until(pilot, lambda: screen.approval.viewport.top > 0)
        assert screen.approval.viewport.top == 3
        await until(pilot, lambda: f" {plain(list(screen.approval.notes())).strip()}" in shown(screen))
        assert plain(list(screen.approval.notes())).startswith("4–")


def lines(before: bytes | None, after: bytes, room: int = 60) -> list[str]:
    return [plain(line) for line in live_text.render_file_change(before, after, room)]


def test_nothing_of_a_file_stands_beside_the_edge() -> None:
    for before in (None, b"x = 1\n"):
        made = lines(before, b"x = 1" + b" " * 3000 + b"; evil()\n")
        assert any("evil()" in line for line in made) and max(map(len, made)) <= 60
    assert "".join(part.strip()[1:].strip() for part in lines(None, b"a" * 200)[:1]).startswith("a")


def test_what_cannot_be_seen_is_shown() -> None:
    (line,) = lines(None, "x\u202e\u200b\x1b[2J\r".encode())
    assert "\x1b" not in line and "\u202e" not in line and "U+202E" in line


def test_a_file_too_long_to_be_shown_says_so() -> None:
    made = lines(None, b"x\n" * 30_000)
    assert len(made) == live_text.MAX_LINES + 1 and "10,000 more lines are not shown:" in made[-1]
    assert "more than 20,000 more lines" in lines(None, b"x\n" * 60_000)[-1]
    assert lines(None, b"") == [" (nothing)"] and lines(b"a\n", b"a\n")


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        (None, b"a\nb", "new, 2 lines, 3 bytes"),
        (b"old", b"a\n", "changed, 1 line, 2 bytes (was 3)"),
        (b"a\n", b"a\n", "unchanged, 1 line, 2 bytes"),
    ],
)
def test_what_becomes_of_a_file_in_words(before: bytes | None, after: bytes, told: str) -> None:
    assert live_text.describe_file_change(before, after) == told
