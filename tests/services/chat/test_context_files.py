"""Files and memory in a hosted chat: they stand in the requests that leave, count as what they are, and outlive it."""

from __future__ import annotations

import asyncio
import dataclasses
from collections import Counter
from pathlib import Path

import pytest
from msgspec.structs import replace

from ctxtui.agent import events as ev
from ctxtui.agent import progress as mo
from ctxtui.agent.tools.memory_tools import MemoryFolder, MemoryFull
from ctxtui.agent.tools.workspace import Workspace
from ctxtui.core.call import Call
from ctxtui.core.category import CATEGORIES
from ctxtui.core.errors import CtxtuiError
from ctxtui.core.session import MAIN
from ctxtui.core.tree import ROOT
from ctxtui.offline import offline
from ctxtui.services.chat.chat_model import ModelChoice
from ctxtui.services.chat.context_files import ContextFiles
from ctxtui.services.chat.host import Host
from ctxtui.services.config.config import Config
from ctxtui.services.config.paths import database
from ctxtui.store.sessions.in_flight import pending_events
from ctxtui.wire import registry
from ctxtui.wire.request import Request
from tests.cases.sessions import Story
from tests.cli.money.test_count import png
from tests.services.chatting import Chat, config


def desk(tmp_path: Path) -> Path:
    work = tmp_path / "work"
    (work / "notes").mkdir(parents=True)
    (work / "core.py").write_text("import store\n\ndef main() -> int:\n    return store.load()\n")
    (work / "store.py").write_text("def load() -> int:\n    return 1\n")
    (work / "shot.png").write_bytes(png(1000, 1000))
    (work / "CLAUDE.md").write_text("Be kind. See @notes/style.txt\n")
    (work / "notes" / "style.txt").write_text("Write short words.\n")
    (work / "AGENTS.md").write_text("Be kind. See @notes/style.txt\n")
    return work


def settings(tmp_path: Path, **given: object) -> Config:
    found = config(tmp_path)
    return replace(found, settings=dataclasses.replace(found.settings, **given))  # type: ignore[arg-type]


def categories(host: Host, head: int) -> Counter[str]:
    tree = host.session.tree
    return Counter(CATEGORIES[tree[n].category] for n in tree.path(head) if tree[n].block.kind != "header")


def spelled(host: Host, call: Call) -> bytes:
    assert call.skeleton is not None
    return registry.encode(Request(tuple(host.session.tree.items(call.sent_head)), call.skeleton))


@pytest.mark.parametrize("provider", ["anthropic", "openai", "openai-chat"])
async def test_files_images_and_memory_leave_with_the_request(tmp_path: Path, provider: str) -> None:
    work = desk(tmp_path)
    (work / "mem").mkdir()
    (work / "mem" / "todo.md").write_text("water the plants\n")
    with offline() as running:
        url = running.url if provider == "anthropic" else running.openai_url
        host = Host(ModelChoice(provider, "offline", url), settings(tmp_path, files="auto", memory="mem"), work)
        await asyncio.to_thread(host.open)
        made = Chat(host)
        await host.begin(made.heard, lambda call: None, lambda: None)
        await made.say("what does core.py do? see @shot.png.")
        (work / "mem" / "todo.md").write_text("buy bread\n")
        await made.say("and now?")
        assert await host.close()
        calls = host.session.thread_calls(MAIN)
        assert [seen.rule for seen in running.server.seen if seen.rule] == [], "nothing was refused"
        first, second = calls[0], calls[-1]
        told = categories(host, first.sent_head)
        assert told["image"] == 1 and told["document"] == 2, "core.py and store.py; style.txt is memory"
        assert told["memory"] == 3
        bodies = [spelled(host, call) for call in calls]
        posted = [s.body for s in running.server.seen if s.status == 200 and s.body and b"what does core" in s.body]
        assert bodies == posted
        assert b"water the plants" in bodies[0] and b"buy bread" in bodies[-1] and b"plants" not in bodies[-1]
        assert bodies[0].index(b"Be kind") < bodies[0].index(b"what does core")
        assert categories(host, second.sent_head)["document"] == 2, "files went in once"
        if provider == "anthropic":
            assert bodies[0].count(b'"cache_control"') == 3, "the chat's own, and two round memory"
        noted = [m.text for m in made.moments(mo.Notice) if m.kind == "files"]
        assert len(noted) == 1 and "1 named file" in noted[0] and "named 1 whole" in noted[0]


async def test_the_agent_keeps_memory_and_is_refused_what_does_not_fit(tmp_path: Path) -> None:
    work = desk(tmp_path)
    found = ContextFiles(settings(tmp_path, memory="mem", memory_tokens=100), work)
    tools = {tool.name: tool for tool in found.tools}
    assert set(tools) == {"memory_view", "memory_create", "memory_edit", "memory_delete"}
    where = Workspace(work)

    def use(name: str, **given: str) -> str:
        run = tools[f"memory_{name}"].run
        assert run is not None
        return run(where, given)

    assert "created a.md: " in use("create", path="a.md", content="start " + "one two three " * 10)
    assert use("view", path="a.md").startswith("start one")
    assert "replaced a.md" in use("edit", path="a.md", old="start", new="begin")
    with pytest.raises(MemoryFull) as caught:
        use("create", path="b.md", content="word " * 90)
    said = str(caught.value)
    assert "b.md would have" in said and "of 100" in said and "shorten it by" in said and "a.md (" in said
    assert not (work / "mem" / "b.md").exists()
    assert "of 100 tokens are used" in use("view")
    assert "deleted a.md" in use("delete", path="a.md") and list((work / "mem").iterdir()) == []
    for bad in ("../x.md", ".hidden"):
        with pytest.raises(Exception, match=r"outside|dot"):
            use("create", path=bad, content="x")


def test_only_what_has_to_do_with_the_message(tmp_path: Path) -> None:
    work = desk(tmp_path)
    files = ContextFiles(settings(tmp_path, memory="mem", memory_files="relevant", instructions=False), work)
    assert files.tools
    for name, text in (("garden.md", "roses and lilies"), ("kitchen.md", "bread and cheese"), ("misc.md", "nothing")):
        (work / "mem" / name).write_text(text)
    place = files.memory_for("water the roses and the lilies")
    assert place is not None and [text.splitlines()[0] for text in place.texts] == ['<memory path="garden.md">']
    place = files.memory_for("hello")
    assert place is not None and place.texts == ()
    assert place.first
    assert ContextFiles(settings(tmp_path, instructions=False), work).memory_for("x") is None


def test_instructions_above_the_chats_folder_are_compared_by_their_places(tmp_path: Path) -> None:
    work = desk(tmp_path)
    (tmp_path / ".git").mkdir()
    (tmp_path / "AGENTS.md").write_text("@top.md")
    (work / "AGENTS.md").write_text("@rules.md")
    for place in (tmp_path / "top.md", work / "rules.md", work / "top.md"):
        place.write_text(str(place))
    files = ContextFiles(settings(tmp_path, memory="mem"), work)
    paths = ["AGENTS.md", "rules.md", "top.md", "mem/a.md", "memory.md"]
    assert files.memory_paths(paths) == {"AGENTS.md", "rules.md", "mem/a.md"}
    above = ContextFiles(settings(tmp_path, memory=str(tmp_path)), work)
    assert above.memory_paths(["a.py"]) == set(), "a memory folder above the project"


def test_instructions_bring_no_keys_and_nothing_from_outside_of_the_repository(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    work = desk(tmp_path)
    (work / ".git").mkdir()
    for place in (tmp_path / "key.txt", work / ".env", work / "id_rsa", work / ".git" / "config"):
        place.write_text("a secret word\n")
    (work / "plain.md").symlink_to(".env")
    (work / "out.md").symlink_to("../key.txt")
    (work / "CLAUDE.local.md").symlink_to("../key.txt")
    names = ("~/key.txt", "../key.txt", f"{tmp_path}/key.txt", ".env", "id_rsa", ".git/config", "plain.md", "out.md")
    (work / "AGENTS.md").write_text(" ".join(f"@{name}" for name in (*names, "notes/../.env", "notes/style.txt")))
    place = ContextFiles(settings(tmp_path), work).memory_for("hello")
    assert place is not None and "Write short words." in "".join(place.texts)
    assert "secret" not in "".join(place.texts)


def test_a_folder_that_cannot_be_one_is_named(tmp_path: Path) -> None:
    work = desk(tmp_path)
    with pytest.raises(Exception, match="memory must be a folder"):
        ContextFiles(settings(tmp_path, memory="core.py"), work)


def test_a_memory_file_that_changed_meanwhile_is_not_overwritten(tmp_path: Path) -> None:
    kept = MemoryFolder(Workspace(tmp_path), 100, len)
    assert kept.write("a.md", "x" * 50)
    with pytest.raises(MemoryFull, match=r"101 of 100|memory 110 of 100"):
        kept.write("b.md", "x" * 60)


@pytest.mark.parametrize(("size", "why"), [(2, "a binary file of 2 bytes"), (10_000_001, "bytes are too many")])
def test_a_memory_file_that_is_no_text_is_named_with_the_way_out(tmp_path: Path, size: int, why: str) -> None:
    kept = MemoryFolder(Workspace(tmp_path), 100, len)
    (tmp_path / "a.md").write_text("known")
    (tmp_path / "photo.png").write_bytes(bytes(size))
    with pytest.raises(CtxtuiError, match=why) as caught:
        kept.texts()
    assert caught.value.place == str(tmp_path / "photo.png") and "out of the memory folder" in caught.value.way_out
    (tmp_path / "photo.png").unlink()
    assert [*kept.texts()] == ["a.md"]


@pytest.mark.parametrize("name", [".env", ".git/HEAD", "a/.b", "./.env", "plain", "../out.txt", "a/../.env"])
def test_what_is_not_named_as_memory_is_neither_read_nor_changed_nor_deleted(tmp_path: Path, name: str) -> None:
    root = tmp_path / "work"
    for file in (".env", ".git/HEAD", "a/.b", "../out.txt"):
        (root / file).parent.mkdir(parents=True, exist_ok=True)
        (root / file).write_text("of others")
    # A name that does not begin with a dot may still lead to one.
    (root / "plain").symlink_to(root / ".env")
    kept = MemoryFolder(Workspace(root), 100, len)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    for work in (
        lambda: kept.write(name, "x"),
        lambda: kept.view(name),
        lambda: kept.edit(name, "of", "x"),
        lambda: kept.delete(name),
    ):
        with pytest.raises(CtxtuiError):
            work()
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before
    assert kept.view().startswith("0 of 100")


async def test_a_message_is_on_record_while_its_files_are_read(tmp_path: Path) -> None:
    with offline() as running:
        host = Host(ModelChoice("anthropic", "offline", running.url), settings(tmp_path), desk(tmp_path))
        await asyncio.to_thread(host.open)
        made = Chat(host)
        await host.begin(made.heard, lambda call: None, lambda: None)
        host.feed(ev.UserSaid("look at @core.py"))
        assert not made.moments(mo.UserMessageAdded)
        assert host.writer is not None and host.writer.wait(5.0, host.writer.last_ticket)
        pending = pending_events(database(host.config.settings.data_dir), host.session.about.id)
        assert [event.data for event in pending if event.kind == "queue"] == ['["look at @core.py"]']
        await made.rest()
        assert host._queue == ()
        assert await host.close()


async def test_what_was_in_flight_comes_back_with_its_files(tmp_path: Path) -> None:
    work = desk(tmp_path)
    with offline() as running:
        wish = ModelChoice("anthropic", "offline", running.url)
        host = Host(wish, settings(tmp_path), work)
        await asyncio.to_thread(host.open)
        made = Chat(host)
        await host.begin(made.heard, lambda call: None, lambda: None)
        host.feed(ev.HoldNext())
        host.feed(ev.UserSaid("look at @core.py"))
        await made.until(lambda: bool(made.moments(mo.DraftHeld)))
        head = made.moments(mo.RequestDrafted)[-1].draft.raw_head
        before = [(item.block.digest, item.place) for item in host.session.tree.items(head)]
        id_ = host.session.about.id
        assert host.writer is not None
        host.writer.wait(5.0, host.writer.last_ticket)
        again = Host(replace(wish, session=id_), settings(tmp_path), work)
        await host.close()
        await asyncio.to_thread(again.open)
        other = Chat(again)
        await again.begin(other.heard, lambda call: None, lambda: None)
        assert again.runner is not None
        path = again.session.tree.items(again.runner.conversation.head)
        assert [(item.block.digest, item.place) for item in path] == before
        await again.close()


def test_tokens_in_use_are_those_of_the_context_that_is_continued(tmp_path: Path) -> None:
    files = ContextFiles(settings(tmp_path), desk(tmp_path))
    story = Story(hidden_tokens=10_000).user("first question").call("first answer " * 400)
    first = story.head
    story.user("second question " * 2_000).call("second answer")
    agent = Story("agent-1", story.session, hidden_tokens=70_000).user("look around").call("done")
    calls = story.session.calls

    def reported(id_: str) -> int:
        usage = calls[id_].usage
        assert usage is not None
        return usage.input + usage.output

    assert list(calls) == ["main-1", "main-2", "agent-1-1"]
    assert files.used_tokens(story.session, story.head) == reported("main-2"), "not the sub-agent's"
    assert files.used_tokens(story.session, first) == reported("main-1"), "after going back"
    assert files.used_tokens(story.session, agent.head) == reported("agent-1-1")
    story.head = first
    story.user("another " * 100)
    added = files.used_tokens(story.session, story.head) - reported("main-1")
    assert 100 <= added < 200, "blocks after the last report are counted"


def test_without_a_report_the_context_is_counted(tmp_path: Path) -> None:
    files = ContextFiles(settings(tmp_path), desk(tmp_path))
    story = Story().user("word " * 100).call("word " * 100, usage=False)
    assert 200 <= files.used_tokens(story.session, story.head) < 300
    assert files.used_tokens(story.session, ROOT) == 0
