"""`ctxtui exec --fork SESSION:CALL`: the way to a call is answered from the record, what comes then is live."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from ctxtui.core.call import EDITS
from ctxtui.offline import Provider, RunningProvider, Server, offline
from ctxtui.services.recordings.open import load
from tests.cli.conftest import PROGRAM, Run

AGENT = """\
import sys, anthropic
client = anthropic.Anthropic(max_retries=0, api_key="k")
messages = []
for words in sys.argv[1:]:
    messages.append({"role": "user", "content": words})
    asked = dict(model="claude-sonnet-4-5", max_tokens=300, system="you are " + sys.argv[-1])
    with client.messages.stream(messages=messages, **asked) as stream:
        answer = stream.get_final_message()
    messages.append({"role": "assistant", "content": [one.model_dump() for one in answer.content]})
    print(answer.id)
"""


@pytest.fixture
def providers() -> Iterator[tuple[RunningProvider, RunningProvider]]:
    with offline(Server(Provider())) as first, offline(Server(Provider(seed=7))) as second:
        yield first, second


def ran(provider: RunningProvider, *arguments: str, words: tuple[str, ...]) -> subprocess.CompletedProcess[str]:
    Path("agent.py").write_text(AGENT)
    command = [*PROGRAM, "exec", *arguments, "--", sys.executable, "agent.py", *words]
    env = {**os.environ, "ANTHROPIC_BASE_URL": provider.url}
    return subprocess.run(command, env=env, capture_output=True, text=True, timeout=180, check=False)


def recording() -> Path:
    folder = Path(os.environ["CTXTUI_HOME"]) / "attached"
    return max(folder.glob("*.jsonl"), key=lambda path: path.stat().st_mtime_ns)


def test_the_way_to_the_fork_is_not_paid_again(
    home: Path, ctxtui: Run, providers: tuple[RunningProvider, RunningProvider]
) -> None:
    first, second = providers
    made = ran(first, words=("one", "two", "three", "four"))
    assert made.returncode == 0, made.stderr
    ids, path = made.stdout.split(), recording()
    # The fix is another system prompt (here the last word): the messages up to the fork are the same.
    forked = ran(second, "--fork", f"{path.stem}:2", words=("one", "two", "three", "fixed"))
    assert forked.returncode == 0, forked.stderr
    assert "2 requests were answered from the record" in forked.stderr
    again = forked.stdout.split()
    assert again[:2] == ids[:2] and not set(again[2:]) & set(ids)
    assert [b"three" in one.body for one in second.server.seen] == [True, True] and len(first.server.seen) == 4
    # On record: whole, and what was not asked of a model has no report and costs nothing.
    calls = load(recording()).session.thread_calls()
    assert [call.usage is None for call in calls] == [True, True, False, False]
    assert [call.extra.get(EDITS, {}).get("played") for call in calls] == [
        f"{path.name} call 1",
        f"{path.name} call 2",
        None,
        None,
    ]


def test_who_departs_before_the_fork_is_live_from_there_and_that_is_said(
    home: Path, ctxtui: Run, providers: tuple[RunningProvider, RunningProvider]
) -> None:
    first, second = providers
    assert ran(first, words=("one", "two", "three")).returncode == 0
    path = recording()
    forked = ran(second, "--fork", path.stem, "-q", words=("one", "other", "three"))
    assert forked.returncode == 0 and "departs from the record" in forked.stderr
    assert [b"other" in one.body for one in second.server.seen] == [True, True]
    (told,) = [
        call.extra[EDITS]["done"]
        for call in load(recording()).session.thread_calls()
        if "done" in call.extra.get(EDITS, {})
    ]
    assert told[0].startswith("it departs from the record")


def test_what_cannot_be_forked_is_said(home: Path, ctxtui: Run, tmp_path: Path) -> None:
    other = tmp_path / "body.json"
    other.write_text(
        '{"model": "claude-sonnet-4-5", "max_tokens": 9, "messages": [{"role": "user", "content": "hoi"}]}'
    )
    ran_ = ctxtui("exec", "--fork", f"{other}:1", "--", "true")
    assert ran_.code == 125 and "was not recorded through ctxtui" in ran_.err
    ran_ = ctxtui("exec", "--fork", "nothing-of-the-kind:3", "--", "true")
    assert ran_.code == 125 and "Traceback" not in ran_.err
