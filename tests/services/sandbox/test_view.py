"""What a confined program sees of the machine: its folder, the system, tools; no secret, no socket, no device."""

from __future__ import annotations

import asyncio
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import pytest

from ctxtui.services.config.environment import passed_variables
from ctxtui.services.sandbox.view import View, build_view
from tests.services.sandbox.conftest import SECRETS, Sh


def test_the_home_folder_is_empty_but_for_folder_and_tools(
    sh: Sh, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folders = (home / ".fly/bin", home / ".pulumi/bin", home / ".local/bin")
    monkeypatch.setenv("PATH", os.pathsep.join([*map(str, folders), os.environ["PATH"]]))
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "ctxtui.db").write_text("SECRETVALUE")
    monkeypatch.setenv("CTXTUI_HOME", str(tmp_path / "data"))
    done = sh(f"cd '{home}'; find . -type f | sort; cat {' '.join(SECRETS)} '{tmp_path}/data/ctxtui.db'; fly; tool")
    lines = done.text.splitlines()
    assert [line for line in lines if line.startswith("./")] == [
        "./.fly/bin/fly", "./.local/bin/tool", "./.pulumi/bin/pulumi",
    ]  # fmt: skip
    assert "SECRETVALUE" not in done.text and lines[-2:] == ["a tool of the user"] * 2
    # What it writes there goes with it.
    assert sh("mkdir ~/.cache && echo fine > ~/.cache/x && cat ~/.cache/x").text == "fine\n"
    assert not list(home.glob(".cache/x"))


def test_it_writes_in_its_folder_and_nowhere_else(sh: Sh, root: Path, home: Path, tmp_path: Path) -> None:
    done = sh("pwd; echo a > a.txt; echo c > /dev/null && echo ok; touch /tmp/t /var/tmp/t /dev/shm/t && echo tmp")
    assert done.text.splitlines() == [str(root), "ok", "tmp"] and done.code == 0
    assert (root / "a.txt").read_text() == "a\n" and not Path("/tmp/t").exists() and not Path("/dev/shm/t").exists()
    # They are opened, and nothing is written.
    for name in ("/etc/x", "/usr/x", "/x", "/proc/sys/kernel/hostname", f"{sys.prefix}/lib/x"):
        done = sh(f": >> '{name}'")
        assert done.code and ("Read-only" in done.text or "denied" in done.text), (name, done.text)
    for place in (home / "x", home.parent / "x", tmp_path / "x", root.parent / "x"):
        sh(f"mkdir -p '{place.parent}'; echo evil > '{place}'")
        assert not place.exists()


@pytest.mark.parametrize("inner", ["", "work"])
def test_an_interpreter_and_a_folder_below_tmp(sh: Sh, monkeypatch: pytest.MonkeyPatch, inner: str) -> None:
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        prefix, work = Path(folder, inner, "venv"), Path(folder, "work")
        (prefix / "lib").mkdir(parents=True)
        work.mkdir(exist_ok=True)
        (prefix / "lib" / "library.py").write_text("found")
        monkeypatch.setattr(sys, "prefix", str(prefix))
        assert sh(f"cat '{prefix}/lib/library.py'", work).text == "found"
        if not inner:
            done = sh(f"echo evil > '{prefix}/lib/library.py'", work)
            assert done.code and "Read-only" in done.text
            assert sh(f"echo fine > '{work}/a.txt'", work).code == 0


def test_the_home_folder_as_the_folder_to_work_in(sh: Sh, home: Path) -> None:
    (home / "notes.txt").write_text("mine\n")
    done = sh(
        "cat notes.txt; find . -name '.*' -type f; cat .ssh/id_rsa .git-credentials; echo x > .bashrc; ls -a", home
    )
    assert done.text.startswith("mine\n") and not (home / ".bashrc").exists()
    assert done.text.count("SECRETVALUE") == 0


@contextmanager
def listening(address: str) -> Iterator[None]:
    """A service of the machine at a socket."""
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(address)
        server.listen()

        def answer() -> None:
            with suppress(OSError):
                while True:
                    server.accept()[0].close()

        threading.Thread(target=answer, daemon=True).start()
        yield
        server.shutdown(socket.SHUT_RDWR)


def test_no_socket_of_the_machine_is_reached(
    sh: Sh, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = tmp_path / "run"
    run.mkdir()
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(run))
    monkeypatch.setenv("DBUS_SESSION_BUS_ADDRESS", f"unix:path={run}/bus")
    monkeypatch.setenv("SSH_AUTH_SOCK", str(home / "agent.sock"))
    with ExitStack() as stack, tempfile.TemporaryDirectory(dir="/tmp") as short:
        places = [str(run / "bus"), str(home / "agent.sock"), f"{short}/s"]
        if os.access("/run", os.W_OK):
            place = tempfile.mkdtemp(dir="/run")
            stack.callback(shutil.rmtree, place)
            places.append(f"{place}/docker.sock")
        for place in (*places, "\0ctxtui-test"):
            stack.enter_context(listening(place))
        ask = "import socket, sys; socket.socket(socket.AF_UNIX).connect(sys.argv[1]); print('rea' + 'ched')"
        for network in (False, True):
            script = "; ".join(f"{sys.executable} -c \"{ask}\" '{place}'" for place in places)
            done = sh(f"{script}; env", network=network)
            assert "reached" not in done.text and done.text.count("FileNotFoundError") == len(places)
            assert not any(name in done.text for name in ("XDG_RUNTIME", "DBUS", "SSH_AUTH"))
        hidden = sh(f"{sys.executable} -c \"import socket; socket.socket(socket.AF_UNIX).connect('\\0ctxtui-test')\"")
        assert "Refused" in hidden.text


async def test_it_has_no_network_but_its_own(kind: str, root: Path) -> None:
    from ctxtui.services.sandbox.confined import run_confined

    async def heard(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.close()

    server = await asyncio.start_server(heard, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    ask = [sys.executable, "-c", f'import socket; socket.create_connection(("127.0.0.1", {port}), 5); print(1)']
    own = 'import socket as s; a = s.create_server(("127.0.0.1", 0)); s.create_connection(a.getsockname()); print(2)'
    assert "ConnectionRefused" in (await run_confined(ask, root)).text
    assert (await run_confined([sys.executable, "-c", own], root)).text == "2\n"
    assert (await run_confined(ask, root, network=True)).text == "1\n"
    server.close()


def test_devices_are_those_that_hold_nothing(sh: Sh) -> None:
    done = sh(
        "ls /dev; find /dev -type b; cat /dev/kmsg; echo x > /dev/kmsg; mknod n b 254 0; cat n; head -c 3 /dev/zero"
    )
    names = set(done.text.split("find:")[0].split()) & set(os.listdir("/dev"))
    assert names <= {"null", "zero", "full", "random", "urandom", "tty", "console", "core", "fd", "ptmx", "pts", "shm",
                     "stdin", "stdout", "stderr"}  # fmt: skip
    assert "No such file" in done.text and "permitted" in done.text and done.text.endswith("\0\0\0")


def test_no_privilege_is_left_to_undo_it(sh: Sh, root: Path) -> None:
    done = sh("grep Cap /proc/self/status; grep NoNewPrivs /proc/self/status")
    told = done.text.split()
    assert [word for word in told if len(word) == 16] == ["0" * 16] * 5 and told[-1] == "1"
    (root / "Makefile").write_text("all:\n")
    for script in ("mount -o remount,bind,rw /", "umount Makefile", "unshare -Urm umount -l Makefile",
                   "unshare -Urm mount -o remount,bind,rw Makefile"):  # fmt: skip
        sh(f"{script}; touch /etc/x; echo x >> Makefile; unshare -Urm sh -c '{script}; echo x >> Makefile'")
    assert not Path("/etc/x").exists() and (root / "Makefile").read_text() == "all:\n"
    assert int(sh("ls /proc | grep -c '^[0-9]'").text) < 10


SECRET_VARIABLES = """
    ANTHROPIC_API_KEY DATABASE_URL PGPASS MYSQL_PWD DB_PASS ANTHROPIC_CUSTOM_HEADERS OTEL_EXPORTER_OTLP_HEADERS
    HTTPS_PROXY http_proxy SENTRY_DSN SLACK_WEBHOOK_URL GH_PAT SSH_AUTH_SOCK REDIS_URL MONGO_URI GITHUB_AUTH COOKIE
    SMTP_PASS RAILS_MASTER AWS_ACCESS NPM_CONFIG__AUTH TWILIO_SID JWT DBUS_SESSION_BUS_ADDRESS BW_SESSION OP_SESSION_x
    CODECOV PASSPHRASE PRIVATE HF_HUB PIP_INDEX_URL UV_INDEX_X APIKEY AUTH CTXTUI_HOME XDG_RUNTIME_DIR GPG_AGENT_INFO
    DOCKER_HOST KUBECONFIG
""".split()


def test_variables_are_those_that_are_named(sh: Sh, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in SECRET_VARIABLES:
        monkeypatch.setenv(name, "SECRETVALUE")
    monkeypatch.setenv("LC_ALL", "C.UTF-8")
    done = sh("env")
    assert "SECRETVALUE" not in done.text and "LC_ALL=C.UTF-8" in done.text and "PATH=" in done.text
    assert "DATABASE_URL=SECRETVALUE" in sh("env", variables="DATABASE_URL UV_*").text
    assert passed_variables({"A": "1", "HOME": "/h", "UV_X": "2"}, "UV_*") == {"HOME": "/h", "UV_X": "2"}


def test_commands_and_servers_get_variables_by_one_list() -> None:
    from mcp.client.stdio import DEFAULT_INHERITED_ENV_VARS

    env = dict.fromkeys(DEFAULT_INHERITED_ENV_VARS, "1")
    assert sys.platform == "win32" or passed_variables(env) == env


def test_further_places_are_read_where_the_user_names_them(sh: Sh, tmp_path: Path, home: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "x.csv").write_text("1,2\n")
    assert sh(f"cat '{tmp_path}/data/x.csv'").code
    assert sh(f"cat '{tmp_path}/data/x.csv'", reads=[str(tmp_path / "data")]).text == "1,2\n"
    assert sh("cat ~/notes/passwords.txt", reads=["~/notes"]).text == "SECRETVALUE\n"
    assert sh("cat ~/.netrc", reads=["~", "/"]).code, "a place that holds the home folder shows none of it"


def test_tools_on_the_path_bring_what_they_are_linked_to(
    sh: Sh, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = home / ".local/share/versions/node/bin"
    store.mkdir(parents=True)
    (store / "node").write_text('#!/bin/sh\ncat "$(dirname "$(readlink -f "$0")")/../lib/version"\n')
    (store / "node").chmod(0o755)
    (store.parent / "lib").mkdir()
    (store.parent / "lib" / "version").write_text("v1\n")
    (store.parent / "token").write_text("SECRETVALUE\n")
    # A link to a folder of links, as fnm's shells have it; and a link in a folder of the system's kind.
    shell = tmp_path / "shells" / "1"
    shell.parent.mkdir()
    shell.symlink_to(store.parent)
    (home / ".local/bin/node2").symlink_to(store / "node")
    (home / ".local/bin/leak").symlink_to(home / ".git-credentials")
    (home / ".git-credentials").chmod(0o600)
    for folder in (shell / "bin", home / ".local/bin"):
        monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
        done = sh(f"node || node2; cat '{store.parent}/token' leak ~/.local/bin/leak")
        assert done.text.startswith("v1\n") and "SECRETVALUE" not in done.text, done.text


@pytest.mark.parametrize("network", [False, True])
def test_caches_of_tools_are_read_only_and_elsewhere_with_a_network(sh: Sh, home: Path, network: bool) -> None:
    for name in (".npm/_cacache/x", ".cargo/registry/x"):
        (home / name).parent.mkdir(parents=True)
        (home / name).write_text("cached\n")
    done = sh("for f in ~/.npm/_cacache ~/.cargo/registry; do cat $f/x; mkdir -p $f && touch $f/y && echo new; done",
              network=network)  # fmt: skip
    assert done.text.count("cached") == (0 if network else 2) and done.text.count("new\n") == (2 if network else 0)
    assert not (home / ".npm/_cacache/y").exists()


def test_a_virtual_environment_of_the_folder_finds_its_interpreter(sh: Sh, home: Path, root: Path) -> None:
    prefix = home / "interpreters/python"
    for name in ("bin", "lib/python3"):
        (prefix / name).mkdir(parents=True)
    (prefix / "lib/python3/os.py").write_text("a library\n")
    (prefix / "bin/python3").write_text(f"#!/bin/sh\ncat '{prefix}/lib/python3/os.py'\n")
    (prefix / "bin/python3").chmod(0o755)
    (root / ".venv/bin").mkdir(parents=True)
    (root / ".venv/pyvenv.cfg").write_text(f"home = {prefix}/bin\n")
    (root / ".venv/bin/python").symlink_to(prefix / "bin/python3")
    (root / ".venv/bin/python2").symlink_to(home / ".ssh/id_rsa")
    done = sh(".venv/bin/python; cat .venv/bin/python2")
    assert done.text.startswith("a library\n") and "SECRETVALUE" not in done.text


def test_the_profile_of_sandbox_exec_is_made_from_the_same_list(
    home: Path, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (home / ".pyenv").mkdir()
    monkeypatch.setattr(sys, "platform", "darwin")
    seen = build_view(root, home, {"PATH": "/usr/bin"})
    view = View(root=root, readable=seen.readable, fresh=seen.fresh, guarded=(root / 'od"d',), fixed=(root / "sub",))
    profile = view.profile(network=False)
    assert '(deny file-read* (subpath "/Users") ' in profile and f'(subpath "{home}")' in profile
    assert profile.index("(deny file-read*") < profile.index("(allow file-read*")
    assert f'(subpath "{home}/.pyenv")' in profile.partition("(allow file-read*")[2].partition("(deny")[0]
    assert f'(deny file-write* (subpath "{root}/od\\"d"))' in profile and profile.endswith("(deny network*)")
    assert f'(deny file-write-unlink (literal "{root}/sub"))' in profile
    assert profile.count("(") == profile.count(")") and not any(f"{kind} )" in profile for kind in ("*", "unlink"))
    assert f'(literal "{root.parent}")' in profile and "/private/var/run" in view.profile(network=True)


def test_what_cannot_be_confined_does_not_run(kind: str, root: Path, tmp_path: Path) -> None:
    from ctxtui.services.sandbox.confinement import Confinement

    gone = tmp_path / "gone"
    wrapped = Confinement(kind).wrap(["touch", "x"], View(root=gone))
    done = subprocess.run(wrapped, capture_output=True, text=True, check=False)
    assert done.returncode and not gone.exists() and not Path("x").exists()
