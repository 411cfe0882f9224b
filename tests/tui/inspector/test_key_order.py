"""The key line: what one is doing decides which keys it names first."""

from __future__ import annotations

import pytest

from ctxtui.tui.chat.commands import CHAT_COMMANDS, EnterTalk, HoldNext
from ctxtui.tui.commands import EVERYWHERE, Command, CommandContext, available_commands
from ctxtui.tui.commands import situation as facts
from ctxtui.tui.inspector import key_order
from ctxtui.tui.inspector.commands import INSPECTOR
from ctxtui.tui.widgets.keyline import keyline
from ctxtui.views.text.span import plain

ANY = frozenset({facts.CALLS, facts.EDITS})


def line(
    *more: str,
    room: int = 80,
    pane: str = "transcript",
    of: tuple[type[Command], ...] = INSPECTOR,
    first: tuple[type[Command], ...] = (),
    top: bool = False,
) -> str:
    at = CommandContext(pane, facts.BLOCK, ANY | set(more))
    can = list(available_commands((*of, *EVERYWHERE), at))
    return plain(keyline(room, list(key_order.keys(can, at, first=first, top=top)))).strip()


def test_who_looks_is_told_how_to_go_about_on_80_columns() -> None:
    shown = line()
    assert shown == "[ ] call  / find  c miss  $ money  W blocks  P diff  h home ^p palette  ? help"


@pytest.mark.parametrize("room", [80, 100, 200])
def test_no_key_is_named_twice(room: int) -> None:
    """Where few keys can be used, as while only a recording's end is read, there is room for all of them."""
    at = CommandContext("transcript", facts.BLOCK, ANY)
    keys = list(key_order.keys([each for each in available_commands(EVERYWHERE, at) if each.label], at))
    shown = plain(keyline(room, keys))
    assert shown.count("= explain") == 1 and shown.count("? help") == 1


def test_dropping_is_named_on_a_block_where_there_is_room() -> None:
    assert "h home  d drop" in line(room=120)
    elsewhere = CommandContext("transcript", "", ANY)
    keys = key_order.keys(list(available_commands(INSPECTOR, elsewhere)), elsewhere)
    assert "drop" not in plain(keyline(120, list(keys)))


@pytest.mark.parametrize(
    ("doing", "named"),
    [
        ((facts.MARKED,), "d drop  t cut  s sum  x ext  p pin  esc unmark"),
        ((facts.STAGED, facts.UNDOABLE), "a apply  X discard  u undo  w when"),
        ((facts.STAGED, facts.MARKED), "d drop  t cut  s sum  x ext  p pin  esc unmark"),
        ((facts.SEARCHING,), "esc end  n N hit  [ ] call"),
        ((facts.ASKING,), "⏎ accept  esc leave"),
        ((facts.ASKING, facts.SEEKING), "⏎ keep  esc leave  ^x expression"),
    ],
)
def test_what_one_is_doing_comes_first(doing: tuple[str, ...], named: str) -> None:
    assert line(*doing).startswith(named)


def test_a_pane_with_the_focus_says_what_its_keys_do() -> None:
    assert line(pane="calls").startswith("← → call to call  tab pane")
    assert line(pane="heaviest").startswith("↑ ↓ rows  ⏎ go to it  tab pane")


def test_the_key_that_goes_back_says_where_it_leaves() -> None:
    assert "q back" in line(room=160) and "q quit" in line(room=160, top=True)


def test_a_chat_begins_with_its_own_keys() -> None:
    def chat(*more: str) -> str:
        return line(*more, of=CHAT_COMMANDS, first=(EnterTalk, HoldNext))

    assert chat(facts.RESTING).startswith("i talk  ^o hold  [ ] call")
    assert chat(facts.RUNNING).startswith("esc interrupt  i talk")
    assert chat(facts.RUNNING, facts.MARKED).startswith("d drop") and "esc unmark" in chat(facts.RUNNING, facts.MARKED)
    assert chat(facts.ASKING, facts.TALKING).startswith("⏎ send  esc leave  ^o hold")
    assert chat(facts.ASKING, facts.QUESTION).startswith("⏎ accept  esc leave")


@pytest.mark.parametrize("doing", [facts.SEARCHING, facts.MARKED, facts.RUNNING])
def test_a_click_on_esc_in_a_chat_runs_a_command_of_the_chat(doing: str) -> None:
    at = CommandContext("transcript", facts.BLOCK, ANY | {doing})
    (esc,) = (key for key in key_order.keys(list(available_commands(CHAT_COMMANDS, at)), at) if key.key == "esc")
    assert esc.actions and set(esc.actions) <= {each.binding() for each in CHAT_COMMANDS}
