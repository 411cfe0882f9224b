"""`ctxtui exec`: real SDKs in a program of their own, led to the offline provider through the relay."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from ctxtui.core.call import Fidelity
from ctxtui.offline import Provider, RunningProvider, Server, offline
from ctxtui.services.attach.registry import program_of
from ctxtui.services.recordings.open import load
from tests.cli.conftest import PROGRAM, Run
from tests.warm import warm_ctxtui, warm_python

KEY = "sk-ant-very-secret-0123456789"
SCRIPT = """\
import sys, anthropic, openai
claude, gpt = anthropic.Anthropic(max_retries=0), openai.OpenAI(max_retries=0)
messages = [{"role": "user", "content": "say hoi"}]
for n in range(2):
    with claude.messages.stream(model="claude-sonnet-4-5", max_tokens=500, messages=messages) as stream:
        answer = stream.get_final_message()
    messages += [{"role": "assistant", "content": answer.content}, {"role": "user", "content": f"more {n}"}]
gpt.responses.create(model="gpt-5.6", input="what is this", store=False)
print("out", file=sys.stdout); print("err", file=sys.stderr)
sys.exit(7)
"""


@pytest.fixture(scope="module")
def provider() -> Iterator[RunningProvider]:
    with offline(Server(Provider())) as running:
        yield running


def env_of(home: Path, provider: RunningProvider) -> dict[str, str]:
    return {
        **os.environ,
        "ANTHROPIC_BASE_URL": provider.url,
        "OPENAI_BASE_URL": provider.openai_url,
        "ANTHROPIC_API_KEY": KEY,
        "OPENAI_API_KEY": KEY,
    }


def test_a_script_runs_as_it_would_and_is_on_record(home: Path, provider: RunningProvider, ctxtui: Run) -> None:
    Path("agent.py").write_text(SCRIPT)
    command = [*PROGRAM, "exec", "--tag", "nightly", "--", *warm_python(), "agent.py"]
    ran = subprocess.run(command, env=env_of(home, provider), capture_output=True, text=True, timeout=120, check=False)
    assert (ran.returncode, ran.stdout, ran.stderr) == (7, "out\n", "err\n")
    (path,) = (Path(os.environ["CTXTUI_HOME"]) / "attached").iterdir()
    session = load(path).session
    calls = list(session.calls.values())
    assert len(calls) == 3 and {one.fidelity for one in calls} == {Fidelity.WIRE}
    assert [one.raw for one in ()] == [] and KEY not in path.read_text()
    sent = [one.body for one in provider.server.seen]
    told = [json.loads(line) for line in path.read_text().splitlines()]
    assert [line["asked"]["body"]["size"] for line in told if "asked" in line] == [len(one) for one in sent]
    assert told[0]["tags"] == ["nightly"] and told[0]["cwd"] == os.getcwd()
    listed = ctxtui("sessions", "--json").json["sessions"]
    assert [one["id"] for one in listed if one["source"] == "attached"] == [path.stem]
    assert ctxtui("show", path.stem, "--json").json["session"]["calls"] == 3


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["exec"], 125, "no command"),
        (["exec", "--upstream", "x", "--", "true"], 125, "NAME=URL"),
        (["exec", "--upstream", "nobody=http://x", "--", "true"], 125, "uses no provider"),
        (["exec", "--wrong", "--", "true"], 125, "--wrong"),
        (["exec", "--as", "nobody", "--", "true"], 125, "nobody"),
        (["exec", "--", "no-such-program-anywhere"], 127, "no such program"),
    ],
)
def test_faults_of_ctxtui_are_told_apart_from_the_programs(
    ctxtui: Run, arguments: list[str], code: int, words: str
) -> None:
    ran = ctxtui(*arguments)
    assert ran.code == code and words in ran.err and "Traceback" not in ran.err


def test_a_signal_reaches_the_program_and_its_end_is_told(home: Path, tmp_path: Path) -> None:
    ready = tmp_path / "ready"
    command = [*PROGRAM, "exec", "--", "sh", "-c", f"echo $$ > {ready}; exec sleep 600"]
    running = subprocess.Popen(command)
    try:
        limit = time.monotonic() + 60
        while not (ready.exists() and ready.read_text().strip()) and time.monotonic() < limit:
            time.sleep(0.02)
        running.send_signal(signal.SIGTERM)
        assert running.wait(60) == 128 + signal.SIGTERM
    finally:
        running.kill()


def test_what_leads_other_programs_is_printed_and_served(home: Path, provider: RunningProvider) -> None:
    command = [*warm_ctxtui(), "exec", "--print-env", "--json"]
    running = subprocess.Popen(command, env=env_of(home, provider), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    try:
        assert running.stdout is not None
        told = json.loads(running.stdout.readline())
        assert told["env"]["ANTHROPIC_BASE_URL"].startswith("http://127.0.0.1:")
        assert told["env"]["OPENAI_BASE_URL"].endswith("/v1")
        import anthropic

        with anthropic.Anthropic(api_key=KEY, base_url=told["env"]["ANTHROPIC_BASE_URL"], max_retries=0) as claude:
            claude.messages.create(
                model="claude-sonnet-4-6", max_tokens=300, messages=[{"role": "user", "content": "say hoi"}]
            )
        running.send_signal(signal.SIGINT)
        assert running.wait(60) == 0
    finally:
        running.kill()
    (path,) = (Path(os.environ["CTXTUI_HOME"]) / "attached").iterdir()
    assert len(load(path).session.calls) == 1


def test_keeping_warm_needs_a_program_that_ends(ctxtui: Run) -> None:
    ran = ctxtui("exec", "--keep-warm", "1", "--print-env")
    assert ran.code == 125 and "--keep-warm needs a COMMAND" in ran.err


def test_json_without_print_env_is_refused(ctxtui: Run) -> None:
    """A script that parses standard output must not take the program's for JSON."""
    ran = ctxtui("exec", "--json", "--", "true")
    assert ran.code == 125 and "--json needs --print-env" in ran.err


def test_a_held_request_waits_for_a_word_from_another_terminal(
    home: Path, provider: RunningProvider, ctxtui: Run
) -> None:
    Path("agent.py").write_text(SCRIPT.partition("gpt.responses")[0] + "print('done')")
    assert ctxtui("hold").out == "no request is held\n" and ctxtui("hold", "release").code == 5
    command = [*warm_ctxtui(), "exec", "--hold", "--", *warm_python(), "agent.py"]
    running = subprocess.Popen(command, env=env_of(home, provider), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        before, limit = len(provider.server.seen), time.monotonic() + 100
        for n in range(2):
            held: list[dict[str, str]] = []
            while not held and time.monotonic() < limit:
                held = ctxtui("hold", "--json").json["held"]
            assert held[0]["why"] == "each request is held" and len(provider.server.seen) == before + n
            assert ctxtui("hold", "release", held[0]["id"]).out.endswith(": release\n")
        out, err = running.communicate(timeout=60)
        assert (running.returncode, out) == (0, b"done\n"), err
    finally:
        running.kill()
    assert not list((Path(os.environ["CTXTUI_HOME"]) / "attached").glob("*.control"))


def test_applying_says_which_edits_are_only_staged(home: Path, provider: RunningProvider, ctxtui: Run) -> None:
    Path("agent.py").write_text(SCRIPT.partition("gpt.responses")[0])
    command = [*warm_ctxtui(), "exec", "--hold", "--", *warm_python(), "agent.py"]
    running = subprocess.Popen(command, env=env_of(home, provider), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        limit = time.monotonic() + 100

        def wait_for_held() -> dict[str, str]:
            held: list[dict[str, str]] = []
            while not held and time.monotonic() < limit:
                held = ctxtui("hold", "--json").json["held"]
            return held[0]

        # Nothing is staged: nothing is said.
        assert ctxtui("hold", "apply", wait_for_held()["id"]).err == ""
        request = wait_for_held()
        (path,) = (Path(os.environ["CTXTUI_HOME"]) / "attached").glob("*.jsonl")
        blocks = ctxtui("edits", "stage", str(path), "--blocks", "--json").json["blocks"]
        pinned = next(block["name"] for block in blocks if block["category"] != "header")
        assert ctxtui("edits", "stage", str(path), "--pin", pinned).code == 0
        said = ctxtui("hold", "apply", request["id"])
        assert said.out.endswith(": apply\n") and "sent without the edit that is only staged; `a` in" in said.err
        _, err = running.communicate(timeout=60)
        assert running.returncode == 0, err
    finally:
        running.kill()


@pytest.mark.parametrize(("options", "ways"), [([], ["exec --forward -- sh", "sh.toml"]), (["--forward"], ["sh.toml"])])
def test_where_no_request_came_by_it_says_so_and_what_would_work(
    options: list[str], ways: list[str], home: Path
) -> None:
    ran = subprocess.run(
        [*PROGRAM, "exec", *options, "--", "sh", "-c", "exit 3"],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (ran.returncode, ran.stdout) == (3, "")
    assert "no request to a model passed the relay" in ran.stderr and all(way in ran.stderr for way in ways)
    killed = subprocess.run(
        [*PROGRAM, "exec", "--", "sh", "-c", "kill -9 $$"], capture_output=True, text=True, timeout=120, check=False
    )
    assert killed.returncode == 128 + 9 and "no request to a model passed the relay" in killed.stderr
    quiet = subprocess.run([*PROGRAM, "exec", "-q", "--", "true"], capture_output=True, timeout=120, check=False)
    assert (quiet.returncode, quiet.stderr) == (0, b"")


ASKING = """\
#!{python}
import json, os, sys, urllib.request
url = os.environ.get("{variable}", "")
if not url:
    sys.exit("not led")
body = {{"model": "{model}", "messages": [{{"role": "user", "content": "hoi"}}]}}
if "{path}".endswith("messages"):
    body["max_tokens"] = 50
headers = {{"content-type": "application/json", "x-api-key": "k", "authorization": "Bearer k"}}
headers["anthropic-version"] = "2023-06-01"
request = urllib.request.Request(url + "{path}", json.dumps(body).encode(), headers)
print(len(urllib.request.urlopen(request).read()) > 10)
"""


@pytest.mark.parametrize(
    ("name", "variable", "path", "model"),
    [
        ("goose", "ANTHROPIC_HOST", "/v1/messages", "claude-sonnet-5"),
        ("goose", "OPENAI_HOST", "/v1/chat/completions", "gpt-5.5"),
        ("copilot", "COPILOT_PROVIDER_BASE_URL", "/v1/messages", "claude-sonnet-5"),
    ],
)
def test_a_client_that_takes_its_address_from_a_variable_of_its_own_is_led(
    name: str, variable: str, path: str, model: str, home: Path, provider: RunningProvider, tmp_path: Path
) -> None:
    script = tmp_path / name
    script.write_text(ASKING.format(python=sys.executable, variable=variable, path=path, model=model))
    script.chmod(0o700)
    env = {**os.environ, variable: provider.url}
    ran = subprocess.run([*PROGRAM, "exec", "--", str(script)], env=env, capture_output=True, text=True, timeout=120)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "True\n", "")
    (recorded,) = (Path(os.environ["CTXTUI_HOME"]) / "attached").glob("*.jsonl")
    (call,) = load(recorded).session.calls.values()
    assert call.fidelity == Fidelity.WIRE and call.model == model


def test_a_client_that_is_another_one_with_an_address_is_given_none(home: Path, tmp_path: Path) -> None:
    script = tmp_path / "copilot"
    script.write_text(ASKING.format(python=sys.executable, variable="COPILOT_PROVIDER_BASE_URL", path="", model=""))
    script.chmod(0o700)
    ran = subprocess.run(
        [*PROGRAM, "exec", "--", str(script)], capture_output=True, text=True, timeout=120, check=False
    )
    assert ran.returncode == 1 and "not led" in ran.stderr and "--forward -- copilot" in ran.stderr


def test_gemini_s_api_is_led_and_recorded() -> None:
    program = program_of(["gemini"])
    assert program.upstreams({}, "/") == {"google": "https://generativelanguage.googleapis.com"}
    led = program.start_routed({"google": "http://127.0.0.1:1"}, ["-p", "x"], {}, "/")
    assert led.env == {"GOOGLE_GEMINI_BASE_URL": "http://127.0.0.1:1"} and led.arguments == ["-p", "x"]
