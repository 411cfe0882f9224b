"""Which files of a project go into a context."""

from __future__ import annotations

from ctxtui.project.budget import ContextBudget, warnings
from ctxtui.project.file_kinds import kind_of
from ctxtui.project.imports import Paths, find_importers, find_imports
from ctxtui.project.named import find_named
from ctxtui.project.selection import (
    BY_TASK,
    DOCUMENTATION,
    EVERYTHING,
    NAMED,
    RELATED,
    REST,
    SHORTENED,
    SIGNATURES,
    TESTS,
    WHOLE,
    ProjectFile,
    Selection,
    Thresholds,
    select,
)

BODY = "\n".join(f"    x{n} = work({n})" for n in range(60))
TEXTS = {
    "app/core.py": f"from app import store\n\nclass Engine:\n  def run(self) -> int:\n{BODY}\n",
    "app/store.py": f"def load(path: str) -> bytes:\n{BODY}\n",
    "app/other.py": f"def unrelated() -> None:\n{BODY}\n",
    "app/user.py": f"from app.core import Engine\n\ndef use(e: Engine) -> None:\n{BODY}\n",
    "tests/test_core.py": f"from app.core import Engine\n\ndef test_run() -> None:\n{BODY}\n",
    "README.md": "# App\nwords\n",
    "docs/far.md": "# Far\nnothing of it\n",
    ".env": "KEY=secret",
    "package-lock.json": '{"lockfileVersion": 3}',
}
BUDGET = 3_000


def measure(text: str) -> int:
    return -(-len(text) // 4)


def project(texts: dict[str, str] = TEXTS) -> list[ProjectFile]:
    return [ProjectFile(path, text, kind_of(path, len(text)), measure(text)) for path, text in texts.items()]


def chosen(budget: int, task: str, limits: Thresholds) -> Selection:
    found = select(project(), task, budget, limits, measure)
    assert found.tokens <= budget
    assert sum(measure(one.text) for one in found.chosen) <= budget, "signatures count against the budget"
    return found


def test_a_small_project_goes_in_whole_but_for_what_is_private_or_made() -> None:
    found = chosen(100_000, "", Thresholds())
    assert found.strategy == EVERYTHING and found.left_out == ()
    paths = {one.path for one in found.chosen}
    assert paths == set(TEXTS) - {".env", "package-lock.json"}
    assert {one.form for one in found.chosen} == {WHOLE}


def test_the_thresholds_never_exceed_what_is_available() -> None:
    total = chosen(100_000, "", Thresholds()).total
    found = chosen(total // 2, "app/core.py", Thresholds(small=10**6, medium=10**6, whole=10**6))
    assert found.strategy == BY_TASK and "do not fit" in found.reason


def test_a_medium_project_has_its_large_files_as_signatures_but_not_what_is_named() -> None:
    found = chosen(BUDGET, "look at store.py", Thresholds(small=0, medium=50_000, whole=100))
    assert found.strategy == SHORTENED
    forms = {one.path: one.form for one in found.chosen}
    assert forms["app/store.py"] == WHOLE and forms["app/core.py"] == SIGNATURES and forms["README.md"] == WHOLE
    assert "def run(self) -> int: …" in next(one.text for one in found.chosen if one.path == "app/core.py")


def test_a_large_project_by_priority() -> None:
    found = chosen(1_500, "speed up Engine", Thresholds(small=0, medium=0, whole=2_000))
    assert found.strategy == BY_TASK
    why = {one.path: (one.why, one.form) for one in found.chosen}
    assert why["app/core.py"] == (NAMED, WHOLE)
    assert why["app/store.py"] == (RELATED, WHOLE)
    assert why["app/user.py"][0] == RELATED and why["tests/test_core.py"][0] == TESTS
    assert why["README.md"] == (DOCUMENTATION, WHOLE)
    assert why["app/other.py"] == (REST, SIGNATURES) and "docs/far.md" in why
    order = [one.why for one in found.chosen]
    assert order == sorted(order, key=[NAMED, RELATED, TESTS, DOCUMENTATION, REST].index)


def test_a_readme_counts_if_it_is_in_a_folder_above_a_named_file() -> None:
    files = project(dict.fromkeys(("app/api/core.py", "app/README.md", "pp/README.md"), "a b\n"))
    found = select(files, "core.py", 1_000, Thresholds(small=0, medium=0), measure)
    assert {one.path: one.why for one in found.chosen if one.path != "app/api/core.py"} == {
        "app/README.md": DOCUMENTATION,
        "pp/README.md": REST,
    }


def test_what_does_not_fit_is_shortened_then_left_out() -> None:
    found = chosen(60, "speed up Engine", Thresholds(small=0, medium=0))
    assert [(one.path, one.form) for one in found.with_reason(NAMED)] == [("app/core.py", SIGNATURES)]
    assert found.left_out
    told = {one.code for one in warnings(budget(1_000), found)}
    assert {"named_as_signatures", "large_repository"} <= told


def test_a_private_file_goes_in_when_the_task_names_it() -> None:
    assert ".env" in {one.path for one in chosen(BUDGET, "why is .env wrong?", Thresholds()).chosen}


def test_what_a_task_names() -> None:
    paths = Paths(TEXTS)
    for task, wanted in (
        ("see app/core.py", ["app/core.py"]),
        ("app.store is slow", ["app/store.py"]),
        ("the file store.py, please", ["app/store.py"]),
        ("what uses `load`?", ["app/store.py"]),
        ("why is the store slow", ["app/store.py"]),
        ("store it", []),
        ("hello world", []),
    ):
        assert find_named(task, TEXTS, paths) == wanted, task


def test_imports_in_each_language() -> None:
    cases = [
        ("a/b.py", "from . import c\nfrom a.d import (\n  E,\n)\nimport os, a.f", ["a/c.py", "a/d.py", "a/f.py"]),
        ("a/b.ts", 'import x from "./c";\nimport "../d/index.js";\nimport y from "lib";', ["a/c.ts", "d/index.ts"]),
        ("a/b.go", 'import (\n "fmt"\n "example.com/m/store"\n)', ["store/x.go"]),
        ("src/b.rs", "mod c;\nuse crate::d::E;", ["src/b/c.rs", "src/d.rs"]),
        ("x/B.java", "import a.b.C;", ["main/a/b/C.java"]),
        ("a/b.c", '#include "b.h"\n#include "inc/z.h"\n#include <stdio.h>', ["a/b.h", "inc/z.h", "inc/z.c"]),
    ]
    for path, text, wanted in cases:
        paths = Paths([path, *wanted, "store/x_test.go"])
        assert find_imports(path, text, paths) == wanted, path
    assert find_importers(TEXTS, frozenset({"app/core.py"}), Paths(TEXTS)) == ["app/user.py", "tests/test_core.py"]


def test_importers_that_name_a_folder_by_dots_alone() -> None:
    texts = {
        "app/__init__.py": "def run(): ...",
        "app/a.py": "from . import run",
        "app/sub/b.py": "from .. import run",
        "app/c.py": "import os",
        "ui/index.ts": "export const x = 1;",
        "ui/d.ts": 'import x from ".";',
        "other/e.py": "from . import run",
    }
    paths = Paths(texts)
    assert find_importers(texts, frozenset({"app/__init__.py"}), paths) == ["app/a.py", "app/sub/b.py"]
    assert find_importers(texts, frozenset({"ui/index.ts"}), paths) == ["ui/d.ts"]


def budget(available: int, **more: object) -> ContextBudget:
    given = {"system": 0, "tools": 0, "task": 0, "answer": 1, "model": "m", "origin": "", **more}
    return ContextBudget(window=available * 2, usable=available, **given)  # type: ignore[arg-type]


def test_the_worked_examples_do_not_fit_as_printed() -> None:
    """Seed 004: 25k wanted where a 32k window has 20,992, 19k where a 16k window has 8,704."""
    fixed = {"model": "m", "origin": "", "system": 2048, "tools": 1024, "task": 512, "answer": 4096}
    wide = (("files", 15_000), ("dependencies", 5_000), ("summaries", 2_000), ("history", 3_000))
    tight = (("files", 15_000), ("summaries", 2_000), ("history", 2_000))
    large = ContextBudget(window=32_768, usable=24_576, requests=wide, **fixed)  # type: ignore[arg-type]
    small = ContextBudget(window=16_384, usable=12_288, requests=tight, **fixed)  # type: ignore[arg-type]
    assert (large.available, large.reserved, small.available) == (20_992, 8_192, 8_704)
    for one, over in ((large, 4_008), (small, 10_296)):
        told = {w.code: w.text for w in warnings(one, None)}
        assert f"{over:,} more than are available" in told["does_not_fit"]


def test_what_else_is_warned_of() -> None:
    assert {w.code for w in warnings(budget(1_000, tools=300, answer=5_000), None)} == {"heavy_start", "answer"}
    assert [w.code for w in warnings(budget(1_000, requests=(("history", 950),)), None)] == ["tight"]


def test_kinds() -> None:
    for path, kind in (
        ("a/b.py", "source"), ("tests/b.py", "tests"), ("b_test.go", "tests"), ("b.spec.ts", "tests"),
        ("README", "documentation"), ("x.md", "documentation"), ("pyproject.toml", "configuration"),
        ("requirements.txt", "configuration"), ("a.csv", "data"), ("yarn.lock", "generated"), ("a.min.js", "generated"),
        ("Makefile", "source"), ("LICENSE", "data"), ("latest.py", "source"), ("src/contest.js", "source"),
        ("contests.go", "source"), ("LoginTest.java", "tests"), ("LoginTests.cs", "tests"), ("Test_a.py", "tests"),
        ("shop/tests.py", "tests"), ("login-test.js", "tests"), ("api_tests.rs", "tests"), ("a.test.ts", "tests"),
    ):  # fmt: skip
        assert kind_of(path) == kind, path
