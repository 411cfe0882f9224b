"""MCP servers over real stdio and HTTP: what they offer, what calls bring, what happens when they die, hang or lie."""

from __future__ import annotations

import asyncio
import base64
import codecs
import re
import socket
import sys
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from msgspec.structs import replace

from ctxtui.agent.events import ToolCall
from ctxtui.core.errors import BadConfig, NotFound
from ctxtui.services.config.config import load
from ctxtui.services.config.mcp_servers import McpServer, load_servers, parse_server
from ctxtui.services.mcp import connection, server_pool
from ctxtui.services.mcp.connection import ServerConnection, ServerFailed, ServerState
from ctxtui.services.mcp.offered import make_tool_name
from ctxtui.services.mcp.server_pool import ServerPermissions, ServerPool
from ctxtui.wire.speech import ResultImage
from tests.services.mcp.small_server import app, png
from tests.warm import warm_python

SMALL = Path(__file__).with_name("small_server.py")


def small(**more: object) -> McpServer:
    python, *words = warm_python()
    given = {"command": python, "args": [*words, str(SMALL)], "timeout": 2, **more}
    return parse_server("small", given)


def pool_of(tmp_path: Path, *known: McpServer) -> ServerPool:
    return ServerPool(known, ServerPermissions(tmp_path / "data"), tmp_path / "logs")


def call(tool: str, **given: object) -> ToolCall:
    return ToolCall("c", f"mcp__small__{tool}", given)


async def test_a_server_over_stdio_works_hangs_is_cancelled_dies_and_comes_back(tmp_path: Path) -> None:
    broken = parse_server("broken", {"command": sys.executable, "args": ["-c", "import sys; sys.exit('no key')"]})
    pool = pool_of(tmp_path, small(allow=["ha*"]), broken, parse_server("none", {"command": "no-such-command"}))
    await pool.start()
    assert pool.offered == {"small"} and [one.error for one in pool.failed] == [
        "Connection closed: no key", "no-such-command does not exist",
    ]  # fmt: skip
    # What the user allows runs without asking; that a tool only reads is its server's word (`add` says so).
    assert [pool.needs_permission(f"mcp__small__{name}") for name in ("add", "die", "hang")] == [True, True, False]
    done = await pool.run(call("add", a=1, b=2))
    assert (done.text, done.is_error) == ("3", False)
    done = await pool.run(call("add", a="x"))
    assert done.is_error and "valid integer" in done.text
    connection = pool.connection("small")
    assert await connection.read_resource("note://today") == "buy milk"
    assert await connection.read_prompt("review", {"path": "x.py"}) == "Review x.py."
    with pytest.raises(ServerFailed, match="Unknown resource"):
        await connection.read_resource("note://gone")

    hanging = asyncio.create_task(pool.run(call("hang", seconds=60)))
    await asyncio.sleep(0.1)
    hanging.cancel()
    with pytest.raises(asyncio.CancelledError):
        await hanging
    assert (await pool.run(call("hang", seconds=60))).text == "the MCP server small did not answer in 2 seconds"
    async with asyncio.timeout(5):  # the server is told both times
        while connection.log_text().count("cancelled") < 2:
            await asyncio.sleep(0.01)

    done = await pool.run(call("die"))
    assert done.is_error and done.text == "the MCP server small ended: dying"
    assert connection.state == ServerState.FAILED
    assert (await pool.run(call("add", a=2, b=2))).text == "4", "it is started again"
    await pool.close()
    assert connection.state == ServerState.STOPPED and list((tmp_path / "logs").iterdir()) == []


SLOW = """
import sys, time
for n in range({words}):
    print("loading part", n, file=sys.stderr, flush=True)
    time.sleep(0.25)
time.sleep({silent})
exec(open({server!r}).read())
"""


def slow(words: int, silent: float) -> McpServer:
    python, *more = warm_python()
    code = SLOW.format(words=words, silent=silent, server=str(SMALL))
    return parse_server("small", {"command": python, "args": [*more, "-c", code], "timeout": 0.1})


async def test_a_server_is_waited_for_as_long_as_it_says_something(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "START_TIMEOUT", 4.0)  # its start alone takes over a second on a busy machine
    monkeypatch.setattr(connection, "_CHECK_SECONDS", 0.05)
    monkeypatch.setattr(server_pool, "REPORT_PERIOD", 0.1)
    pool = pool_of(tmp_path, slow(words=18, silent=0))
    told: list[str] = []
    reporting = asyncio.create_task(pool.report_starting(told.append))
    await pool.start()
    reporting.cancel()
    assert pool.offered == {"small"} and not pool.starting and pool.connection("small").progress == ""
    assert any("waiting for the MCP server small: its answer to `initialize`, " in text for text in told)
    assert any(text.endswith(": loading part 9") for text in told)
    await pool.close()


@pytest.mark.parametrize(("words", "most"), [(1, 600.0), (100, 2.0)])
async def test_a_server_that_says_nothing_or_never_ends_is_given_up(
    words: int, most: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "START_TIMEOUT", 1.0)
    monkeypatch.setattr(connection, "MAX_START", most)
    monkeypatch.setattr(connection, "_CHECK_SECONDS", 0.05)
    pool = pool_of(tmp_path, slow(words, silent=60))
    async with asyncio.timeout(20):
        await pool.start()
    (one,) = pool.failed
    assert one.error.startswith("its answer to `initialize` did not come in ") and "loading part" in one.error
    await pool.close()


async def test_images_are_passed_on_to_a_model_that_sees(tmp_path: Path) -> None:
    pool = pool_of(tmp_path, small())
    await pool.start()
    done = await pool.run(call("picture"))
    assert done.images == (ResultImage("image/png", base64.b64encode(png(3)).decode()),)
    assert done.text.splitlines() == [
        "a picture:",
        f"[image 1: image/png, 3 x 2, {len(png(3))} bytes]",
        "and no picture:",
        "[image, 4 bytes, not passed on to the model: not an image format that models read]",
    ]
    wide = await pool.run(call("picture", wide=8001))
    assert not wide.images and "8001 x 2 pixels: at most 8,000 are taken" in wide.text
    pool.sees = False
    blind = await pool.run(call("picture"))
    assert not blind.images and "the setting mcp_images is off, or auto with a local model" in blind.text
    await pool.close()


async def test_only_the_servers_that_are_wanted_start(tmp_path: Path) -> None:
    known = [small(), replace(small(enabled=False), name="other"), parse_server("third", {"command": "no-such"})]
    leave, logs = ServerPermissions(tmp_path / "data"), tmp_path / "logs"
    pool = ServerPool(known, leave, logs, requested="oth*")
    await pool.start()
    assert pool.offered == {"other"} and not pool.failed, "also one that does not start by itself"
    await pool.close()
    with pytest.raises(NotFound, match="no MCP server 'nobody'"):
        ServerPool(known, leave, logs, requested="other nobody")


async def test_a_server_over_http(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def cannot() -> list[object]:
        raise RuntimeError("the list is lost")

    monkeypatch.setattr(app, "list_prompts", cannot)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = uvicorn.Server(uvicorn.Config(app.streamable_http_app(), port=port, log_level="critical"))
    serving = asyncio.create_task(server.serve())
    while not server.started:
        await asyncio.sleep(0.01)
    there = parse_server("small", {"type": "http", "url": f"http://127.0.0.1:{port}/mcp", "headers": {"x-a": "b"}})
    gone = parse_server("gone", {"url": "http://127.0.0.1:9/mcp"})
    pool = pool_of(tmp_path, there, gone)
    await pool.start()
    assert pool.offered == {"small"} and pool.failed[0].error
    assert (await pool.run(call("add", a=1, b=2))).text == "3"
    connection = pool.connection("small")
    assert not connection.prompts and [one.name for one in connection.resources] == ["note://today"]
    assert "ctxtui: its prompts cannot be listed: " in connection.log_text()
    await pool.close()
    server.should_exit = True
    await serving


@asynccontextmanager
async def served(asgi: Any) -> AsyncIterator[str]:
    """The address of an app that is served on loopback."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    # What streams is not waited for at the end.
    how = uvicorn.Config(asgi, port=port, log_level="critical", timeout_graceful_shutdown=1)
    server = uvicorn.Server(how)
    serving = asyncio.create_task(server.serve())
    while not server.started:
        await asyncio.sleep(0.01)
    yield f"http://127.0.0.1:{port}"
    server.should_exit = True
    await serving


async def test_a_server_over_sse(tmp_path: Path) -> None:
    async with served(app.sse_app()) as url:
        there = parse_server("small", {"type": "sse", "url": f"{url}/sse"})
        assert there.digest != replace(there, sse=False).digest
        pool = pool_of(tmp_path, there)
        await pool.start()
        assert pool.offered == {"small"}, pool.connection("small").error
        assert (await pool.run(call("add", a=1, b=2))).text == "3"
        await pool.close()


@pytest.mark.parametrize("kind", ["http", "sse"])
async def test_a_proxy_of_the_environment_is_not_asked_on_this_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    async with served(app.sse_app() if kind == "sse" else app.streamable_http_app()) as url:
        pool = pool_of(
            tmp_path, parse_server("small", {"type": kind, "url": f"{url}/{'sse' if kind == 'sse' else 'mcp'}"})
        )
        await pool.start()
        assert pool.offered == {"small"}, pool.connection("small").error
        await pool.close()


@pytest.mark.parametrize("kind", ["http", "sse"])
async def test_a_server_cannot_send_what_it_is_told_elsewhere(tmp_path: Path, kind: str) -> None:
    asked: list[str] = []

    def to(place: str) -> Any:
        async def moved(scope: Any, receive: Any, send: Any) -> None:
            asked.append(scope["path"])
            await send({"type": "http.response.start", "status": 307, "headers": [(b"location", place.encode())]})
            await send({"type": "http.response.body", "body": b""})

        return moved

    async with served(to("/")) as other, served(to(f"{other}/other")) as url:
        pool = pool_of(tmp_path, parse_server("small", {"type": kind, "url": f"{url}/mcp"}))
        await pool.start()
        assert pool.failed and asked and set(asked) == {"/mcp"}
        await pool.close()


@pytest.mark.parametrize("kind", ["http", "sse"])
async def test_headers_go_over_plain_http_only_where_the_user_says_so(tmp_path: Path, kind: str) -> None:
    # No such machine (RFC 6761): what may be sent there fails otherwise.
    there = parse_server(
        "small", {"type": kind, "url": "http://x.invalid/mcp", "headers": {"Authorization": "Bearer k"}}
    )
    leave, logs = ServerPermissions(tmp_path / "data"), tmp_path / "logs"
    for allowed in (False, True):
        pool = ServerPool([there], leave, logs, key_over_http=allowed)
        await pool.start()
        assert ("key_over_http = true" in pool.failed[0].error) is not allowed
        await pool.close()


@pytest.mark.parametrize("kind", ["http", "sse"])
async def test_a_server_that_wants_a_sign_in_says_what_to_do(tmp_path: Path, kind: str) -> None:
    async def closed(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 401, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    async with served(closed) as url:
        pool = pool_of(tmp_path, parse_server("small", {"type": kind, "url": f"{url}/mcp?api_key=k123"}))
        await pool.start()
        (one,) = pool.failed
        assert "it requires sign-in (401); OAuth is not supported" in one.error and "mcp-remote" in one.error
        assert f"{url}/mcp?api_key=<masked>" in one.error and "k123" not in one.error
        await pool.close()


def test_a_project_starts_nothing_before_it_was_asked(tmp_path: Path) -> None:
    (tmp_path / ".mcp.json").write_text(
        '{"mcpServers": {"theirs": {"command": "run", "args": ["it"], "timeout": 5000}, "mine": {"command": "evil"}}}'
    )
    (tmp_path / "ctxtui.toml").write_text('[mcp.toml]\ncommand = "other"\nallow = ["*"]\n')
    user = tmp_path / "user.toml"
    user.write_text('[mcp.mine]\ncommand = "good"\n')
    found = {one.name: one for one in load_servers(load(cwd=tmp_path, user=user, env={}), tmp_path)}
    assert found["mine"].command == "good" and not found["mine"].project
    assert found["theirs"].timeout == 5 and found["toml"].allow == ()
    leave = ServerPermissions(tmp_path / "data")
    assert (
        leave.is_allowed(found["mine"])
        and not leave.is_allowed(found["theirs"])
        and not leave.is_allowed(found["toml"])
    )
    leave.allow(found["theirs"])
    assert ServerPermissions(tmp_path / "data").is_allowed(found["theirs"])
    leave.allow(replace(found["theirs"], env={"KEY": "ghp_1"}, headers={"Authorization": "ghp_1"}))
    assert not any(b"ghp_1" in path.read_bytes() for path in (tmp_path / "data").iterdir())
    for other in ({"args": ("that",)}, {"env": {"A": "b"}}, {"project": "/elsewhere"}, {"url": "http://x"}):
        assert not leave.is_allowed(replace(found["theirs"], **other)), other


def test_what_is_spelled_wrongly_is_named() -> None:
    for table, why in (
        ({}, "it needs either a command or a url"),
        ({"command": "a", "url": "b"}, "it needs either a command or a url"),
        ({"type": "ws", "url": "b"}, "type ws is not supported"),
        ({"type": "odd", "command": "b"}, "type odd is not supported"),
        ({"type": "sse", "command": "b"}, "type sse needs a url"),
        ({"type": "stdio", "url": "b"}, "type stdio needs a command"),
        ({"command": "a", "args": "b"}, "args must be a list of texts"),
        *(({"command": "a", "timeout": n}, "timeout must be more than 0") for n in (0, True, 10**400, 1e400)),
        ({"command": "a", "arg": []}, "no such key: arg"),
    ):
        with pytest.raises(BadConfig, match=why):
            parse_server("x", table, "file:1")
    server = parse_server("x", {"command": "${CMD:-ls}", "args": ["${A}"]})
    assert server.expand_variables({"A": "1"}).args == ("1",) and server.expand_variables({"A": "1"}).command == "ls"
    with pytest.raises(BadConfig, match="A, which the MCP server x asks for, is not set"):
        server.expand_variables({})


def test_no_two_tools_are_offered_under_one_name() -> None:
    tools = [
        ("a b", "x"), ("a_b", "x"), ("a.b", "x"), ("s", "x.y"), ("s", "x_y"), ("s", "x y"), ("a", "b__c"),
        ("a__b", "c"), ("a_", "b"), ("a", "_b"), ("server", "t" * 90), ("server", "t" * 91),
    ]  # fmt: skip
    names = [make_tool_name(server, tool) for server, tool in tools]
    assert len(set(names)) == len(names)
    assert all(re.fullmatch("[a-zA-Z0-9_-]{1,64}", name) for name in names)
    assert make_tool_name("my-server", "read_file") == "mcp__my-server__read_file"
    assert names[0].startswith("mcp__a_b__x_") and names[1] == "mcp__a_b__x"


@pytest.mark.parametrize(
    ("timeout", "seconds"), [("30000", 30.0), ("500.0", 0.5), ("true", None), ("1" + "0" * 400, None), ("1e400", None)]
)
def test_a_project_s_timeout_is_in_milliseconds(tmp_path: Path, timeout: str, seconds: float | None) -> None:
    (tmp_path / ".mcp.json").write_text(f'{{"mcpServers": {{"x": {{"command": "a", "timeout": {timeout}}}}}}}')
    if seconds is None:
        with pytest.raises(BadConfig, match="timeout must be"):
            load_servers(load(env={}, user=tmp_path / "none"), tmp_path)
    else:
        assert [server.timeout for server in load_servers(load(env={}, user=tmp_path / "none"), tmp_path)] == [seconds]


def test_a_project_s_file_that_is_too_deep_is_damaged(tmp_path: Path) -> None:
    (tmp_path / ".mcp.json").write_text("[" * 100_000)
    with pytest.raises(BadConfig, match="not valid JSON"):
        load_servers(load(env={}, user=tmp_path / "none"), tmp_path)


async def test_a_server_without_tools_and_with_pages(tmp_path: Path) -> None:
    python, *words = warm_python()
    script = str(Path(__file__).with_name("prompts_server.py"))
    server = ServerConnection(parse_server("x", {"command": python, "args": [*words, script]}), tmp_path / "log")
    await server.start()
    assert (server.error, server.tools, [prompt.name for prompt in server.prompts]) == ("", (), ["hello"])
    assert [resource.name for resource in server.resources] == ["file:///first", "file:///second"]
    assert await server.read_prompt("hello", {}) == "Do this:\n\nbuy milk"
    await server.stop()


async def test_a_folder_that_is_missing_is_named(tmp_path: Path) -> None:
    gone = str(tmp_path / "gone")
    server = ServerConnection(parse_server("x", {"command": sys.executable, "cwd": gone}), tmp_path / "log")
    await server.start()
    assert server.error == f"{gone} does not exist"
    await server.stop()


async def test_a_start_has_a_limit_whatever_the_timeout_of_a_call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "MAX_START", 0.5)
    silent = parse_server("x", {"command": "sleep", "args": ["60"], "timeout": 900})
    server = ServerConnection(silent, tmp_path / "log")
    async with asyncio.timeout(20):
        await server.start()
    assert "did not come in" in server.error
    await server.stop()


def test_leave_that_is_given_at_once_is_all_kept(tmp_path: Path) -> None:
    """Two `ctxtui mcp allow` side by side: neither loses what the other one wrote."""
    wanted = [McpServer(name=f"s{n}", command="true", project=str(tmp_path), place="ctxtui.toml") for n in range(64)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda one: ServerPermissions(tmp_path / "data").allow(one), wanted))
    assert [one.name for one in wanted if not ServerPermissions(tmp_path / "data").is_allowed(one)] == []


def test_a_line_that_has_no_end_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "MAX_MCP_MESSAGE_BYTES", 1000)
    decoder = codecs.getincrementaldecoder(connection._BOUNDED)()
    said = ["{}\n", "ü" * 400 + "\n", "ü" * 2000, "ü\nafter\nnext", " one\n"]
    raw = "".join(said).encode()
    got = "".join(decoder.decode(raw[n : n + 7]) for n in range(0, len(raw), 7))
    whole, cut, *rest = got.split("\n")[0], got.split("\n")[2], *got.split("\n")[-3:]
    assert whole == "{}" and set(cut) == {"ü"} and len(cut.encode()) <= 1000
    assert rest == ["after", "next one", ""]


async def test_a_server_that_says_too_much(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "MAX_MCP_MESSAGE_BYTES", 20_000)
    pool = pool_of(tmp_path, small(allow=["*"]))
    await pool.start()
    done = await pool.run(call("flood", size=1_000_000))
    assert done.is_error and "did not answer" in done.text
    assert (await pool.run(call("add", a=1, b=2))).text == "3"
    await pool.close()
