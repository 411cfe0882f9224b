from __future__ import annotations

import io
import json
import os
import re
import socket
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import click
import pytest

from ctxtui import __version__
from ctxtui.cli import exit_codes
from ctxtui.cli.commands import EDITS, ENTRIES, MAIN_COMMANDS, OLD_NAMES, SESSION, WHY, help_text
from ctxtui.cli.group import import_command, main_group
from scripts import man
from tests.cli.conftest import PROGRAM, Run, program
from tests.corpus import ROOT
from tests.sampling import few
from tests.services.lookalike import claude_code


def test_version_and_help_load_nothing(home: Path) -> None:
    for flag, wanted in (("--version", f"ctxtui {__version__}\n"), ("--help", help_text())):
        code = "import sys; sys.argv = ['ctxtui', sys.argv[1]]; from ctxtui.cli import main; main()"
        code += "; assert not {'click', 'textual', 'msgspec', 'json'} & set(sys.modules), sorted(sys.modules)"
        done = subprocess.run([sys.executable, "-c", code, flag], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        assert done.stdout == wanted


def test_help_the_long_way_is_the_same(ctxtui: Run) -> None:
    assert ctxtui("--set", "theme=dark", "--help").out == help_text()
    assert ctxtui("help").out == help_text()
    assert ctxtui("--set", "theme=dark", "--version").out == f"ctxtui {__version__}\n"


def commands() -> list[tuple[str, click.Command]]:
    context = click.Context(main_group)
    found = [
        ("cost --why", import_command(WHY)),
        *((f"edits {name}", import_command(entry)) for name, entry in EDITS.items()),
    ]
    for name in ENTRIES:
        command = main_group.get_command(context, name)
        assert command is not None
        inner = [("", command)]
        if isinstance(command, click.Group):
            inner = [
                (word, one) for word in command.list_commands(context) if (one := command.get_command(context, word))
            ]
        found += [(f"{name} {word}".strip(), one) for word, one in inner]
    return found


@pytest.mark.parametrize(("name", "command"), commands())
def test_every_command_has_help_with_examples_that_it_understands(
    ctxtui: Run, name: str, command: click.Command
) -> None:
    ran = ctxtui(*name.split(), "--help")
    assert ran.code == 0 and ran.out.startswith(f"Usage: ctxtui {name} ")
    assert ctxtui("help", *name.split()).out == ran.out
    told = re.findall(r"Example: (.*)", command.help or "")
    assert len(told) >= 2 or name.split()[0] in ("db", "mcp", "completion")
    known = {option for parameter in command.params for option in parameter.opts} | {"--help"}
    for example in told:
        words = re.split(r"[|&>]| -- ", example.partition(f"ctxtui {name}")[2])[0].split()
        assert {word.partition("=")[0] for word in words if re.match(r"--?[a-z]", word)} <= known, example


def test_examples_ask_for_members_that_the_json_has() -> None:
    shapes = json.loads((Path(__file__).parent / "json_shapes.json").read_text(encoding="utf-8"))
    checked = set()
    for name, command in commands():
        members = {member for asked, shape in shapes.items() if f"{asked} ".startswith(f"{name} ") for member in shape}
        for path in re.findall(r"jq (?:-r )?'?\.([\w.\[\]]+)", command.help or ""):
            path = re.sub(r"\[\d+\]", "[]", path)
            assert not members or path in members or path.removesuffix("[]") in members, f"{name}: {path}"
            checked |= {name} if members else set()
    assert {"cost --why", "lab", "cache", "sessions", "doctor"} <= checked


@pytest.mark.parametrize("name", OLD_NAMES)
def test_what_a_command_was_called_before_goes_on(ctxtui: Run, name: str) -> None:
    ran, now = ctxtui(name, "--help"), ctxtui(*OLD_NAMES[name], "--help")
    assert (ran.code, ran.out) == (0, now.out) and ran.out.startswith(f"Usage: ctxtui {' '.join(OLD_NAMES[name])}")
    notice = f"`ctxtui {name}` is now `ctxtui {' '.join(OLD_NAMES[name])}`; the former name goes with 2.0"
    assert ran.err == f"ctxtui: {notice}\n" and not now.err


def test_every_former_name_of_a_command_is_on_the_page_of_versions() -> None:
    page = (Path(__file__).parents[2] / "docs" / "versions.md").read_text(encoding="utf-8")
    rows = [line.split("|")[1:3] for line in page.splitlines() if line.startswith("| `ctxtui ")]
    told = {
        name: (*new.replace("`", "").removeprefix(" ctxtui ").replace("...", name).split(),)
        for old, new in rows
        for name in re.findall(r"`([^`]+)`", old.replace("ctxtui ", ""))
    }
    assert told == OLD_NAMES


def test_help_shows_what_is_used_most_and_the_rest_by_its_own_word(ctxtui: Run) -> None:
    assert sum(map(len, MAIN_COMMANDS.values())) <= 17
    every = ctxtui("help", "commands").out
    for name in (*ENTRIES, *SESSION, *EDITS):
        assert f"\n  {name} " in every
    assert "rename" in ctxtui("session").out


@pytest.mark.parametrize(("name", "command"), commands())
def test_json_everywhere(name: str, command: click.Command) -> None:
    if name not in ("open", "export", "help"):
        assert any("--json" in parameter.opts for parameter in command.params), name


def test_exit_codes_are_one_table(ctxtui: Run) -> None:
    numbers = [code.number for code in exit_codes.EXIT_CODES]
    assert len(numbers) == len(set(numbers))
    assert ctxtui("help", "exit-codes").out == exit_codes.table() + "\n"
    kinds = [kind for code in exit_codes.EXIT_CODES for kind in code.errors]
    assert len(kinds) == len(set(kinds))


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["show"], 2, "Missing argument 'NAME'"),
        (["show", "--nope", "x"], 2, "No such option"),
        (["show", "nowhere.jsonl"], 5, "no such file, session or command: nowhere.jsonl"),
        (["show", "no/where.jsonl"], 5, "no such file: no/where.jsonl"),
        (["show", "~nobody-here/x"], 5, "no such file: ~nobody-here/x"),
        (["sessions", "~nobody-here/x"], 5, "~nobody-here/x; `ctxtui sessions` lists"),
        (["--set", "theme=pink", "config"], 2, "theme must be one of"),
        (["--set", "colour=pink", "config"], 2, "unknown setting 'colour'"),
        (["help", "nonsense"], 5, "no command or topic 'nonsense'"),
        (["shwo"], 5, "no such file, session or command: shwo"),
        (["shwo", "x.jsonl"], 2, "no such command: shwo; did you mean show?"),
        (["show", "last"], 5, "no session of this directory"),
        ([], 2, "ctxtui sessions"),
        (["session", "rename", "nobody", "x"], 5, ""),
    ],
)
def test_mistakes_are_named(ctxtui: Run, arguments: list[str], code: int, says: str) -> None:
    ran = ctxtui(*arguments)
    assert ran.code == code, ran.err
    assert ran.err.startswith("ctxtui: ")
    assert ran.err.count("\n") == 1
    assert says in ran.err
    assert "Traceback" not in ran.err


def test_errors_are_json_too(ctxtui: Run) -> None:
    ran = ctxtui("show", "nowhere", "--json")
    error = ran.json["error"]
    assert (ran.json["schema_version"], error["code"], error["kind"]) == (1, 5, "not found")
    assert error["message"] in ran.err


def test_a_fault_of_ours_is_logged_and_named(ctxtui: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from ctxtui.cli.inspect import show

    def broken(*_: object) -> None:
        raise ZeroDivisionError("very wrong")

    monkeypatch.setattr(show, "open_recording", broken)
    ran = ctxtui("show", "x", "--json")
    assert ran.code == 1
    assert "Traceback" not in ran.err
    log = Path(ran.json["error"]["place"])
    assert log.parent == tmp_path / "ctxtui" / "log"
    assert "very wrong" in log.read_text()
    assert log.stat().st_mode & 0o777 == 0o600 and log.parent.stat().st_mode & 0o777 == 0o700


def test_interrupts_are_quiet(ctxtui: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    from ctxtui.cli.inspect import show

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(show, "open_recording", interrupted)
    ran = ctxtui("show", "x")
    assert (ran.code, ran.out) == (130, "")
    assert "Traceback" not in ran.err


def test_a_closed_pipe_is_quiet(tmp_path: Path, home: Path) -> None:
    path = tmp_path / "recording.jsonl"
    path.write_bytes(claude_code(300))
    process = subprocess.Popen(
        [*PROGRAM, "show", str(path), "--blocks"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=dict(os.environ)
    )
    assert process.stdout is not None
    process.stdout.read(10)
    process.stdout.close()
    assert process.stderr is not None
    err = process.stderr.read()
    process.stderr.close()
    assert process.wait(60) == 141
    assert err == b""


@pytest.mark.parametrize("flag", ["--help", "--version"])
def test_help_into_a_closed_pipe_is_quiet(flag: str, home: Path) -> None:
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run([*PROGRAM, flag], stdout=write, stderr=subprocess.PIPE, check=False)
    os.close(write)
    assert (done.returncode, done.stderr) == (141, b"")


@pytest.mark.parametrize("flag", ["--help", "--version", "help"])
def test_help_onto_a_full_disk_is_an_error(flag: str, home: Path) -> None:
    with open("/dev/full", "wb") as full:
        done = subprocess.run([*PROGRAM, flag], stdout=full, stderr=subprocess.PIPE, check=False)
    assert done.returncode == 7 and done.stderr.startswith(b"ctxtui: the output cannot be written")


@pytest.mark.slow
def test_a_terminal_that_is_not_utf8_gets_ascii(tmp_path: Path, home: Path) -> None:
    path = tmp_path / "recording.jsonl"
    path.write_bytes(claude_code(2, words="äöü 世界"))
    done = program(["show", path, "--blocks"], env={**os.environ, "PYTHONIOENCODING": "ascii", "LC_ALL": "C"})
    assert done.returncode == 0, done.stderr
    assert done.stdout.isascii()


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts_name_the_program(ctxtui: Run, shell: str) -> None:
    assert "ctxtui" in ctxtui("completion", shell).out


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (("tcsh",), "Invalid value for '{bash|zsh|fish}': 'tcsh' is not one of 'bash', 'zsh', 'fish'"),
        ((), "Missing argument '{bash|zsh|fish}'. Choose from: bash, zsh, fish"),
    ],
)
def test_completion_of_another_shell_is_refused(ctxtui: Run, given: tuple[str, ...], message: str) -> None:
    ran = ctxtui("completion", *given)
    assert (ran.code, ran.err) == (2, f"ctxtui: {message}; see `ctxtui completion --help`\n")


def test_json_of_last_and_completion(ctxtui: Run, home: Path) -> None:
    assert "ctxtui" in ctxtui("completion", "bash", "--json").json["script"]
    missing = ctxtui("last", "--json")
    assert missing.code == 5 and missing.json["error"]["kind"] == "not found"


def test_completion_completes_commands(home: Path) -> None:
    env = {**os.environ, "_CTXTUI_COMPLETE": "bash_complete", "COMP_WORDS": "ctxtui se", "COMP_CWORD": "1"}
    done = program([], env=env)
    assert "sessions" in done.stdout


@pytest.mark.parametrize(("group", "names"), [("", {"show", "last", "stats"}), ("session ", {"rename", "tag"})])
def test_completion_lists_commands_without_importing_them(home: Path, group: str, names: set[str]) -> None:
    count = 1 + len(group.split())
    words = f"import os; os.environ.update(COMP_WORDS='ctxtui {group}', COMP_CWORD='{count}')\n"
    script = "import atexit, sys; from ctxtui.cli.group import main_group\n" + words
    script += "atexit.register(lambda: print('imported', 'ctxtui.cli.money.stats' in sys.modules))\n"
    script += "main_group.main([], prog_name='ctxtui')"
    env = {**os.environ, "_CTXTUI_COMPLETE": "bash_complete"}
    done = subprocess.run([sys.executable, "-c", script], env=env, capture_output=True, text=True, check=True)
    *items, imported = done.stdout.splitlines()
    assert {f"plain,{name}" for name in names} <= set(items) and imported == "imported False"


def test_completion_of_no_command_is_a_file(home: Path) -> None:
    env = {**os.environ, "_CTXTUI_COMPLETE": "bash_complete", "COMP_WORDS": "ctxtui ./x", "COMP_CWORD": "1"}
    assert program([], env=env).stdout == "file,./x\n"


@pytest.mark.skipif(
    f"click=={version('click')}\n" not in (ROOT / "constraints.txt").read_text(encoding="utf-8"),
    reason="another version of click words usage lines otherwise",
)
def test_the_manual_page_is_made_from_the_commands() -> None:
    assert man.text() == man.PAGE.read_text(encoding="utf-8"), "run `make man`"


def test_config_shows_origins(ctxtui: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("ctxtui.toml").write_text("theme = 'light'\n[windows]\nm = 5\n")
    monkeypatch.setenv("CTXTUI_GLYPHS", "ascii")
    found = {s["name"]: s for s in ctxtui("--set", "follow=no", "config", "--show", "--json").json["settings"]}
    assert (found["theme"]["value"], found["theme"]["origin"]) == ("light", "project")
    assert found["theme"]["place"].endswith("ctxtui.toml:1")
    assert (found["glyphs"]["value"], found["glyphs"]["origin"]) == ("ascii", "env")
    assert (found["follow"]["value"], found["follow"]["origin"]) == (False, "flag")
    assert (found["windows.m"]["value"], found["windows.m"]["origin"]) == (5, "project")
    assert ["theme", "light", "project"] in [line.split()[:3] for line in ctxtui("config", "--show").out.splitlines()]


def test_doctor_finds_this_machine_well(ctxtui: Run) -> None:
    ran = ctxtui("doctor", "--json")
    checks = {check["name"]: check for check in ran.json["checks"]}
    assert ran.code == 0, ran.out
    assert {"python", "packages", "vocabulary o200k_base", "database", "claude code", "codex", "terminal"} <= set(
        checks
    )
    assert "failed" not in {check["state"] for check in checks.values()}
    assert ctxtui("doctor").out.count("\n") == len(checks)


def test_doctor_fails_where_something_is_broken(ctxtui: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    from ctxtui.services import doctor

    monkeypatch.setattr(doctor, "vocabulary", lambda name: b"damaged")
    ran = ctxtui("doctor", "--json")
    assert ran.code == exit_codes.FAILED.number


def test_completion_completes_ids_and_files(home: Path) -> None:
    path = home / ".claude/projects/-p/12345678-aaaa-4000-8000-000000000000.jsonl"
    path.parent.mkdir(parents=True)
    path.touch()
    env = {**os.environ, "_CTXTUI_COMPLETE": "bash_complete", "COMP_CWORD": "2"}
    for typed, wanted in (("1234", f"plain,{path.stem}\n"), ("12", "file,12\n"), ("./x", "file,./x\n")):
        assert program([], env={**env, "COMP_WORDS": f"ctxtui show {typed}"}).stdout == wanted


LOOKING = {
    "show": "S", "diff": "S S", "compactions": "S", "growth": "S", "audit": "S", "search": "word", "preflight": "S",
    "budget": ".", "lab": "S", "count": "S", "cost": "--all", "stats": "", "check": "S --max-context 1k",
    "cost --why": "S", "findings": "S", "cache": "S", "edits stage": "S --blocks", "edits pins": "S", "sessions": "",
    "session notes": "S", "import": "S",
    "export": "S --to anthropic", "curate": "S --policy truncate_results", "edits": "S", "repair": "S",
    "share": "S -o page.html", "report": "S --html report.html", "session scrub": "S", "config": "", "doctor": "",
    "db": "info", "completion": "bash", "help": "", "hold": "", "statusline": "", "report-bug": "S -o bug.json",
}  # fmt: skip
"""Commands by what is given to them here (S: a recording): they send nothing."""
SENDING = {"chat", "run", "agree", "mcp", "exec", "proxy", "offline"}
SCREENS = {"open", "last"}
OF_STORED = {f"session {name}" for name in ("rename", "tag", "subscription", "archive", "delete")}


def test_of_every_command_it_is_said_whether_it_sends() -> None:
    under = {" ".join(words) for words in OLD_NAMES.values()}
    assert {*LOOKING, *SENDING, *SCREENS, *OF_STORED} == {*ENTRIES, *under} - {"session"}


@pytest.mark.parametrize("command", few(sorted(LOOKING, key=lambda name: name != "doctor"), 8))
def test_what_only_looks_opens_no_connection(
    ctxtui: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    """docs/privacy.md, "What leaves this machine": not even a name is looked up."""
    asked: list[object] = []

    def told(*address: object, **_: object) -> None:
        asked.append(address)
        raise OSError("no network")

    for name in ("connect", "connect_ex", "sendto"):
        monkeypatch.setattr(socket.socket, name, told, raising=False)
    monkeypatch.setattr(socket, "getaddrinfo", told)
    monkeypatch.setattr(sys, "stdin", io.StringIO("{}"))
    path = tmp_path / "s.jsonl"
    path.write_bytes(claude_code(4))
    ran = ctxtui(*command.split(), *(str(path) if word == "S" else word for word in LOOKING[command].split()))
    assert ran.code != exit_codes.USAGE.number and not (tmp_path / "ctxtui" / "log").exists(), ran.err
    assert not asked


def test_an_option_without_its_argument_names_the_help_of_its_command(ctxtui: Run) -> None:
    for words in (("show", "--call"), ("chat", "--model"), ("exec", "--hold-over-usd")):
        ran = ctxtui(*words)
        assert ran.err == f"ctxtui: Option '{words[1]}' requires an argument; see `ctxtui {words[0]} --help`\n"
    assert ctxtui("--set").err.endswith("see `ctxtui --help`\n")
