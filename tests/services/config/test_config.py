from __future__ import annotations

import os
from pathlib import Path

import pytest

from ctxtui.core.errors import BadConfig
from ctxtui.services.agent_tools.agent_tools import select_enabled
from ctxtui.services.config.config import Origin, describe_settings, find_upwards, load
from ctxtui.services.config.settings import FIELDS, Settings


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def test_defaults_pass_their_own_checks() -> None:
    blank = Settings()
    for name, field in FIELDS.items():
        assert field.metadata["check"](getattr(blank, name)) == getattr(blank, name)


def test_the_order_is_flag_env_project_user_default(tmp_path: Path) -> None:
    user = write(tmp_path / "user.toml", "usable_share = 0.5\ntheme = 'dark'\nglyphs = 'ascii'\nfollow = false\n")
    write(tmp_path / "p/ctxtui.toml", "usable_share = 0.6\ntheme = 'light'\nglyphs = 'unicode'\n")
    env = {"CTXTUI_USABLE_SHARE": "0.7", "CTXTUI_THEME": "mono", "CTXTUI_UNRELATED": "x"}
    found = load(["usable_share=0.8"], env=env, cwd=tmp_path / "p", user=user)
    s = found.settings
    assert (s.usable_share, s.theme, s.glyphs, s.follow, s.live_seconds) == (0.8, "mono", "unicode", False, 120.0)
    kinds = {name: origin.kind for name, _, origin in found.rows()}
    assert [kinds[n] for n in ("usable_share", "theme", "glyphs", "follow", "live_seconds")] == [
        "flag",
        "env",
        "project",
        "user",
        "default",
    ]
    assert found.origins["glyphs"] == Origin("project", f"{tmp_path / 'p/ctxtui.toml'}:3")


def test_the_find_upwards_is_looked_for_upwards(tmp_path: Path) -> None:
    write(tmp_path / "ctxtui.toml", "")
    nearer = write(tmp_path / "a/b/ctxtui.toml", "")
    (tmp_path / "a/b/c").mkdir()
    assert find_upwards(tmp_path / "a/b/c")[0] == nearer
    assert find_upwards(tmp_path / "a")[0] == tmp_path / "ctxtui.toml"


def test_an_unknown_key_names_file_line_and_the_nearest(tmp_path: Path) -> None:
    user = write(tmp_path / "c.toml", "# mine\n\nusible_share = 0.5\n")
    with pytest.raises(BadConfig) as caught:
        load(env={}, cwd=tmp_path, user=user)
    assert caught.value.place == f"{user}:3"
    assert "usible_share" in caught.value.message
    assert "usable_share" in caught.value.way_out


def test_a_key_like_none_suggests_none(tmp_path: Path) -> None:
    with pytest.raises(BadConfig) as caught:
        load(("zzz=1",), env={}, cwd=tmp_path, user=tmp_path / "none")
    assert caught.value.way_out == "see `ctxtui help settings`"


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("usable_share = 2", "0.05 to 1"),
        ("usable_share = 'much'", "0.05 to 1"),
        ("usable_share = true", "0.05 to 1"),
        ("usable_share = nan", "0.05 to 1"),
        ("horizon = 1" + "0" * 400, "1 to 10000"),
        ("[themes.dark]\nprimary = '#fff'", "not auto, dark, light, mono"),
        ("theme = 'pink'", "auto, dark, light, mono"),
        ("follow = 3", "true or false"),
        ('command_reads = "it\'s"', "quoted as in a shell"),
        ("windows = 3", "table"),
        ("[windows]\nm = -1", "table"),
        ("[prices.m]\ninput = 1", "rates"),
        ("[prices.m]\ninput = 1\noutput = 1\nextra = 1", "rates"),
        ("theme = ", "TOML"),
        ("theme = " + "[" * 5000, "TOML"),
    ],
)
def test_a_value_that_cannot_be_is_an_error_with_its_place(tmp_path: Path, text: str, wanted: str) -> None:
    user = write(tmp_path / "c.toml", text)
    with pytest.raises(BadConfig, match=wanted) as caught:
        load(env={}, cwd=tmp_path, user=user)
    assert str(user) in caught.value.place


def test_tables_are_laid_entry_by_entry(tmp_path: Path) -> None:
    user = write(tmp_path / "u.toml", "[windows]\na = 1\nb = 2\n[prices.m]\ninput = 1\noutput = 2.5\n")
    write(tmp_path / "ctxtui.toml", '[windows]\nb = 3\n"c-1.5" = 4\n')
    found = load(["windows={d = 5}"], env={}, cwd=tmp_path, user=user)
    assert found.settings.windows == {"a": 1, "b": 3, "c-1.5": 4, "d": 5}
    assert found.settings.prices == {"m": {"input": 1.0, "output": 2.5}}
    kinds = {name: origin.kind for name, _, origin in found.rows() if name.startswith("windows")}
    assert kinds == {"windows.a": "user", "windows.b": "project", "windows.c-1.5": "project", "windows.d": "flag"}


@pytest.mark.parametrize(
    "text",
    [
        "pager = 'rm -rf'",
        "data_dir = '/tmp/x'",
        "base_url = 'http://x'",
        "provider = 'openai'",
        "key_over_http = true",
        "raw_api_bodies = '/x'",
        "memory = '/x'",
        "files = 'auto'",
        "agents = true",
        "mcp_servers = 'x'",
        "command_unconfined = true",
        "command_shell = true",
        "command_network = true",
        "command_reads = '/'",
        "command_variables = '*'",
        "[prices.m]\ninput = 0\noutput = 0",
    ],
)
def test_a_project_may_not_start_programs_move_data_or_say_what_is_free(tmp_path: Path, text: str) -> None:
    write(tmp_path / "ctxtui.toml", text)
    with pytest.raises(BadConfig, match="may not be set by a project"):
        load(env={}, cwd=tmp_path, user=tmp_path / "none")


LIMITS = ("hold_over_usd", "hold_over_tokens", "hold_on_miss", "max_rounds")


@pytest.mark.parametrize(
    ("user", "project", "wanted"),
    [
        ("hold_over_usd = 0.5\nhold_over_tokens = 50000\nhold_on_miss = true\nmax_rounds = 20\n",
         "hold_over_usd = 0\nhold_over_tokens = 0\nhold_on_miss = false\nmax_rounds = 0\n", (0.5, 50000, True, 20)),
        ("hold_over_usd = 0.5\nmax_rounds = 20\n",
         "hold_over_usd = 5\nhold_over_tokens = 900\nhold_on_miss = true\nmax_rounds = 500\n", (0.5, 900, True, 20)),
        ("hold_over_usd = 0.5\n", "hold_over_usd = 0.1\nmax_rounds = 3\n", (0.1, 0, False, 3)),
        ("", "max_rounds = 0\n", (0.0, 0, False, 100)),
    ],
)  # fmt: skip
def test_a_project_tightens_limits_and_never_lifts_them(
    tmp_path: Path, user: str, project: str, wanted: tuple[object, ...]
) -> None:
    write(tmp_path / "p/ctxtui.toml", project)
    found = load(env={}, cwd=tmp_path / "p", user=write(tmp_path / "u.toml", user))
    assert tuple(getattr(found.settings, name) for name in LIMITS) == wanted
    for name in LIMITS:
        own = f"{name} =" in user and load(env={}, cwd=tmp_path, user=tmp_path / "u.toml").settings
        if own and getattr(own, name) == getattr(found.settings, name):
            assert not found.from_project(name)
    lifted = load(["max_rounds=0"], env={}, cwd=tmp_path / "p", user=tmp_path / "u.toml")
    assert lifted.settings.max_rounds == 0, "a flag is the user's own word"


@pytest.mark.parametrize(
    ("user", "project", "wanted"),
    [
        (
            "instructions = false\nindex = false\n",
            "instructions = true\nindex = true\ntools = ''\n",
            (False, False, ""),
        ),
        ("", "instructions = false\nindex = false\n", (False, False, "")),
        ("tools = 'find mcp__*'\n", "tools = ''\n", (True, True, "find mcp__*")),
        ("tools = 'find mcp__*'\n", "tools = '*_file mcp__fs__*'\n", (True, True, "find mcp__* & *_file mcp__fs__*")),
    ],
)
def test_a_project_adds_neither_tools_nor_files_that_are_read(
    tmp_path: Path, user: str, project: str, wanted: tuple[bool, bool, str]
) -> None:
    write(tmp_path / "p/ctxtui.toml", project)
    found = load(env={}, cwd=tmp_path / "p", user=write(tmp_path / "u.toml", user)).settings
    assert (found.instructions, found.index, found.tools) == wanted
    names = [{"name": name} for name in ("find", "read_file", "mcp__fs__read", "mcp__web__read")]
    fit = {"": 4, "find mcp__*": 3, "find mcp__* & *_file mcp__fs__*": 1}
    assert len(select_enabled(names, found.tools)) == fit[found.tools]


def test_a_project_s_file_that_others_can_write_is_not_read(tmp_path: Path) -> None:
    mine = write(tmp_path / "ctxtui.toml", "theme = 'light'\n")
    theirs = write(tmp_path / "a/ctxtui.toml", "theme = 'dark'\n")
    theirs.chmod(0o666)
    found = load(env={}, cwd=tmp_path / "a", user=tmp_path / "none")
    assert found.settings.theme == "light" and find_upwards(tmp_path / "a")[0] == mine
    assert [(one.path, one.reason) for one in found.ignored] == [(theirs, "anyone may write it")]


@pytest.mark.skipif(not hasattr(os, "getuid") or os.getuid() != 0, reason="only root can give a file away")
def test_a_project_s_file_of_another_user_is_not_read(tmp_path: Path) -> None:
    theirs = write(tmp_path / "ctxtui.toml", "theme = 'dark'\n")
    os.chown(theirs, 12345, 12345)
    found = load(env={}, cwd=tmp_path, user=tmp_path / "none")
    assert found.settings.theme == "auto" and found.ignored[0].reason == "another user owns it"


def test_the_walk_up_ends_at_the_repository(tmp_path: Path) -> None:
    write(tmp_path / "ctxtui.toml", "")
    (tmp_path / "repo/.git").mkdir(parents=True)
    (tmp_path / "repo/src").mkdir()
    assert find_upwards(tmp_path / "repo/src")[0] is None
    own = write(tmp_path / "repo/ctxtui.toml", "")
    assert find_upwards(tmp_path / "repo/src")[0] == own


def test_a_flag_without_value_and_a_named_file_that_is_missing(tmp_path: Path) -> None:
    with pytest.raises(BadConfig, match="KEY=VALUE"):
        load(["theme"], env={}, cwd=tmp_path, user=tmp_path / "none")
    with pytest.raises(BadConfig, match="no file"):
        load(env={"CTXTUI_CONFIG": str(tmp_path / "gone")}, cwd=tmp_path)


def test_every_setting_is_described() -> None:
    text = describe_settings()
    assert all(f"\n{name} " in f"\n{text}" for name in FIELDS)


def test_sizes_by_model(tmp_path: Path) -> None:
    text = '[models."qwen2.5-coder:32b"]\ncontext_size = 16384\nusable_context = 12000\n[windows]\nmine = 9000\n'
    found = load(env={}, cwd=tmp_path, user=write(tmp_path / "u.toml", text)).settings
    assert found.context_sizes == {"qwen2.5-coder:32b": 16384, "mine": 9000}
    assert found.usable_contexts == {"qwen2.5-coder:32b": 12000}


@pytest.mark.parametrize(
    ("text", "told", "fix"),
    [
        ('[models."qwen2.5-coder:32b"]\ncontext_size = 500000', "500,000 is more than the 32,768", "32768 or less"),
        ('[models."qwen2.5-coder:32b"]\nusable_context = 40000', "40,000 is more than its window of 32,768", "24576"),
        ("[models.mine]\ncontext_size = 8000\nusable_context = 9000", "9,000 is more than its window of 8,000", "6000"),
        ("[models.mine]\ncontext_size = 8\n[windows]\nmine = 9", "two windows of one model", "remove one of them"),
        (
            '[models."anthropic/claude-sonnet-4.5"]\ncontext_size = 8\n[windows]\n"claude-sonnet-4-5" = 9',
            "windows.claude-sonnet-4-5 = 9 are two windows",
            "remove one of them",
        ),
    ],
)
def test_sizes_that_do_not_fit_are_told_with_file_value_maximum_and_fix(
    tmp_path: Path, text: str, told: str, fix: str
) -> None:
    user = write(tmp_path / "c.toml", text)
    with pytest.raises(BadConfig, match=told) as caught:
        load(env={}, cwd=tmp_path, user=user)
    assert str(user) in caught.value.place and fix in caught.value.way_out
