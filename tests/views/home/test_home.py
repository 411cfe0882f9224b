"""Home's view-models: list, rows, totals, preview, collection."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from ctxtui.views.home import collection, columns, preview, session_list, totals
from ctxtui.views.home.collection import Collection
from ctxtui.views.home.preview import WELCOME_KEYS, WELCOME_LINES, WELCOME_SHORT, welcome
from ctxtui.views.home.session_list import Group, ListOrder, arrange
from ctxtui.views.home.totals import Totals
from ctxtui.views.model.call_owners import CallOwners
from ctxtui.views.model.session_summary import CallSpent, GrowthColumn, SessionSummary
from ctxtui.views.text.span import plain, width

NOW = 1_770_000_000.0
HERE = "/home/u/src/handy"


def one(key: str, **known: object) -> SessionSummary:
    """A session that was read."""
    fields: dict[str, object] = {
        "title": key, "source": "claude code", "path": f"/r/{key}.jsonl", "cwd": HERE, "mtime": NOW - 100,
        "known": True, "model": "claude-sonnet-4-5-20250929", "calls": 2,
        "peak_tokens": 100_000, "peak_call": 2, "window": 200_000,
        "usable": 150_000, "total_tokens": 150_000, "cost_usd": 0.5, "read_share": 0.95,
    }  # fmt: skip
    return SessionSummary(key=key, **{**fields, **known})  # type: ignore[arg-type]


def keys(entries: tuple[session_list.Entry, ...]) -> list[str]:
    """Keys of sessions, names of groups."""
    return [f"[{e.name}: {e.note}]" if isinstance(e, Group) else e.key for e in entries]


def sorted_by(name: str, *sessions: SessionSummary, falling: bool | None = None) -> list[str]:
    """Keys in the order of a column."""
    number = next(i for i, sort in enumerate(columns.sorts()) if sort.name == name)
    wanted = ListOrder(number, columns.sorts()[number].falling if falling is None else falling)
    return [key for key in keys(arrange(sessions, wanted, HERE, "~")) if not key.startswith("[")]


# The list


def test_groups_stand_in_order_with_their_counts() -> None:
    found = arrange(
        [one("s", group="samples"), one("far", cwd="/elsewhere"), one("a"), one("b", cwd=HERE + "/sub")],
        ListOrder(), HERE, "~/src/handy",
    )  # fmt: skip
    assert keys(found) == [
        "[~/src/handy: 2 sessions]", "a", "b", "[elsewhere: 1 session]", "far", "[samples: 1 shipped with ctxtui]", "s",
    ]  # fmt: skip


def test_a_folder_that_only_begins_alike_is_elsewhere() -> None:
    assert session_list.group_of(one("a", cwd=HERE + "-two"), HERE) == "elsewhere"
    assert session_list.group_of(one("a", cwd="", group="here"), HERE) == "here"
    assert session_list.group_of(one("a", cwd="/x"), "/") == "here"


def test_newest_first_by_default_and_dearest_by_cost() -> None:
    old, new = one("old", mtime=1.0, cost_usd=9.0), one("new", mtime=2.0, cost_usd=None)
    assert sorted_by("age", old, new) == ["new", "old"]
    assert sorted_by("age", old, new, falling=False) == ["old", "new"]
    assert sorted_by("cost", old, new) == ["old", "new"]
    assert sorted_by("title", one("beta"), one("Alpha")) == ["Alpha", "beta"]


def test_running_sessions_stand_first_and_do_not_change_places() -> None:
    a, b, old = one("a", live=True, mtime=NOW), one("b", live=True, mtime=NOW - 1), one("old", mtime=NOW - 50)
    later = one("b", live=True, mtime=NOW + 1)
    assert sorted_by("age", old, a, b) == sorted_by("age", old, a, later) == ["a", "b", "old"]


def test_what_is_not_read_stands_last_where_figures_count() -> None:
    unread, bad = one("unread", known=False, mtime=NOW), one("bad", error="binary data")
    for name in ("cost", "peak", "total", "calls", "read"):
        for falling in (True, False):
            assert sorted_by(name, unread, bad, one("good"), falling=falling)[0] == "good"
    assert sorted_by("age", unread, one("good"))[0] == "unread"


def test_every_word_of_the_filter_must_occur_somewhere() -> None:
    fits = one("a", title="Fix the Login", first_user_text="flaky test", tags=("demo",), models=(("gpt-5.5", 3),))
    assert session_list.matches(fits, ["login", "flaky", "demo", "gpt-5.5"])
    assert not session_list.matches(fits, ["login", "absent"])
    assert keys(arrange([fits, one("b")], ListOrder(words="LOGIN flaky"), HERE, "~")) == ["[~: 1 session]", "a"]


# Rows


@pytest.mark.parametrize("size", [40, 60, 80, 99, 100, 120, 159, 160, 200])
@pytest.mark.parametrize(
    "session",
    [
        one("a"),
        one("登录测试不稳定，找出原因并修复它，然后继续做下一个任务" * 3, live=True),
        one("b", known=False),
        one("c", error="binary data at byte 0\x1b[31m"),
        one("d", cost_usd=None, read_share=None, window=0, usable=0, peak_tokens=0),
        one("e", cost_usd=12345.678, total_tokens=10**12, calls=123456, peak_tokens=10**9, misses=12),
    ],
    ids=["plain", "wide", "unread", "unreadable", "unknown", "huge"],
)
def test_a_row_never_outgrows_its_line(size: int, session: SessionSummary) -> None:
    for cursor in (False, True):
        assert width(columns.row(session, size, NOW, cursor=cursor)) <= size
    assert width(columns.heads(size, "age")) <= size


def test_columns_stand_under_their_heads() -> None:
    for size in (80, 120, 200):
        line, heads = plain(columns.row(one("t"), size, NOW)), plain(columns.heads(size, "age"))
        for head, figure in (("peak", "100.0k"), ("cost", "$0.500"), ("read", "95 %")):
            assert heads.index(head) + len(head) == line.index(figure) + len(figure), (size, head)


def test_a_row_says_what_is_unusual_by_style() -> None:
    styles = {s.text.strip(): s.style for s in columns.row(one("x", peak_tokens=155_000, cost_usd=5.0), 120, NOW)}
    assert styles["155.0k"] == "crit bold"
    assert styles["$5.00"] == "ink bold"
    near = {s.text.strip(): s.style for s in columns.row(one("x", peak_tokens=140_000, read_share=0.5), 120, NOW)}
    assert near["140.0k"] == "warn bold"
    assert near["50 %"] == "warn"
    calm = columns.row(one("x"), 120, NOW)
    assert next(s.style for s in calm if "100.0k" in s.text) == "ink"
    assert next(s.style for s in calm if "95 %" in s.text) == "ok"


def test_tags_stand_behind_a_title_that_leaves_room() -> None:
    assert "#demo #good claude   sonnet-4-5" in plain(columns.row(one("t", tags=("demo", "good")), 80, NOW))
    assert "#" not in plain(columns.row(one("long title " * 9, tags=("demo",)), 80, NOW))
    assert "#demo" in "".join(plain(line) for line in preview.growth(one("t", tags=("demo",)), 74, 10))


def test_an_unread_row_has_a_dot_in_every_cell_of_a_figure() -> None:
    line = plain(columns.row(one("named", known=False), 120, NOW))
    assert "named" in line and "······" in line and line.count("·") == 6 + 6
    assert "1 m" in line


def test_an_unreadable_row_says_why_and_nothing_else() -> None:
    line = plain(columns.row(one("build.tmp", source="", error="binary data at byte 0"), 120, NOW))
    assert "?           ▲ not readable: binary data at byte 0" in line
    assert "$" not in line
    empty = one("e", error="no model context: this is a HAR file")
    assert "▲ no model context: this is a HAR file" in plain(columns.row(empty, 120, NOW))


def test_unknown_is_a_word_and_one_call_has_no_share() -> None:
    line = plain(columns.row(one("x", cost_usd=None, read_share=None), 120, NOW))
    assert "unknown" in line and "–" in line and "$0" not in line


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(-5, "now"), (0, "now"), (59, "now"), (60, "1 m"), (3599, "59 m"), (3600, "1 h"), (86400, "1 d"), (1e8, "3 y")],
)
def test_ages_take_four_cells(seconds: float, text: str) -> None:
    assert columns.format_age(seconds) == text
    assert len(text) <= 4


def test_a_head_is_found_by_a_click_on_it() -> None:
    heads = plain(columns.heads(120, ""))
    assert columns.TABLE.head_at(120, heads.index("peak") + 1) == "peak"
    assert columns.TABLE.head_at(120, heads.index("title") + 2) == "title"
    assert columns.TABLE.head_at(120, 119) == ""


@pytest.mark.parametrize(
    "model",
    ["claude-sonnet-4-5-20250929", "anthropic/claude-sonnet-4-5", "us.anthropic.claude-sonnet-4-5-20250929-v1:0"],
)
def test_a_model_has_its_short_name_whoever_serves_it(model: str) -> None:
    assert "sonnet-4-5 " in plain(columns.row(one("x", model=model), 80, NOW))


def test_what_ctxtui_wrote_to_be_resumed_says_so_and_shows_no_cost() -> None:
    made = one("x", title="refactor the parser", calls=0, copied=7, cost_usd=0.0, live=True, mtime=NOW - 120)
    for size in (80, 120, 200):
        drawn = plain(columns.row(made, size, NOW))
        assert "made by ctxtui: refac" in drawn and "$" not in drawn and "●" not in drawn and "2 m" in drawn
        assert width(columns.row(made, size, NOW)) <= size
    assert "made by ctxtui" not in plain(columns.row(replace(made, calls=1), 120, NOW)), "a tool went on with it"
    assert "0 calls and 7 copied" in plain(preview.growth_notes(made))


def test_a_running_session_says_how_full_it_is_and_when_its_cache_expires() -> None:
    runs = one("x", live=True, last_tokens=20_000, expires=NOW + 250, mtime=NOW)
    table, here = columns.TABLE, columns.HomeRow
    assert plain(columns.row(runs, 120, NOW)).rstrip().endswith("●4m")
    assert plain(columns.row(runs, 120, NOW + 220)).rstrip().endswith("●30s")
    assert plain(columns.row(runs, 120, NOW + 900)).rstrip().endswith("live")
    assert plain(columns.row(replace(runs, live=False), 120, NOW)).rstrip().endswith("now")
    full = next(column for column in table.columns if column.sum is columns._sum_of_full)
    assert full.sum is not None and "20,000 of 150,000" in full.sum(here(runs, NOW))
    assert "100,000 of 150,000" in full.sum(here(replace(runs, live=False), NOW))
    age = next(column for column in table.columns if column.name == "age")
    assert age.sum is not None and "expires in 4m" in age.sum(here(runs, NOW))


# Totals


def spent(*names: str, tokens: int = 10, cost: float | None = 1.0) -> tuple[CallSpent, ...]:
    """Calls by id."""
    return tuple(CallSpent(name, tokens, tokens, tokens // 2, cost, unpriced=cost is None) for name in names)


def test_a_call_in_two_files_is_counted_once() -> None:
    ledger = CallOwners()
    ledger.put("first", spent("a", "b", "b"))
    ledger.put("fork", spent("a", "b", "c"))
    assert totals.totals(ledger.total, 2) == Totals(sessions=2, calls=3, tokens=30, cost=3.0, input=30, read=15)


def test_calls_of_a_session_that_goes_pass_to_the_one_that_has_them_too() -> None:
    ledger = CallOwners()
    ledger.put("first", spent("a", "b"))
    ledger.put("fork", spent("a", "c"))
    ledger.drop("first")
    assert totals.totals(ledger.total, 1).tokens == 20
    ledger.drop("fork")
    assert totals.totals(ledger.total, 0) == Totals()


@given(st.lists(st.tuples(st.sampled_from("xyz"), st.lists(st.sampled_from("abcde"), max_size=5)), max_size=12))
def test_totals_depend_on_what_is_there_now_only(steps: list[tuple[str, list[str]]]) -> None:
    ledger, now = CallOwners(), dict[str, list[str]]()
    for session, calls in steps:
        ledger.put(session, spent(*calls))
        now[session] = calls
    assert totals.totals(ledger.total, 0).tokens == 10 * len({call for calls in now.values() for call in calls})


def test_sums_follow_the_filter_and_count_a_shared_call_once() -> None:
    ledger = CallOwners()
    ledger.put("a", (*spent("1"), *spent("2")))
    ledger.put("b", (*spent("2"), *spent("3")))
    ledger.put("c", (*spent("2"), *spent("4")))
    assert (totals.totals(ledger.total, 3).tokens, totals.totals(ledger.sums_of({"a"}), 1, 3).tokens) == (40, 20)
    both = totals.totals(ledger.sums_of({"b", "c"}), 2, 3)
    assert both.tokens == 30, "call 2 is the first session's own, and stands once among these two"
    assert "2 of 3 sessions" in plain(totals.header(120, "~", both))


def test_calls_without_a_price_are_named() -> None:
    ledger = CallOwners()
    ledger.put("s", (*spent("a"), *spent("b", cost=None)))
    assert totals.totals(ledger.total, 1).unpriced == 1
    assert "$1.00 list price + 1 call without a price" in plain(totals.header(120, "~", totals.totals(ledger.total, 1)))


@pytest.mark.parametrize("size", [20, 40, 80, 120])
def test_the_header_drops_sums_from_the_left_until_it_fits(size: int) -> None:
    line = totals.header(
        size, "~/src/a-rather-long-directory", Totals(sessions=61, tokens=140_200_000, cost=129.37, input=100, read=95)
    )
    assert width(line) <= max(size, 19)
    assert "ctxtui" in plain(line)


# The preview

PARTS = (("system", 3100), ("tools", 10500), ("user", 1000), ("tool_call", 48700), ("tool_result", 73000))


def test_composition_keeps_prompt_order_and_folds_the_smallest() -> None:
    session = one("s", composition_at_peak=PARTS, peak_tokens=136_300)
    lines = [plain(line) for line in preview.composition(session, 44, 10)]
    assert [line.split()[1] for line in lines] == ["system", "tools", "user", "tool", "tool"]
    assert "73.0k" in lines[-1] and "53.6 %" in lines[-1]
    folded = [plain(line) for line in preview.composition(session, 44, 4)]
    assert [line.split()[1] for line in folded[:3]] == ["tools", "tool", "tool"]
    assert folded[3].split()[:3] == ["§", "›", "4.1k"]
    assert all(width(line) <= 44 for line in preview.composition(session, 44, 10))


def test_what_is_not_recorded_and_the_residual_stand_last() -> None:
    session = one("s", composition_at_peak=(*PARTS, ("not recorded", 13600), ("residual", -12)), peak_tokens=150_000)
    lines = [plain(line) for line in preview.composition(session, 44, 10)]
    assert "not recorded  ?13.6k" in lines[-2]
    assert "residual" in lines[-1] and "−12" in lines[-1]
    low = [plain(line) for line in preview.composition(session, 44, 5)]
    assert len(low) == 5 and "not recorded" in low[-1] and not any("░" in line for line in low[:-1])


def growing(calls: int = 40) -> SessionSummary:
    """A session with a strip and everything said."""
    columns = tuple(GrowthColumn(1000 * i, 900, 10, ("miss",) if i == 7 else ()) for i in range(calls))
    return one(
        "g", calls=calls, growth=columns, misses=1, compactions=2, model_changes=1, sentence="7k rewritten", turns=3,
        first_user_text="please", last_answer="done", models=(("claude-opus-4", 39), ("gpt-5.5", 1)), subagents=1,
        lines=1164, skipped=2, path="/home/u/.claude/projects/-home-u/abc.jsonl",
    )  # fmt: skip


@pytest.mark.parametrize(("room", "height"), [(74, 10), (49, 6), (110, 15), (30, 3), (20, 1)])
def test_growth_stays_in_its_pane(room: int, height: int) -> None:
    for colour in (True, False):
        lines = preview.growth(growing(), room, height, colour=colour)
        assert len(lines) <= height
        assert all(width(line) <= room for line in lines)


def test_growth_says_what_happened() -> None:
    session = growing()
    text = "\n".join(plain(line) for line in preview.growth(session, 74, 10, home="/home/u"))
    for words in ("▼ 7k rewritten", "› please", "● done", "opus-4 39 calls, gpt-5.5 1 call", "3 turns   1 subagent",
                  "~/.claude/projects/-home-u/abc.jsonl", "1,164 lines   2 skipped"):  # fmt: skip
        assert words in text, words
    assert plain(preview.growth_notes(session)) == "40 calls   ▼ 1 miss   Σ 2   ◊ 1"
    top = plain(preview.growth(session, 74, 10)[0])
    assert top.startswith("   40k ")


def test_a_preview_without_figures_shows_what_is_known() -> None:
    unread = one("u", known=False, first_user_text="", path="/p/u.jsonl")
    assert "/p/u.jsonl" in "".join(plain(line) for line in preview.growth(unread, 74, 10))
    bad = one("b", error="binary data at byte 0")
    assert "▲ not readable: binary data" in plain(preview.growth(bad, 74, 10)[0])
    assert plain(preview.growth(one("n", growth=()), 74, 10)[0]) == " No calls recorded."


def test_recorded_text_cannot_draw_outside_its_cells() -> None:
    evil = one("\x1b[2J\u202eevil\nline", first_user_text="\x1b]0;x\x07[bold]", sentence="\u202e", growth=())
    for line in [columns.row(evil, 120, NOW), *preview.growth(evil, 74, 10)]:
        assert "\x1b" not in plain(line) and "\n" not in plain(line) and "\u202e" not in plain(line)


def test_long_paths_lose_their_middle() -> None:
    path = "~/.claude/projects/-home-u-src-handy-cli/400429ba-1111-2222.jsonl"
    short = preview.shorten_path(path, 40)
    assert len(short) <= 40 and short.startswith("~/.claude") and short.endswith("400429ba-1111-2222.jsonl")
    assert preview.shorten_path("/a/b", 40) == "/a/b"


# The collection


def test_figures_stay_when_a_file_grows_until_new_ones_come() -> None:
    c = Collection(HERE, "~")
    c.update([one("a", known=False, size=10)])
    c.add_figures(one("a", size=10, calls=5), at=0.0)
    c.update([one("a", known=False, size=20, mtime=NOW, live=True)])
    now = c.sessions["a"]
    assert (now.calls, now.size, now.live, now.known) == (5, 20, True, True)
    assert c.keys_to_read(1.0) == []
    assert c.keys_to_read(collection.RELOAD_INTERVAL) == ["a"]
    c.add_figures(one("a", size=20, mtime=NOW, calls=6), at=collection.RELOAD_INTERVAL)
    assert c.sessions["a"].calls == 6
    assert c.keys_to_read(1e9) == []


def test_sessions_come_and_go() -> None:
    c = Collection(HERE, "~")
    assert c.update([one("a", known=False), one("b", known=False)])
    assert not c.update([one("a", known=False), one("b", known=False)])
    c.add_figures(one("a", spent=spent("x")))
    assert c.totals().tokens == 10 and c.progress() == (1, 2)
    assert c.update([one("b", known=False)])
    assert c.totals() == Totals(sessions=1)
    c.add_figures(one("a"))
    assert "a" not in c.sessions


def test_a_title_of_the_users_own_comes_and_goes() -> None:
    c = Collection(HERE, "~")
    c.update([one("a", known=False)])
    c.add_figures(one("a", title="recorded title"))
    c.update([one("a", known=False, title="a.jsonl", stored="id", own_title="mine")])
    assert c.sessions["a"].title == "mine" and c.keys_to_read(1e9) == []
    c.update([one("a", known=False, title="a.jsonl", stored="id", own_title="")])
    assert c.keys_to_read(1e9) == ["a"]


def test_samples_are_not_the_users_money() -> None:
    c = Collection(HERE, "~")
    c.update([one("s", group="samples", known=False), one("a", known=False)])
    c.add_figures(one("s", group="samples", spent=spent("x")))
    assert c.totals() == Totals(sessions=1)


def test_archived_sessions_are_listed_on_request() -> None:
    c = Collection(HERE, "~")
    c.update([one("a"), one("z", archived=True)])
    assert "z" not in keys(c.entries(ListOrder()))
    c.archived = True
    assert "z" in keys(c.entries(ListOrder()))


# What stands around


def test_status_shows_progress_only_while_reading() -> None:
    assert plain(preview.status_line(41, 61, True, ListOrder())).startswith("reading 41 of 61 ━")
    assert plain(preview.status_line(61, 61, True, ListOrder(1, False))) == "S sort: cost ↑ "
    assert plain(preview.status_line(41, 61, False, ListOrder())) == "S sort: age ↓ "


def test_an_empty_list_names_a_way_on() -> None:
    assert "esc" in plain(preview.empty_list_text(True, "xyz"))
    assert "ctxtui PATH" in plain(preview.empty_list_text(False, ""))


def test_the_welcome_has_three_lines_and_five_keys() -> None:
    assert len(WELCOME_LINES) == len(WELCOME_SHORT) == 3 and len(WELCOME_KEYS) == 5
    for size in (80, 120):
        lines = welcome(size)
        assert all(width(line) <= size for line in lines)
        assert "Read-only; nothing leaves this machine." in plain(lines[2])


@pytest.mark.parametrize(
    ("size", "height"), [((80, 24), 7), ((120, 40), 11), ((200, 60), 16), ((59, 40), 0), ((80, 15), 0)]
)
def test_the_preview_folds_away_on_small_screens(size: tuple[int, int], height: int) -> None:
    assert preview.preview_size(*size).height == height


def test_a_part_of_the_cost_does_not_look_like_the_whole() -> None:
    spent = (CallSpent("a", 10, cost=2.0), CallSpent("b", 10, cost=None))
    part = one("x", cost_usd=None, spent=spent, known_usd=2.0, unpriced=1)
    assert "≥$2.00" in plain(columns.row(part, 120, NOW))
    # Home keeps no calls of a session that it has counted.
    c = Collection(HERE, "~")
    c.update([one("x", known=False)])
    c.add_figures(part)
    assert "≥$2.00" in plain(columns.row(c.sessions["x"], 120, NOW))
    assert sorted_by("cost", part, one("y", cost_usd=1.0)) == ["x", "y"]
    assert "unknown" in plain(columns.row(one("x", cost_usd=None, spent=spent[1:]), 120, NOW))


def test_a_session_paid_by_a_subscription_shows_its_tokens_where_its_cost_would_stand() -> None:
    paid = one("x", cost_usd=12.5, total_tokens=28_780_000, subscription=True)
    drawn = plain(columns.row(paid, 100, NOW))
    assert "28.78M" in drawn and "$" not in drawn
    assert "subscription, $12.50 list price" in "".join(map(plain, preview.growth(paid, 100, 10)))


def test_calls_are_said_to_be_of_one_thread_only_if_they_are() -> None:
    def said(**known: int) -> str:
        return next(c for c in columns.home_columns() if c.name == "calls").sum(columns.HomeRow(one("a", **known)))  # type: ignore[misc]

    assert said(calls=1, main_calls=1) == "1 call of one thread."
    assert said(calls=5, main_calls=2).startswith("5 calls = 2 in the main thread + 3 in ")
    assert said(calls=5, main_calls=0) == "5 calls, none in the main thread."
    assert preview.explain_figures(one("a", peak_call=0))["growth"] == "The largest context has 100,000 tokens."
