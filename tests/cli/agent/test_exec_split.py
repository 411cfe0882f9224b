"""`ctxtui exec --split`: the inspector beside the program, in a real tmux."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ctxtui.offline import Provider, Server, offline
from tests.cli.conftest import PROGRAM, program

AGENT = """\
import time, anthropic
from pathlib import Path
client = anthropic.Anthropic(max_retries=0, api_key="k")
said = [{"role": "user", "content": "a word beside"}]
client.messages.create(model="claude-sonnet-4-5", max_tokens=99, messages=said)
while not Path("enough").exists():
    time.sleep(0.05)
"""


def test_outside_of_tmux_it_says_so_in_one_line_and_goes_on(home: Path) -> None:
    env = {name: text for name, text in os.environ.items() if name != "TMUX"}
    ran = program(["exec", "-q", "--split", "--", sys.executable, "-c", "print('on')"], env=env)
    assert ran.returncode == 0 and ran.stdout == "on\n"
    assert "works inside tmux only" in ran.stderr and ran.stderr.count("\n") == 1


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("tmux") is None, reason="there is no tmux")
def test_inside_tmux_the_inspector_shows_the_session_beside_the_program(home: Path, tmp_path: Path) -> None:
    Path("agent.py").write_text(AGENT)
    server = ["tmux", "-S", str(tmp_path / "tmux")]

    def tmux(*arguments: str) -> str:
        return subprocess.run([*server, *arguments], check=True, capture_output=True, text=True, timeout=60).stdout

    def until(words: str) -> None:
        limit = time.monotonic() + 120
        while words not in "".join(tmux("capture-pane", "-p", "-t", f":.{pane}") for pane in panes()):
            assert time.monotonic() < limit, [tmux("capture-pane", "-p", "-t", f":.{pane}") for pane in panes()]
            time.sleep(0.1)

    def panes() -> list[str]:
        return tmux("list-panes", "-F", "#{pane_index}").split()

    with offline(Server(Provider())) as provider:
        command = shlex.join([*PROGRAM, "exec", "--split", "--", sys.executable, "agent.py"])
        env = {**os.environ, "ANTHROPIC_BASE_URL": provider.url, "CTXTUI_TIPS": "0"}
        kept = [word for name, text in env.items() if name != "TMUX" for word in ("-e", f"{name}={text}")]
        tmux("new-session", "-d", "-x", "200", "-y", "40", *kept, command)
        try:
            until("a word beside")
            assert len(panes()) == 2
            # The program keeps the focus, and the inspector stays when it has ended.
            assert tmux("display-message", "-p", "#{pane_index}").strip() == panes()[0]
            Path("enough").touch()
            limit = time.monotonic() + 60
            while len(panes()) > 1 and time.monotonic() < limit:
                time.sleep(0.1)
            until("a word beside")
        finally:
            subprocess.run([*server, "kill-server"], check=False, capture_output=True)
