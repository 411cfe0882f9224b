"""The documents: links resolve, commands exist, pages made from the code are up to date, the site builds."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
import tomllib
from importlib.util import find_spec
from pathlib import Path

import click
import pytest

from ctxtui.cli.group import main_group
from ctxtui.views.text.numbers import money
from scripts import build_site, reference
from tests.cli.conftest import Run, ctxtui, home
from tests.corpus import ROOT

__all__ = ["ctxtui", "home"]

DOCS = ROOT / "docs"
PAGES = [*sorted(DOCS.glob("*.md")), *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md"))]
PAGES += [*(ROOT / folder / "README.md" for folder in ("sessions", "examples"))]
LINK = re.compile(r"\]\((?!https?:|mailto:)([^)\s]+)\)|(?:src|srcset|href)=\"(?!https?:)([^\"]+)\"")
COMMAND = re.compile(r"`(ctxtui [^`]+)`")
FENCE = re.compile(r"^ *```(\w*)\n(.*?)^ *```", re.S | re.M)
SYNOPSIS = re.compile(r"[\[\]…<>]|\.\.\.")
"""Signs of a form of a command, not a command."""
PIPE = re.compile(r" \\?\| | >{1,2} | && |; | \$\(|\"\$\(")
"""Ends the words of the first program of a line."""


def without_code(text: str) -> str:
    """The text without blocks and spans of code, in which nothing is a link."""
    return re.sub(r"`[^`\n]+`", "code", FENCE.sub("", text))


def anchors(page: Path) -> set[str]:
    """Anchors of a page's headings, as GitHub and the site make them."""
    names: set[str] = set()
    for heading in re.findall(r"^#+ (.+)$", FENCE.sub("", page.read_text(encoding="utf-8")), re.M):
        text = re.sub(r"\[([^]]+)\]\([^)]*\)", r"\1", heading)
        slug = re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-")
        names.add(slug if slug not in names else f"{slug}-1")
    return names


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_leads_somewhere(page: Path) -> None:
    for match in LINK.finditer(without_code(page.read_text(encoding="utf-8"))):
        path, _, anchor = (match[1] or match[2]).partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), path
        assert not anchor or anchor in anchors(target), f"{target.name}#{anchor}"


def commands(page: Path) -> list[str]:
    """Commands of ctxtui on a page: lines of its shell blocks, and spans of code."""
    text = page.read_text(encoding="utf-8")
    lines = [line for kind, block in FENCE.findall(text) if kind in ("sh", "") for line in block.splitlines()]
    spans = [" ".join(span.split()) for span in COMMAND.findall(FENCE.sub("", text))]
    return [line.strip() for line in [*lines, *spans] if re.match(r"\s*ctxtui [^ ]", line)]


def parse(line: str) -> None:
    """Find the command of a line and parse its options. Raises `click.UsageError`."""
    words = shlex.split(PIPE.split(line.split("  #")[0])[0].rstrip("\\"))[1:]
    command: click.Command = main_group
    context = click.Context(main_group, info_name="ctxtui")
    while isinstance(command, click.Group) and words and not words[0].startswith("-"):
        _, inner, words = command.resolve_command(context, words)
        assert inner is not None
        command, context = inner, click.Context(inner, parent=context, info_name=inner.name)
    try:
        options, _, _ = command.make_parser(context).parse_args(list(words))
    except click.BadOptionUsage as error:
        if f"ctxtui {' '.join(words)}".endswith(error.option_name):
            return  # an option that is only named
        raise
    for option in command.params:
        value = options.get(option.name or "")
        if isinstance(option.type, click.Choice) and isinstance(value, str) and not value.isupper():
            option.type.convert(value, option, context)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_command_has_the_options_that_it_is_shown_with(page: Path) -> None:
    wrong = []
    for line in commands(page):
        if not SYNOPSIS.search(PIPE.split(line.split("  #")[0])[0]):
            try:
                parse(line)
            except (click.UsageError, ValueError) as error:
                wrong.append(f"{line}: {error}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("name", ["options.md", "settings.md", "policies.md", "llms.txt"])
def test_a_page_made_from_the_code_is_up_to_date(name: str) -> None:
    assert (DOCS / name).read_text(encoding="utf-8") == reference.render_pages()[name], "make reference"


def test_every_picture_of_the_documents_is_made_by_a_script() -> None:
    drawn = set(re.findall(r'^    "([\w-]+)": Picture\(', (ROOT / "scripts" / "pictures.py").read_text(), re.M))
    assert drawn | {f"seeds-{number}" for number in range(1, 5)} == {path.stem for path in DOCS.glob("*.png")}


def test_the_site_has_every_page_in_its_navigation() -> None:
    config = tomllib.loads(build_site.render_config((DOCS / "README.md").read_text(encoding="utf-8")))
    sections = {title: pages for entry in config["project"]["nav"] for title, pages in entry.items()}
    assert list(sections) == ["Start", "Tutorial", "How to", "Reference", "Explanation"]
    listed = [page for pages in sections.values() for page in ([pages] if isinstance(pages, str) else pages)]
    assert sorted(listed) == sorted(page.name for page in DOCS.glob("*.md"))


def test_a_link_out_of_the_documents_is_text_on_the_site() -> None:
    text = "see [the samples](../sessions/README.md#x), [`a.py`](../a.py), [b](b.md#c)"
    assert build_site.replace_outside_links(text) == "see the samples (`sessions/README.md`), `a.py`, [b](b.md#c)"


def test_the_figures_of_the_tutorial_are_those_of_its_sample(ctxtui: Run) -> None:
    page = (DOCS / "tutorial.md").read_text(encoding="utf-8")
    sample = ROOT / "sessions" / "1-pineapple-evolve.jsonl"
    told = ctxtui("cache", sample, "--json").json
    miss = next(miss for miss in told["misses"] if miss["call"] == 14)
    alike = sum(one["lost_usd"] for one in told["misses"] if one["cause"] == miss["cause"])
    call = ctxtui("show", sample, "--call", "14", "--json").json
    # As printed: the parts are rounded so that they add up.
    parts = re.search(r"= ([\d.]+) carry \+ ([\d.]+) rewrites", ctxtui("cost", "--why", sample).out)
    assert parts is not None
    figures = [
        f"**{money(miss['lost_usd'])}**",
        f"{miss['written_again_tokens'] / 1000:.1f}k tokens were written again",
        f"token {miss['shared_tokens']:,}",
        f"cost {money(alike)} of {money(told['cost_usd'])}",
        f"${parts[2]} are misses",
        f"${parts[1]} are blocks",
        f"of {call['context_tokens'] / 1000:.1f}k tokens",
    ]
    assert miss["cause"] == "system changed"
    assert [figure for figure in figures if figure not in page] == []


@pytest.mark.slow
@pytest.mark.skipif(find_spec("zensical") is None, reason="the extra docs is not installed: make docs")
def test_the_site_builds_strictly_and_loads_nothing_from_the_network() -> None:
    done = subprocess.run([sys.executable, "scripts/build_site.py"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    for page in (ROOT / "build" / "site").glob("*.html"):
        html = page.read_text(encoding="utf-8")
        assert not re.search(r"<(?:script|img|iframe|source)[^>]+(?:src|srcset)=\"?(?:https?:)?//", html), page.name
        loaded = re.findall(r"<link[^>]+>", html)
        assert not [link for link in loaded if "//" in link and "canonical" not in link], page.name
