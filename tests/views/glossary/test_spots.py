"""Where on a screen words, signs and figures stand, and what each figure counts."""

from __future__ import annotations

from ctxtui.services.config.package_data import glossary
from ctxtui.views.glossary import note, spots
from ctxtui.views.glossary.spots import Region, Spot
from ctxtui.views.text.span import Span, plain, width

SCREEN = """\
 what is read  call 205  ○ recorded   ████┃╱╱  154.1k of 150k  103 %  $35.78 of $60.53 with 7 subagents
━ transcript ━━━━━━━━━━━━━━━━━━━━━━━━━ 5 blocks ━┬─ context ──── 154,094 reported, blocks ±10 %   residual +25.8k ─
┃  7 › the misses of call 12 cost $3           4 │   not recorded  ?13.9k  9 %
◇    ← Read src/a.py written again           163 │ 4 › user          704   0 %
─ calls  166–243  $13.44 ──────────────── ▼ miss 13  Σ compaction 2  ✗ error 5 ─
""".splitlines()
PANES = [
    ("header", Region(0, 0, 115, 1)),
    ("transcript", Region(0, 1, 49, 3)),
    ("context", Region(49, 1, 66, 3)),
    ("calls", Region(0, 4, 80, 1)),
]


def found() -> list[Spot]:
    return spots.find_spots(SCREEN, PANES, glossary())


def meant(pane: str, figures: bool = True) -> list[tuple[str, str]]:
    return [(spot.text, spot.entry.word) for spot in found() if spot.pane == pane and spot.figure == figures]


def test_figures_of_the_header_are_told_apart_by_what_stands_beside_them() -> None:
    assert meant("header") == [
        ("205", "call"), ("154.1k", "tokens"), ("150k", "usable"), ("103 %", "usable"), ("$35.78", "cost"),
        ("$60.53", "with subagents"), ("7", "with subagents"),
    ]  # fmt: skip
    assert ("read", "read") not in meant("header", figures=False), "the title is a text of the session"


def test_a_figure_belongs_to_its_row_or_to_the_word_beside_it() -> None:
    assert {("154,094", "reported"), ("+25.8k", "residual"), ("±10 %", "±"), ("?13.9k", "not recorded"),
            ("704", "user")} <= set(meant("context"))  # fmt: skip
    assert ("13", "miss") in meant("calls") and ("2", "compaction") in meant("calls")


def test_texts_of_the_session_are_no_labels() -> None:
    assert [word for _, word in meant("transcript", figures=False)] == [
        "transcript", "block", "read", "user", "automatic breakpoint", "tool result",
    ]  # fmt: skip


def test_arrow_keys_reach_every_spot() -> None:
    every = found()
    here = every[0]
    for spot in every[1:]:
        here = spots.next_spot(every, here, 1, 0)
        assert here is spot
    assert spots.next_spot(every, here, 1, 0) is here
    above = spots.next_spot(every, here, 0, -1)
    assert above.y < here.y
    assert spots.spot_at(every, above.x, above.y) is above and spots.nearest_spot(every, above.x, above.y) is above


def test_a_note_fits_its_frame_and_leaves_in_view_what_it_is_about() -> None:
    lines = note.lines([Span("residual")], [("word " * 40, "ink"), ("", "dim"), ("1 = 1", "dim")], [Span("esc")], 80)
    assert len({width(line) for line in lines}) == 1 and width(lines[0]) <= note.MAX_WIDTH
    assert plain(lines[0]).startswith("┌ residual ─") and plain(lines[-1]).endswith("─┘")
    for about in (Region(5, 0, 8, 1), Region(70, 23, 8, 1), Region(40, 12, 8, 1)):
        x, y = note.position_note(about, (30, 8), (80, 24))
        assert 0 <= x <= 50 and 0 <= y <= 16
        assert not (y <= about.y < y + 8 and x < about.x + about.width and about.x < x + 30)


def test_figures_of_home_stand_under_heads_in_a_pane_of_their_own() -> None:
    lines = [
        "  title                   source   model       calls   peak     cost  read  age",
        "─ samples  4 shipped with ctxtui ───────────────────────────────────────────────",
        "▸ read 5 files cost $3    ctxtui   opus-4         29 192.4k    $2.25  68 %",
    ]
    panes = [("heads", Region(0, 0, 80, 1)), ("sessions", Region(0, 1, 80, 2))]
    every = spots.find_spots(lines, panes, glossary())
    assert [(spot.text, spot.entry.word) for spot in every if spot.figure] == [
        ("29", "call"), ("192.4k", "tokens"), ("$2.25", "cost"), ("68 %", "hit rate"),
    ]  # fmt: skip
    assert [spot.entry.word for spot in every if spot.pane == "sessions" and not spot.figure] == ["cursor"]


def test_the_rules_between_rows_are_explained_by_their_words() -> None:
    """The cursor passes over them, and there is nothing for Enter to open: `=` says what they are."""
    lines = [
        "─ transcript ───",
        "╳╌╌╌╌ prefix ends here · breaks 12.3k cached ╌╌╌",
        "     Σ╌ compaction · 180k → 20k ╌╌╌",
    ]
    where = spots.find_spots(lines, [("transcript", Region(0, 0, 50, 3))], glossary())
    assert [(spot.y, spot.entry.word) for spot in where if spot.y and not spot.figure] == [
        (1, "prefix ends here"),
        (2, "compaction"),
    ]
