"""`ctxtui budget`."""

from __future__ import annotations

from pathlib import Path

from tests.cli.conftest import Run

TAKES = ("--take", "system=2048", "--take", "tools=1024", "--take", "task=512")


def test_the_figures_of_the_document(ctxtui: Run, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("def run() -> int:\n    return 1\n")
    told = ctxtui("budget", tmp_path, "--model", "qwen2.5-coder:32b", *TAKES, "--json").json
    wanted = {"window": 32_768, "usable": 24_576, "system": 2_048, "tools": 1_024, "task": 512}
    assert {name: told[name] for name in wanted} == wanted
    assert (told["available"], told["reserved"]) == (20_992, 8_192)
    assert round(told["available_kb"]) == 84 and round(told["shares"]["available"], 2) == 0.64
    assert told["repository"]["files"] == 1 and told["strategy"]["name"] == "everything" and told["warnings"] == []
    assert told["strategy"]["files"][0]["path"] == "a.py"


def test_for_people_with_the_chats_own_prompt_and_tools(ctxtui: Run, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x = 1\n")
    ran = ctxtui("budget", tmp_path, "--model", "codellama:34b", "--task", "look at a.py", "--take", "history=20k")
    assert ran.code == 0
    for words in ("Context budget", "16,384", "available", "Repository", "strategy", "named", "▲ history 20,000"):
        assert words in ran.out


def test_what_contradicts_itself_is_refused(ctxtui: Run, tmp_path: Path) -> None:
    ran = ctxtui("--set", 'models={"qwen2.5-coder:32b"={context_size=500000}}', "budget", tmp_path)
    assert ran.code == 2 and "500,000 is more than the 32,768" in ran.err and "32768 or less" in ran.err
    ran = ctxtui("budget", tmp_path, "--model", "codellama:34b", "--take", "tools=13k", "--json")
    assert ran.code == 2 and ran.json["error"]["way_out"].startswith("take fewer tools")
    assert ctxtui("budget", tmp_path, "--take", "tools").code == 2
    assert ctxtui("budget", tmp_path / "nope").code == 5


def test_what_a_chat_reads_as_memory_is_memory_here_too(ctxtui: Run, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x = 1\n")
    (tmp_path / "CLAUDE.md").write_text("Be kind and brief.\n" * 20)
    told = ctxtui("--set", "memory=mem", "budget", tmp_path, "--model", "codellama:34b", "--json").json
    assert told["wants"]["memory"] > 50 and [one["path"] for one in told["strategy"]["files"]] == ["a.py"]
    assert not (tmp_path / "mem").exists(), "nothing is made"
    assert told["repository"]["files"] == 2
    assert ctxtui("--set", "instructions=false", "budget", tmp_path, "--json").json["wants"] == {}
