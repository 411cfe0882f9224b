"""Variants opened as sessions: one file each in a folder of their own, the newest kept."""

from __future__ import annotations

import os
from pathlib import Path

from ctxtui.services.editing.variant_files import MAX_VARIANT_FILES, write_variant


def test_the_same_variant_is_one_file(tmp_path: Path) -> None:
    folder = tmp_path / "lab"
    first = write_variant(folder, "abc/../d", "budget target=80000", b"one\n")
    again = write_variant(folder, "abc/../d", "budget target=80000", b"two\n")
    assert first == again and first.path.parent == folder and again.path.read_bytes() == b"two\n"
    assert not first.elsewhere and list(folder.iterdir()) == [first.path]
    assert (first.path.stat().st_mode & 0o777, folder.stat().st_mode & 0o777) == (0o600, 0o700)


def test_what_was_written_first_goes(tmp_path: Path) -> None:
    made = []
    for number in range(MAX_VARIANT_FILES + 3):
        made.append(write_variant(tmp_path, "session", f"policy {number}", b"{}\n").path)
        os.utime(made[-1], (number, number))
    last = write_variant(tmp_path, "session", "last", b"{}\n").path
    left = set(tmp_path.iterdir())
    assert left == {*made[4:], last} and len(left) == MAX_VARIANT_FILES


def test_where_the_folder_cannot_be_written_it_is_a_temporary_file_and_says_so() -> None:
    made = write_variant(Path(os.devnull) / "lab", "session", "budget", b"{}\n")
    try:
        assert made.path.read_bytes() == b"{}\n" and made.path.stat().st_mode & 0o777 == 0o600
        assert "temporary file" in made.elsewhere and "/dev/null/lab cannot be written" in made.elsewhere
    finally:
        made.path.unlink()
        made.path.parent.rmdir()


def test_long_names_and_names_in_any_script_are_files_of_their_own(tmp_path: Path) -> None:
    names = ["x" * 90 + "1", "x" * 90 + "2", "変" * 90, "換" * 90]
    made = {write_variant(tmp_path, "会" * 60, name, b"{}\n") for name in names}
    assert len(made) == len(names) and not any(one.elsewhere for one in made)
