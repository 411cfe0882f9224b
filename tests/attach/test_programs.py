"""Each known program is led to the relay by its own means, and what is set already is where the relay leads."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from ctxtui.core.errors import BadConfig, CtxtuiError, NotFound
from ctxtui.services.attach.programs.settings_copy import copy_file
from ctxtui.services.attach.registry import FOLDER, command_of, program_of, programs
from ctxtui.services.attach.relayed_program import RelayedProgram
from ctxtui.services.config.clients import CLIENTS, KnownClient
from ctxtui.transcripts.kit.http_exchange.pair import identify_sender

PROGRAMS = programs(FOLDER)

HERE = {"anthropic": "http://127.0.0.1:9", "openai": "http://127.0.0.1:9/v1"}


@pytest.mark.parametrize(
    ("command", "name"),
    [
        (["claude", "-p", "x"], "claude-code"),
        (["/usr/bin/codex"], "codex"),
        (["npx", "opencode-ai"], "any"),
        (["npx", "-y", "@anthropic-ai/claude"], "claude-code"),
        (["env", "A=1", "llm", "hi"], "llm"),
        (["python", "claude"], "any"),
        (["mini"], "mini-swe-agent"),
    ],
)
def test_a_program_is_known_by_its_command(command: list[str], name: str) -> None:
    assert program_of(command).name == name


@pytest.mark.parametrize("client", CLIENTS, ids=lambda client: client.name)
def test_a_recorded_client_has_the_command_that_runs_it(client: KnownClient) -> None:
    if any(program.commands & client.commands for program in PROGRAMS):
        assert command_of(client.source) in client.commands


@pytest.mark.parametrize(
    ("agent", "command"),
    [
        ("claude-cli/2.1.0 (external, cli)", "claude"),
        ("GeminiCLI/0.61.0", "gemini"),
        ("GeminiCLI-tui/0.61.0", "gemini"),
        ("kimi-code-cli/2.1.0", "kimi"),
        ("codex_cli_rs/0.130.0", "codex"),
        ("my-bot/1.0", "my-bot"),
    ],
)
def test_a_client_that_a_relay_records_has_a_command(agent: str, command: str) -> None:
    assert command_of(identify_sender({"user-agent": agent}).client) == command


def test_names_are_each_there_once_and_a_strange_one_is_told() -> None:
    assert len({one.name for one in PROGRAMS}) == len(PROGRAMS)
    with pytest.raises(NotFound, match="claude-code"):
        program_of(["x"], "nobody")


def test_claude_code_by_variable_and_over_its_settings(tmp_path: Path) -> None:
    program, env = program_of(["claude"]), {"HOME": str(tmp_path)}
    assert program.upstreams(env, str(tmp_path)) == {"anthropic": "https://api.anthropic.com"}
    assert program.upstreams({**env, "ANTHROPIC_BASE_URL": "http://gw/x"}, "/") == {"anthropic": "http://gw/x"}
    led = program.start_routed(HERE, ["-p"], env, str(tmp_path))
    assert led[:2] == (["-p"], {"ANTHROPIC_BASE_URL": HERE["anthropic"]})
    (tmp_path / ".claude").mkdir()
    (tmp_path / ".claude" / "settings.json").write_text(json.dumps({"env": {"ANTHROPIC_BASE_URL": "http://set"}}))
    assert program.upstreams({**env, "ANTHROPIC_BASE_URL": "http://gw/x"}, "/") == {"anthropic": "http://set"}
    started = program.start_routed(HERE, ["-p"], env, "/")
    assert started.arguments[0] == "--settings" and HERE["anthropic"] in started.arguments[1]


def test_codex_by_its_flag_for_the_provider_in_force(tmp_path: Path) -> None:
    program, env = program_of(["codex"]), {"HOME": "/nowhere", "CODEX_HOME": str(tmp_path)}
    assert program.upstreams(env, "/") == {"openai": "https://api.openai.com/v1"}
    led = program.start_routed(HERE, ["exec", "x"], env, "/")
    assert led.arguments == ["-c", 'openai_base_url="http://127.0.0.1:9/v1"', "exec", "x"]
    own = 'model_provider = "mine"\n[model_providers.mine]\nbase_url = "http://mine/v1"\n'
    (tmp_path / "config.toml").write_text(own)
    assert program.upstreams(env, "/") == {"openai": "http://mine/v1"}
    assert program.start_routed(HERE, [], env, "/").arguments[1].startswith("model_providers.mine.base_url=")


def test_opencode_by_its_configuration_which_stays_what_it_is(tmp_path: Path) -> None:
    program = program_of(["opencode"])
    own = {"provider": {"anthropic": {"options": {"baseURL": "http://mine/v1", "apiKey": "k"}}}, "model": "m"}
    env = {"HOME": str(tmp_path), "OPENCODE_CONFIG_CONTENT": json.dumps(own)}
    assert program.upstreams(env, str(tmp_path))["anthropic"] == "http://mine/v1"
    told = json.loads(program.start_routed(HERE, [], env, str(tmp_path)).env["OPENCODE_CONFIG_CONTENT"])
    assert told["provider"]["anthropic"]["options"] == {"baseURL": HERE["anthropic"], "apiKey": "k"}
    assert told["model"] == "m" and told["provider"]["openai"]["options"]["baseURL"] == HERE["openai"]


@pytest.mark.parametrize(
    "file", ["opencode.jsonc", ".opencode/opencode.json", "../opencode.json", "../../.config/opencode/opencode.jsonc"]
)
def test_where_opencode_reads_its_configuration(tmp_path: Path, file: str) -> None:
    work = tmp_path / "shop" / "src"
    work.mkdir(parents=True)
    (tmp_path / "shop" / ".git").mkdir()
    (tmp_path / "opencode.json").write_text('{"provider": {"anthropic": {"options": {"baseURL": "http://outside"}}}}')
    (work / file).parent.mkdir(parents=True, exist_ok=True)
    (work / file).write_text(
        '{ // mine\n"provider": {"anthropic": {"options": {"baseURL": "{env:MINE}/v1", /* "x" */ },}}, }\n'
    )
    env = {"HOME": str(tmp_path), "MINE": "http://mine"}
    assert program_of(["opencode"]).upstreams(env, str(work))["anthropic"] == "http://mine/v1"


def test_a_banner_of_slashes_in_a_file_of_opencode_is_a_comment(tmp_path: Path) -> None:
    ruled = '{"model": "m", %s\n"provider": {"openai": {"options": {"baseURL": "http://mine"}}}}' % ("/" * 200)
    (tmp_path / "opencode.json").write_text(ruled)
    assert program_of(["opencode"]).upstreams({"HOME": str(tmp_path)}, str(tmp_path))["openai"] == "http://mine"


@pytest.mark.parametrize("odd", ['model_providers = ["a"]', 'model_provider = ["a"]\n[model_providers.a]'])
def test_odd_settings_of_codex_set_nothing(tmp_path: Path, odd: str) -> None:
    (tmp_path / "config.toml").write_text(odd)
    program, env = program_of(["codex"]), {"HOME": "/nowhere", "CODEX_HOME": str(tmp_path)}
    assert program.upstreams(env, "/") == {"openai": "https://api.openai.com/v1"}
    assert program.start_routed(HERE, [], env, "/").arguments[1].startswith("openai_base_url=")


@pytest.mark.parametrize("odd", ['{"provider": null}', '{"provider": {"anthropic": "x"}}', '{"provider": [1]}'])
def test_odd_settings_of_opencode_are_replaced(tmp_path: Path, odd: str) -> None:
    env = {"HOME": str(tmp_path), "OPENCODE_CONFIG_CONTENT": odd}
    led = program_of(["opencode"]).start_routed(HERE, [], env, str(tmp_path))
    config = json.loads(led.env["OPENCODE_CONFIG_CONTENT"])
    assert config["provider"]["anthropic"]["options"] == {"baseURL": HERE["anthropic"]}


def test_two_addresses_of_a_provider_with_a_dash_are_both_routed(tmp_path: Path) -> None:
    file = tmp_path / ".continue" / "config.yaml"
    file.parent.mkdir()
    models = "".join(f"  - provider: text-gen\n    apiBase: http://127.0.0.1:{n}\n" for n in (1, 2, 3))
    file.write_text(f"models:\n{models}")
    urls = program_of(["cn"]).upstreams({"HOME": str(tmp_path)}, "/")
    assert sorted(url for url in urls.values() if "127.0.0.1" in url) == [f"http://127.0.0.1:{n}" for n in (1, 2, 3)]


@pytest.mark.parametrize("odd", ["[]", "3", '{"env": 3}', '{"env": ["x"]}', '{"env": {"ANTHROPIC_BASE_URL": 3}}', "{"])
def test_odd_settings_of_claude_code_set_nothing_and_its_folder_may_be_named(tmp_path: Path, odd: str) -> None:
    program, folder = program_of(["claude"]), tmp_path / "mine"
    folder.mkdir()
    (folder / "settings.json").write_text('{"env": {"ANTHROPIC_BASE_URL": "http://mine"}}')
    (tmp_path / ".claude").mkdir()
    (tmp_path / ".claude" / "settings.json").write_text(odd)
    env = {"HOME": str(tmp_path / "nowhere")}
    assert program.upstreams({**env, "CLAUDE_CONFIG_DIR": str(folder)}, str(tmp_path))["anthropic"] == "http://mine"
    assert "mine" not in program.upstreams(env, str(tmp_path))["anthropic"]


@pytest.mark.parametrize(
    ("variables", "user", "project", "cloud"),
    [
        ({"CLAUDE_CODE_USE_BEDROCK": "1"}, {}, {}, "Amazon Bedrock"),
        ({}, {"CLAUDE_CODE_USE_VERTEX": "1"}, {}, "Google Vertex"),
        ({}, {}, {"CLAUDE_CODE_USE_FOUNDRY": "true"}, "Microsoft Foundry"),
        ({}, {"CLAUDE_CODE_USE_VERTEX": "1"}, {"CLAUDE_CODE_USE_VERTEX": "0"}, ""),
    ],
)
def test_what_cannot_be_led_says_so(
    tmp_path: Path, variables: dict[str, str], user: dict[str, str], project: dict[str, str], cloud: str
) -> None:
    command, cwd, home = ["claude"], tmp_path / "project", tmp_path / "home"
    for folder, env in ((cwd, project), (home, user)):
        (folder / ".claude").mkdir(parents=True)
        (folder / ".claude" / "settings.json").write_text(json.dumps({"env": env}))
    with pytest.raises(BadConfig, match=f"uses {cloud} here.*--forward") if cloud else nullcontext():
        RelayedProgram(
            command=command,
            program=program_of(command),
            folder=tmp_path,
            database=tmp_path,
            env={"HOME": str(home), **variables},
            cwd=str(cwd),
        )


@pytest.mark.parametrize(
    ("set_", "named", "sent"),
    [
        ({}, {}, "/v1/messages?a=1"),
        ({}, {"anthropic": "https://gateway"}, "/v1/messages?a=1"),
        # Addresses of the user's own say where the API is.
        ({}, {"anthropic": "https://gateway/v1"}, "/messages?a=1"),
        ({"ANTHROPIC_BASE_URL": "https://gateway"}, {}, "/messages?a=1"),
    ],
)
def test_the_path_of_an_sdk_that_wants_the_version_in_its_base_url_gets_it(
    set_: dict[str, str], named: dict[str, str], sent: str, tmp_path: Path
) -> None:
    command = ["node", "agent.mjs"]
    program = RelayedProgram(
        command=command,
        program=program_of(command),
        folder=tmp_path,
        database=tmp_path,
        env=set_,
        cwd="/",
        named_upstreams=named,
    )
    (upstream,) = (one for one in program.upstreams() if one.name == "anthropic")
    assert upstream.correct_target("/messages?a=1") == sent
    for same in ("/v1/messages", "/messages/batches", "/messages2", "/"):
        assert upstream.correct_target(same) == same


def test_pi_by_an_extension_for_each_of_its_providers(tmp_path: Path) -> None:
    program, env = program_of(["pi"]), {"HOME": str(tmp_path)}
    assert program.upstreams(env, "/")["anthropic"] == "https://api.anthropic.com"
    models = tmp_path / ".pi" / "agent" / "models.json"
    models.parent.mkdir(parents=True)
    models.write_text(json.dumps({"providers": {"mine": {"baseUrl": "http://mine"}, "anthropic": {}}}))
    assert program.upstreams(env, "/") == {
        "anthropic": "https://api.anthropic.com",
        "openai": "https://api.openai.com/v1",
        "mine": "http://mine",
    }
    led = program.start_routed(HERE, ["-p", "x"], env, "/")
    assert led.arguments[0] == "--extension" and Path(led.arguments[1]).is_file() and led.arguments[2:] == ["-p", "x"]
    assert json.loads(led.env["CTXTUI_BASE_URLS"]) == HERE
    assert program.start_routed(HERE, ["list"], env, "/")[:2] == (["list"], {})


KIMI = """\
default_model = "a"
[providers.mine]
type = "anthropic"
base_url = "https://mine.example/v1/"  # a gateway
[providers.kimi]
type = "kimi"
[models.a]
provider = "mine"
model = "m"
[models.b]
provider = "kimi"
base_url = 'http://127.0.0.1:1/v1'
"""


def test_kimi_code_by_a_folder_of_links_to_its_own_with_other_addresses(tmp_path: Path) -> None:
    program, home = program_of(["kimi"]), tmp_path / ".kimi-code"
    env = {"HOME": str(tmp_path)}
    before = program.start_routed({"kimi": "http://127.0.0.1:9/v1"}, ["-p"], env, "/")
    assert before[:2] == (["-p"], {"KIMI_BASE_URL": "http://127.0.0.1:9/v1"}) and not home.exists()
    home.mkdir()
    (home / "config.toml").write_text(KIMI)
    (home / "device_id").write_text("d")
    urls = program.upstreams(env, "/")
    assert (urls["mine"], urls["b"]) == ("https://mine.example/v1/", "http://127.0.0.1:1/v1")
    led = program.start_routed({name: f"http://127.0.0.1:9/{name}" for name in urls}, ["-c"], env, "/")
    assert "KIMI_BASE_URL" in led.env
    folder = Path(led.env["KIMI_CODE_HOME"])
    text = (folder / "config.toml").read_text()
    assert (folder / "config.toml").stat().st_mode & 0o77 == 0 and led.arguments == ["-c"]
    assert text == KIMI.replace("https://mine.example/v1/", "http://127.0.0.1:9/mine/").replace(
        "http://127.0.0.1:1/v1", "http://127.0.0.1:9/b"
    )
    # What the client writes, replaces or adds is the user's own in the end.
    (folder / "sessions" / "one").write_text("s")
    assert (home / "sessions" / "one").read_text() == "s"
    (folder / "device_id").unlink()
    (folder / "device_id").write_text("new")
    (folder / "added").mkdir()
    (folder / "added" / "x").write_text("x")
    (folder / "config.toml").write_text(text.replace('"a"', '"b"'))
    led.end()
    assert not folder.exists() and (home / "config.toml").read_text() == KIMI.replace('"a"', '"b"')
    assert ((home / "device_id").read_text(), (home / "added" / "x").read_text()) == ("new", "x")


def test_names_of_kimi_codes_providers_and_models_may_be_equal(tmp_path: Path) -> None:
    program, home = program_of(["kimi"]), tmp_path / ".kimi-code"
    home.mkdir()
    urls = {"a": "http://one.example", "a-model": "http://two.example", "a-model-model": "http://three.example"}
    providers = [f'[providers.{name}]\nbase_url = "{urls[name]}"\n' for name in ("a", "a-model")]
    model = '[models.a]\nbase_url = "http://three.example"\n'
    kimi = '[models.kimi]\nbase_url = "http://four.example"\n'
    (home / "config.toml").write_text("".join([*providers, model, kimi]))
    env = {"HOME": str(tmp_path)}
    assert urls.items() <= program.upstreams(env, "/").items()
    # The relay's address for the model's URL is not for the provider of that name.
    led = program.start_routed({"kimi": "http://127.0.0.1:9/kimi"}, [], env, "/")
    led.end()
    assert "KIMI_BASE_URL" not in led.env


CONTINUE = """\
name: Mine
models:
  - name: one
    provider: anthropic
    model: claude-sonnet-5
    # a comment
    apiKey: any
  - provider: openai
    apiBase: "http://127.0.0.1:1/v1/" # here
    name: two
  -   name: three
      provider: ollama
      model: m
      requestOptions:
        headers: {a: b}
      apiBase: http://127.0.0.1:2
context:
  - provider: code
"""


def test_continue_by_a_copy_of_its_file_with_other_addresses(tmp_path: Path) -> None:
    program, env = program_of(["cn"]), {"HOME": str(tmp_path)}
    assert program.start_routed({}, ["-p", "x"], env, "/")[:2] == (["-p", "x"], {})
    file = tmp_path / ".continue" / "config.yaml"
    file.parent.mkdir()
    file.write_text(CONTINUE)
    urls = program.upstreams(env, "/")
    assert urls == {
        "anthropic": "https://api.anthropic.com/v1/",
        "openai": "http://127.0.0.1:1/v1/",
        "ollama": "http://127.0.0.1:2",
    }
    led = program.start_routed({name: f"http://127.0.0.1:9/{name}" for name in urls}, ["-p", "x"], env, "/")
    flag, copy, *rest = led.arguments
    assert (flag, rest, led.env) == ("--config", ["-p", "x"], {}) and Path(copy).stat().st_mode & 0o77 == 0
    changed = CONTINUE.replace("http://127.0.0.1:1/v1/", "http://127.0.0.1:9/openai/").replace(
        "http://127.0.0.1:2", "http://127.0.0.1:9/ollama"
    )
    inserted = "provider: anthropic\n    apiBase: http://127.0.0.1:9/anthropic/\n"
    assert Path(copy).read_text() == changed.replace("provider: anthropic\n", inserted)
    led.end()
    assert not Path(copy).exists() and file.read_text() == CONTINUE
    # An empty address counts as none, and the copy has the key once.
    for empty in ("", '""', "null", "~  # none"):
        for text in (
            f"models:\n  - provider: openai\n    apiBase: {empty}\n    name: a\n  - name: b\n    provider: openai\n",
            f"models:\n  - apiBase: {empty}\n    name: a\n    provider: openai\n",
        ):
            file.write_text(text)
            assert program.upstreams(env, "/")["openai"] == "https://api.openai.com/v1/"
            led = program.start_routed({"openai": "http://127.0.0.1:9/openai"}, [], env, "/")
            copied = Path(led.arguments[1]).read_text()
            led.end()
            assert copied.replace("apiBase: http://127.0.0.1:9/openai/", "").count("apiBase") == 0
            assert copied.count("apiBase") == text.count("provider")
            lines = [line.split("apiBase")[0] for line in copied.splitlines() if "apiBase" in line]
            assert all(len(indentation) == 4 for indentation in lines)
    # A file that the user names stays in force.
    assert program.start_routed(urls, ["--config", "mine.yaml"], env, "/").arguments == ["--config", "mine.yaml"]


@pytest.mark.parametrize(
    ("text", "arguments", "reason"),
    [
        (CONTINUE, [], ""),
        (CONTINUE, ["-p", "--config", "mine.yaml"], "a file that --config names"),
        (CONTINUE, ["--config=mine.yaml"], "a file that --config names"),
        ("models: [{provider: anthropic, model: m}]\n", [], r"no base URL of a model in .*config.yaml"),
        ("models:\n  - provider: mistral\n    model: m\n", [], r"no base URL of a model in .*config.yaml"),
        ("models:\n  - uses: anthropic/claude\n", [], r"no base URL of a model in .*config.yaml"),
    ],
)
def test_continue_says_when_nothing_of_it_is_led(tmp_path: Path, text: str, arguments: list[str], reason: str) -> None:
    command, file = ["cn", *arguments], tmp_path / ".continue" / "config.yaml"
    file.parent.mkdir()
    file.write_text(text)
    with pytest.raises(BadConfig, match=f"{reason}.*--forward") if reason else nullcontext():
        RelayedProgram(
            command=command,
            program=program_of(command),
            folder=tmp_path,
            database=tmp_path / "db",
            env={"HOME": str(tmp_path)},
            cwd="/",
        )


def test_cline_by_a_copy_of_its_providers(tmp_path: Path) -> None:
    program, env = program_of(["cline"]), {"HOME": str(tmp_path)}
    assert program.start_routed({}, ["x"], env, "/")[:2] == (["x"], {})
    file = tmp_path / ".cline" / "data" / "settings" / "providers.json"
    file.parent.mkdir(parents=True)
    own: dict[str, Any] = {
        "anthropic": {"settings": {"apiKey": "k"}},
        "house": {"settings": {"baseUrl": "http://127.0.0.1:1/v1"}},
        "cline": {"settings": {}},
    }
    file.write_text(json.dumps({"version": 1, "providers": own}))
    urls = program.upstreams(env, "/")
    assert urls["anthropic"] == "https://api.anthropic.com/v1" and urls["house"] == "http://127.0.0.1:1/v1"
    assert "cline" not in urls
    led = program.start_routed({name: f"http://127.0.0.1:9/{name}" for name in urls}, ["x"], env, "/")
    copy = Path(led.env.pop("CLINE_PROVIDER_SETTINGS_PATH"))
    assert led[:2] == (["x"], {"CLINE_SESSION_BACKEND_MODE": "local"}) and copy.stat().st_mode & 0o77 == 0
    changed = json.loads(copy.read_text())
    routed = {name: entry["settings"].get("baseUrl") for name, entry in changed["providers"].items()}
    assert routed == {"anthropic": "http://127.0.0.1:9/anthropic", "house": "http://127.0.0.1:9/house", "cline": None}
    # What it wrote stays, with the user's own addresses.
    changed["providers"]["anthropic"]["settings"]["apiKey"] = "new"
    copy.write_text(json.dumps(changed))
    led.end()
    own["anthropic"]["settings"]["apiKey"] = "new"
    assert not copy.exists() and json.loads(file.read_text()) == {"version": 1, "providers": own}
    for damaged in (b'{"version": 1, "prov', b"\xff"):
        led = program.start_routed({name: f"http://127.0.0.1:9/{name}" for name in urls}, ["x"], env, "/")
        Path(led.env["CLINE_PROVIDER_SETTINGS_PATH"]).write_bytes(damaged)
        led.end()
        assert json.loads(file.read_text()) == {"version": 1, "providers": own}
    # A disk that is full when it ends: the old settings stay, as does what else it wrote.
    file.chmod(0o640)
    led = program.start_routed({name: f"http://127.0.0.1:9/{name}" for name in urls}, ["x"], env, "/")
    copy = Path(led.env["CLINE_PROVIDER_SETTINGS_PATH"])
    copy.write_text(json.dumps({**changed, "more": 1}))
    (copy.parent / "added").write_text("x")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (16, limits[1]))
    try:
        with pytest.raises(CtxtuiError, match="File too large") as lost:
            led.end()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert json.loads(file.read_text()) == {"version": 1, "providers": own}
    _, other_end = copy_file("providers.json", "{}")
    assert json.loads((Path(lost.value.place) / f"{copy.name}.unsaved").read_text())["more"] == 1, "kept for the user"
    other_end()
    assert sorted(entry.name for entry in file.parent.iterdir() if entry.name != "added") == [file.name]
    assert (file.parent / "added").read_text() == "x" and file.stat().st_mode & 0o777 == 0o640
    for unreadable in ("{", "[" * 100_000):
        file.write_text(unreadable)
        assert program.start_routed(urls, ["x"], env, "/")[:2] == (["x"], {})
    file.write_text(r'{"providers": {"anthropic": {"settings": {"apiKey": "\ud800é"}}}}')
    led = program.start_routed(urls, ["x"], env, "/")
    copied = json.loads(Path(led.env["CLINE_PROVIDER_SETTINGS_PATH"]).read_text())
    assert copied["providers"]["anthropic"]["settings"]["apiKey"] == "\ud800é"
    led.end()


def test_the_next_run_removes_the_copy_of_a_killed_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    home = tmp_path / "home"
    home.mkdir()
    (home / "device_id").write_text("d")
    killed = (
        "import os\nfrom pathlib import Path\n"
        "from ctxtui.services.attach.programs.settings_copy import link_folder\n"
        f"folder, _ = link_folder(Path({str(home)!r}), 'config.toml', 'key = 1', str)\nprint(folder, flush=True)\n"
    )
    ran = [
        subprocess.run(
            [sys.executable, "-c", killed + more], env=os.environ | {"TMPDIR": str(tmp_path)}, stdout=subprocess.PIPE
        )
        for more in ("os._exit(9)", "(folder / 'new').write_text('n')\nos._exit(9)")
    ]
    empty, full = (Path(one.stdout.decode().strip()) for one in ran)
    assert not empty.exists(), "the second run has removed it"
    assert (full / "config.toml").exists()
    lives, end = copy_file("config.yaml", "key = 2")
    # What the program created is kept, the copy with its keys is not.
    assert not (full / "config.toml").exists() and (full / "new").read_text() == "n"
    _, other_end = copy_file("config.yaml", "key = 3")
    assert lives.read_text() == "key = 2", "the copy of a run that lives stays"
    end()
    other_end()
    assert (home / "device_id").read_text() == "d"
    assert not lives.exists()


def test_a_file_of_ones_own_is_a_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CTXTUI_HOME", str(tmp_path))
    own = tmp_path / "programs" / "house-bot.toml"
    own.parent.mkdir()
    own.write_text('commands = ["bot"]\n[providers.house]\nusual = "https://llm.house"\nvariables = ["HOUSE_URL"]\n')
    program = program_of(["bot", "-x"])
    assert program.upstreams({"HOUSE_URL": "http://other"}, "/") == {"house": "http://other"}
    led = program.start_routed({"house": "http://127.0.0.1:9"}, [], {}, "/")
    assert led[:2] == ([], {"HOUSE_URL": "http://127.0.0.1:9"})
    provider = '[providers.a]\nusual = "http://x"\n'
    own.write_text('clients = ["house agent"]\n')
    assert command_of("house agent") == "house agent", "a program without a command"
    own.write_text('clients = ["house agent"]\ncommands = ["long-bot", "bot", "b-t"]\n')
    assert command_of("house agent") == command_of("house bot") == "b-t"
    wrong = (
        *("x =", "colour = 1", 'own = "magic"', 'own = ["pi"]', 'commands = "bot"', "clients = 3", "providers = 3"),
        f"colour = {'[' * 5000}",
        *("[providers.a]", '[providers.a]\nusual = ""', "[providers.a]\nusual = 3", provider + "paths = 3"),
        *(provider + 'if_set = "yes"', provider + 'usal = "http://y"', provider + "paths = { a = 1 }"),
    )
    for text in wrong:
        own.write_text(text)
        with pytest.raises(BadConfig) as told:
            program_of(["bot"])
        assert str(own) in str(told.value)


@pytest.mark.parametrize("url", ["ftp://x", "https://", "https://u:p@x", "http://x:0/", "x", "http://[::1"])
def test_an_upstream_is_an_address_of_http(tmp_path: Path, url: str) -> None:
    around = RelayedProgram(
        command=["x"],
        program=PROGRAMS[-1],
        folder=tmp_path,
        database=tmp_path / "db",
        env={},
        cwd="/",
        named_upstreams={"anthropic": url},
    )
    with pytest.raises(BadConfig):
        around.upstreams()


@pytest.mark.parametrize("proxy", ["HTTP_PROXY", "http_proxy", "ALL_PROXY"])
def test_a_proxy_of_the_environment_is_not_between_a_program_and_its_relay(proxy: str) -> None:
    program, env = program_of(["python", "x.py"]), {proxy: "http://proxy.example:3128", "NO_PROXY": "intra.example"}
    told = program.start_relayed(HERE, ["x.py"], env, "/").env
    assert told["NO_PROXY"] == told["no_proxy"] == "intra.example,127.0.0.1,localhost"
    assert told["ANTHROPIC_BASE_URL"] == HERE["anthropic"] and proxy not in told
    assert "NO_PROXY" not in program.start_relayed(HERE, [], {}, "/").env
