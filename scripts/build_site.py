"""Build the documentation site from docs/ into build/site, strictly: `make docs`.

The navigation is the index of docs/README.md. Links to files outside of docs/ become text, because the site does
not have these files. The pages are also published as Markdown, where llms.txt looks for them. Needs the extra `docs`.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

REPO: Final = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(REPO)]

from scripts.reference import read_index  # noqa: E402

SOURCE: Final = REPO / "build" / "docs"
SITE: Final = REPO / "build" / "site"
OUTSIDE: Final = re.compile(r"\[(?P<text>[^]]+)\]\(\.\./(?P<path>[^)#]+)[^)]*\)")
"""A link to a file of the repository that is not below docs/."""

CONFIG: Final = """\
[project]
site_name = "ctxtui"
site_description = "A debugger for the context window of LLM agents"
docs_dir = "docs"
site_dir = "site"
use_directory_urls = false
copyright = "MIT licence"
nav = [
  {{ "Start" = "README.md" }},
{nav}
]

[project.theme]
font = false  # the system's fonts: none is loaded
features = ["navigation.tabs", "navigation.top", "toc.follow", "content.code.copy", "search.highlight"]
palette = [
  {{ media = "(prefers-color-scheme: light)", scheme = "default", toggle = {{ icon = "lucide/sun", name = "Dark" }} }},
  {{ media = "(prefers-color-scheme: dark)", scheme = "slate", toggle = {{ icon = "lucide/moon", name = "Light" }} }},
]

[project.extra]
generator = false

[project.markdown_extensions.tables]
[project.markdown_extensions.pymdownx.superfences]
[project.markdown_extensions.pymdownx.highlight]
[project.markdown_extensions.toc]
permalink = true
slugify = {{ object = "pymdownx.slugs.slugify", kwds = {{ case = "lower" }} }}  # as GitHub's
"""


def replace_outside_links(text: str) -> str:
    """Replace links that leave docs/ by their text, with the path."""
    return OUTSIDE.sub(
        lambda link: link["text"] if link["path"] in link["text"] else f"{link['text']} (`{link['path']}`)", text
    )


def render_config(index: str) -> str:
    """The site's configuration; `index` is the text of docs/README.md."""
    sections = {heading: json.dumps([page for page, _ in rows]) for heading, rows in read_index(index).items()}
    return CONFIG.format(nav="\n".join(f'  {{ "{heading}" = {pages} }},' for heading, pages in sections.items()))


def prepare() -> None:
    """Copy docs/ to `SOURCE`, with its configuration."""
    shutil.rmtree(SOURCE, ignore_errors=True)
    shutil.copytree(REPO / "docs", SOURCE / "docs")
    for page in (SOURCE / "docs").glob("*.md"):
        page.write_text(replace_outside_links(page.read_text(encoding="utf-8")), encoding="utf-8")
    index = (SOURCE / "docs" / "README.md").read_text(encoding="utf-8")
    (SOURCE / "zensical.toml").write_text(render_config(index), encoding="utf-8")


def main() -> int:
    """Build the site; return the builder's exit code."""
    prepare()
    program = [sys.executable, "-m", "zensical", "build", "--strict", "--clean"]
    done = subprocess.run(program, cwd=SOURCE, env={**os.environ, "NO_COLOR": "1"}, check=False)
    if done.returncode == 0:
        for page in (SOURCE / "docs").glob("*.md"):
            shutil.copy(page, SOURCE / "site")
        shutil.rmtree(SITE, ignore_errors=True)
        shutil.move(SOURCE / "site", SITE)
        print(f"{SITE}/index.html")
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
