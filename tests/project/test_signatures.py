"""Files without their bodies, in every language that is read with a grammar, and in outline."""

from __future__ import annotations

import pytest

from ctxtui.project.signatures import GRAMMARS, extract_signatures

CASES = {
    "a.py": (
        "import os\n\nMOST: Final = 3\n_x = work()\n\n@dataclass\nclass A(B):\n    '''Doc.'''\n    n: int = 0\n"
        "    def run(self, a: int) -> str:\n        hidden = a\n        return str(hidden)\n",
        "import os\nMOST: Final = 3\n@dataclass\nclass A(B):\n    n: int = 0\n    def run(self, a: int) -> str: …",
    ),
    "a.js": (
        'import x from "x";\nexport default class A {\n  run(a) { hidden(); }\n}\n'
        "const f = async (a) => { hidden(); };\n",
        'import x from "x";\nexport default class A\n  run(a) …\nconst f = async (a) => …',
    ),
    "a.ts": (
        "export interface I { n: number }\nexport type T = 'a';\nexport enum E { A }\n"
        "export function f<T>(a: T): T { return hidden(a); }\n",
        "export interface I\nn: number\nexport type T = 'a';\nexport enum E { A }\nexport function f<T>(a: T): T …",
    ),
    "a.tsx": ("export const C = (p: P) => { return <div/>; };\n", "export const C = (p: P) => …"),
    "a.go": (
        'package a\n\nimport "fmt"\n\ntype T struct{ N int }\n\nfunc (t *T) Run(x int) error { return hidden(x) }\n',
        'package a\nimport "fmt"\ntype T struct{ N int }\nfunc (t *T) Run(x int) error …',
    ),
    "a.rs": (
        "use a::b;\npub struct S { n: u8 }\nimpl S {\n    pub fn new(n: u8) -> Self { hidden(n) }\n}\n",
        "use a::b;\npub struct S { n: u8 }\nimpl S\n    pub fn new(n: u8) -> Self …",
    ),
    "A.java": (
        "package a;\nimport b.C;\npublic class A {\n  static final int X = 3;\n"
        "  public int run(int a) { return hidden(a); }\n}\n",
        "package a;\nimport b.C;\npublic class A\n  static final int X = 3;\n  public int run(int a) …",
    ),
    "a.c": (
        '#include "a.h"\n#define X 3\n#ifdef Y\nint f(int a);\n#endif\nstatic int g(int b) { return hidden(b); }\n',
        '#include "a.h"\n#define X 3\nint f(int a);\nstatic int g(int b) …',
    ),
    "a.md": ("# One\ntext\n## Two\nmore\n", "# One\n## Two"),
    "b.md": ("One\n=====\ntext\n\n----\nTwo\n====\n====\n", "One\nTwo"),
    "a.rst": ("=====\nTitle\n=====\n\ntext\n\nPart\n~~~~\nmore\n", "Title\nPart"),
    "a.rb": ("class A\n  def run(a)\n    hidden\n  end\nend\n", "class A\n  def run(a)"),
    "a.toml": ('[a]\nb = 1\n\n  "long"\n', "[a]\nb = 1"),
    "a.xyz": ("only\nwords\n", "only\nwords"),
}


@pytest.mark.parametrize("path", CASES)
def test_signatures(path: str) -> None:
    text, wanted = CASES[path]
    assert [line.strip() for line in extract_signatures(path, text).splitlines()] == [
        s.strip() for s in wanted.splitlines()
    ]


def test_every_language_of_the_issue_has_a_grammar() -> None:
    ends = {".py", ".js", ".ts", ".go", ".rs", ".java", ".c"}
    assert ends <= GRAMMARS.keys()
    assert ends <= {"." + path.rpartition(".")[2] for path in CASES}


@pytest.mark.parametrize("text", ["def f(:\n  class", "\0\0", "é" * 50, ""])
def test_what_is_no_program_breaks_nothing(text: str) -> None:
    for end in GRAMMARS:
        assert isinstance(extract_signatures("a" + end, text), str)
