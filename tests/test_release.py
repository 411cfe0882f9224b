"""scripts/release.py: the changelog's section, the version, and builds that are the same bytes everywhere."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from ctxtui import __version__
from scripts import release

LOG = "# Changelog\n\n## [Unreleased]\n\n- new\n\n## [1.0.0] - 2026-01-01\n\n- old\n"


def test_what_is_unreleased_becomes_the_section_of_the_version() -> None:
    text = release.add_section(LOG, "1.1.0", date(2026, 2, 3))
    assert text == LOG.replace("[Unreleased]\n", "[Unreleased]\n\n## [1.1.0] - 2026-02-03\n")
    assert release.release_time(text, "1.1.0") == 1_770_076_800
    for again in ("1.1.0", "1.2.0"):
        with pytest.raises(SystemExit, match="nothing unreleased"):
            release.add_section(text, again, date(2026, 2, 3))
    with pytest.raises(SystemExit, match=r"already has a section of 1\.0\.0"):
        release.add_section(LOG, "1.0.0", date(2026, 2, 3))


def test_the_version_is_written_where_the_package_has_it() -> None:
    source = release.VERSION_FILE.read_text(encoding="utf-8")
    assert release.VERSION.findall(source) == [__version__]
    for text in (source, release.PLUGIN.read_text(encoding="utf-8")):
        assert release.VERSION.findall(release.set_version(text, "9.8.7")) == ["9.8.7"]
    with pytest.raises(SystemExit, match="no version"):
        release.set_version(source, "nine")


@pytest.mark.slow
def test_two_builds_are_the_same_bytes_with_all_that_belongs_to_them(tmp_path: Path) -> None:
    files = release.build_reproducibly(tmp_path, 1_770_076_800)
    for name, data in files.items():
        (tmp_path / name).write_bytes(data)
    release.check_contents(files, tmp_path, __version__)
    with pytest.raises(SystemExit, match="and not ctxtui_debugger-9"):
        release.check_contents(files, tmp_path, "9.9.9")
