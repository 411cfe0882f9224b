"""Third parties' parts: found in the user's folder and in packages, and no harm done by broken ones."""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import cast

import pytest

from ctxtui.cli.run import run
from ctxtui.core.errors import CtxtuiError, Unreadable
from ctxtui.curation.policies.policy import Step
from ctxtui.curation.policies.policy import run as propose
from ctxtui.curation.policies.policy_context import PolicyContext
from ctxtui.curation.policies.profile import parse_profile
from ctxtui.curation.policies.registry import POLICIES as OURS
from ctxtui.services.config import format_registry, plugins
from ctxtui.services.config.plugins import LABELS, POLICIES, READERS, TOOLS
from ctxtui.services.config.policy_registry import load_policies, load_profile
from ctxtui.services.recordings.open import load
from tests.cases.long_runs import long_run
from tests.curation.conversations import context_of
from tests.curation.policies.test_search import policy_context_of

READER = """
from ctxtui.core import block
from ctxtui.core.block import Place
from ctxtui.core.session import MAIN, Described, ThreadSeen, TipMoved

NAME = "diary"
BARE = "an empty diary"

def sniff(head, name):
    if b"trap" in head[:20]:
        raise RuntimeError("no idea")
    return 0.9 if head.startswith(b"diary:") else 0.0

class reader:
    tail = None

    def __init__(self, tree):
        self.tree, self.head = tree, 0

    def feed(self, data):
        if b"boom" in data:
            raise KeyError("boom")
        if b"odd" in data:
            return ["odd"]
        for line in data.decode().splitlines()[1:]:
            self.head = self.tree.child(self.head, block.text(line), Place("messages", "user"))
        return [Described(source=NAME), ThreadSeen(MAIN), TipMoved(MAIN, self.head)]

    def settle(self):
        return []

    def part(self, name):
        return self
"""

Put = Callable[[str, str, str], Path]


@pytest.fixture
def put(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Put]:
    monkeypatch.setenv("CTXTUI_HOME", str(tmp_path))
    monkeypatch.setattr(plugins, "_reported", {})
    plugins._load_group.cache_clear()

    def write(group: str, name: str, text: str) -> Path:
        (tmp_path / group).mkdir(exist_ok=True)
        (tmp_path / group / name).write_text(text)
        return tmp_path / group / name

    yield write
    plugins._load_group.cache_clear()


def test_a_file_in_the_readers_folder_reads_its_format(put: Put, tmp_path: Path) -> None:
    put(READERS, "diary.py", READER)
    (tmp_path / "d.txt").write_text("diary:\ndear me\nit rained\n")
    loaded = load(tmp_path / "d.txt")
    assert loaded.source == "diary"
    assert [node.block.value()["text"] for node in loaded.session.tree.nodes(1)] == ["dear me", "it rained"]


def test_a_sure_format_of_ours_asks_no_plugin(put: Put, tmp_path: Path) -> None:
    put(READERS, "loud.py", "raise RuntimeError('loaded')")
    (tmp_path / "s.jsonl").write_text('{"ctxtui":1,"minor":0}\n{"thread":"main"}\n')
    assert format_registry.detect((tmp_path / "s.jsonl").read_bytes(), "s.jsonl")
    assert format_registry.find_format("codex")
    assert plugins.troubles() == []


def test_passes_of_other_models_in_its_answers_are_calls(put: Put, tmp_path: Path) -> None:
    iterations = [{"type": "advisor_message", "model": "claude-opus-5", "input_tokens": 9, "output_tokens": 1}]
    iterations += [{"type": "message", "input_tokens": 5, "output_tokens": 1}]
    call = f"Call('c1', MAIN, model='claude-haiku-4-5', extra={{'iterations': {iterations!r}}})"
    events = f"[ThreadSeen(MAIN), CallSeen({call})]"
    text = READER.replace("return []", f"from ctxtui.core.call import Call; return {events}")
    put(READERS, "diary.py", text.replace("Described,", "CallSeen, Described,", 1))
    (tmp_path / "d.txt").write_text("diary:\ndear me\n")
    models = [call.model for call in load(tmp_path / "d.txt").session.calls.values()]
    assert models == ["claude-haiku-4-5", "claude-opus-5"]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("import nothing_of_this_name", "line 1: ModuleNotFoundError: No module named 'nothing_of_this_name'"),
        ("x = 1\ny = = 2\n", "line 2: SyntaxError: invalid syntax"),
        ("import sys\nsys.exit(3)", "line 2: SystemExit: 3"),
        ("def sniff(head, name): return 1.0", "a reader needs the functions sniff and reader; there is no reader"),
    ],
)
def test_a_broken_reader_is_named_and_the_others_go_on(put: Put, tmp_path: Path, text: str, why: str) -> None:
    put(READERS, "diary.py", READER)
    bad = put(READERS, "bad.py", text)
    (tmp_path / "d.txt").write_text("diary:\ndear me\n")
    assert load(tmp_path / "d.txt").source == "diary"
    assert plugins.troubles() == [(str(bad), why)]


def test_a_sniff_that_fails_fits_nothing(put: Put) -> None:
    place = put(READERS, "diary.py", READER)
    assert format_registry.detect(b"a trap", "x") is None
    assert plugins.troubles() == [(str(place), "line 11: RuntimeError: no idea")]


@pytest.mark.parametrize(
    ("text", "why"), [("boom", "line 22: KeyError: 'boom'"), ("odd", "it gave a str, which is not an event")]
)
def test_a_reader_that_fails_is_an_unreadable_file(put: Put, tmp_path: Path, text: str, why: str) -> None:
    place = put(READERS, "diary.py", READER)
    (tmp_path / "d.txt").write_text(f"diary:\n{text}\n")
    with pytest.raises(Unreadable) as caught:
        load(tmp_path / "d.txt")
    assert (caught.value.message, caught.value.place) == (f"the reader diary failed: {why}", str(place))


def test_entry_points_come_after_the_users_files(put: Put, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "site"
    (package / "notes-1.0.dist-info").mkdir(parents=True)
    (package / "notes_reader.py").write_text("RULES = {}\n")
    (package / "notes-1.0.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: notes\nVersion: 1.0\n")
    (package / "notes-1.0.dist-info" / "entry_points.txt").write_text(
        "[ctxtui.labels]\nnotes = notes_reader:RULES\ngone = notes_reader:MISSING\n"
    )
    monkeypatch.syspath_prepend(str(package))
    put(LABELS, "mine.py", "RULES = {}")
    found = plugins.plugins(LABELS)
    assert [(one.name, bool(one.trouble)) for one in found] == [("mine", False), ("gone", True), ("notes", False)]
    assert found[1].place == "notes (notes_reader:MISSING)"
    assert found[2].value == {}


POLICY = """
from ctxtui.api import Policy

def propose(policy_context, settings):
    if settings["fail"]:
        raise ValueError("no mood")
    return ["odd"] if settings["odd"] else []

POLICY = Policy("mine", "Does nothing.", propose, {"fail": False, "odd": False}, {"fail": "", "odd": ""})
"""


def test_a_policy_of_a_third_party_stands_beside_ours(put: Put) -> None:
    put(POLICIES, "mine.py", POLICY)
    bad = put(POLICIES, "not_one.py", "POLICY = 3")
    again = put(POLICIES, "ours.py", POLICY.replace('"mine"', '"strip_images"'))
    known = load_policies()
    assert list(known) == [*OURS, "mine"]
    assert dict(plugins.troubles()) == {
        str(bad): "a policy is a `Policy` called POLICY",
        str(again): "there is a policy strip_images already",
    }
    assert parse_profile('[[policy]]\nuse = "mine"\n', policies=known).steps[0].policy.name == "mine"


def test_the_profile_of_the_settings_may_name_a_third_partys_policy(put: Put, tmp_path: Path) -> None:
    put(POLICIES, "mine.py", POLICY)
    (tmp_path / "lean.toml").write_text('[[policy]]\nuse = "mine"\n')
    profile = load_profile("lean.toml", tmp_path)
    assert profile is not None and [step.policy.name for step in profile.steps] == ["mine"]


OUTSIDE = """
from ctxtui.core.edit_kinds import EXTERNALIZE
from ctxtui.curation.policies.policy import Policy
from ctxtui.curation.policies.MODULE import NAME as edit

def propose(policy_context, settings):
    yield edit(policy_context, "mine", EXTERNALIZE, [1], {"name": "all"})

POLICY = Policy("mine", "Puts the first message outside.", propose)
"""


@pytest.mark.parametrize(("module", "name"), [("policy_context", "make_edit"), ("situation", "edit")])
def test_the_budget_searches_a_third_partys_policy_too(put: Put, module: str, name: str) -> None:
    body = long_run(1, turns=1, rounds=1)
    body["messages"][0]["content"] = [{"type": "text", "text": "x" * 8_000}]
    del body["tools"]
    policy_context = policy_context_of(context_of(body, "anthropic")[0])
    wish = {"target": policy_context.total - 1_500}
    assert "all" not in [one.params.get("name") for one in propose(Step(OURS["budget"], wish), policy_context)]
    put(POLICIES, "mine.py", OUTSIDE.replace("MODULE", module).replace("NAME", name))
    # The package keeps a module that it has imported, so that only the first import would warn.
    sys.modules.pop("ctxtui.curation.policies.situation", None)
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always", DeprecationWarning)
        policies = load_policies()
    assert ["`ctxtui.curation.policies.situation` is now `ctxtui.api`" in str(one.message) for one in warned] == [
        True
    ] * (module == "situation")
    assert all("`edit` is `make_edit`" in str(one.message) for one in warned)
    made = propose(Step(policies["budget"], wish), policy_context)
    assert [(one.author, one.params.get("name")) for one in made] == [("budget", "all")]


@pytest.mark.parametrize(
    ("setting", "why"),
    [
        ("fail", "the policy mine failed: line 6: ValueError: no mood"),
        ("odd", "the policy mine gave a str, which is no"),
    ],
)
def test_a_policy_that_fails_is_named(put: Put, setting: str, why: str) -> None:
    place = put(POLICIES, "mine.py", POLICY)
    policy = load_policies()["mine"]
    with pytest.raises(CtxtuiError, match=why) as caught:
        policy.propose(cast(PolicyContext, None), {"fail": setting == "fail", "odd": setting == "odd"})
    assert caught.value.place == str(place)


def test_nothing_of_a_project_is_run(put: Put, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project = tmp_path / "project"
    for folder in (project / "readers", project / ".config" / "ctxtui" / "readers"):
        folder.mkdir(parents=True)
        (folder / "evil.py").write_text("raise SystemExit(9)")
    monkeypatch.chdir(project)
    assert plugins.plugins(READERS) == ()


def test_two_files_of_one_name_are_two_modules(tmp_path: Path) -> None:
    parts = []
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "tools.py").write_text(f"TOOLS = ['{folder}']\n")
        parts.append(plugins.from_file(TOOLS, tmp_path / folder / "tools.py").value)
    assert [sys.modules[part.__name__].TOOLS for part in parts] == [["one"], ["two"]]


def test_a_module_that_fails_is_not_kept(tmp_path: Path) -> None:
    before = set(sys.modules)
    (tmp_path / "half.py").write_text("TOOLS = []\n1 / 0\n")
    assert plugins.from_file(TOOLS, tmp_path / "half.py").trouble == "line 2: ZeroDivisionError: division by zero"
    assert set(sys.modules) == before


def test_a_syntax_error_without_a_line(tmp_path: Path) -> None:
    place = str(tmp_path / "tools.py")
    assert plugins.error_text(SyntaxError("no end", (place, None, None, None)), place) == "SyntaxError: no end"


def test_doctor_lists_them_and_a_command_names_the_broken_ones(
    put: Put, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    put(READERS, "diary.py", READER)
    bad = put(READERS, "bad.py", "1 / 0")
    run(["doctor", "--json"])
    checks = {(one["name"], one["state"]): one for one in json.loads(capsys.readouterr().out)["checks"]}
    assert checks["plug-ins: readers", "ok"]["text"] == f"diary from {tmp_path / 'readers' / 'diary.py'}"
    assert "ZeroDivisionError" in checks["plug-ins: readers", "warning"]["text"]
    (tmp_path / "d.txt").write_text("diary:\ndear me\n")
    assert run(["show", str(tmp_path / "d.txt"), "--json"]) == 0
    told = capsys.readouterr()
    assert json.loads(told.out)["session"]["source"] == "diary"
    assert f"ctxtui: {bad}: line 1: ZeroDivisionError: division by zero; it is ignored" in told.err
