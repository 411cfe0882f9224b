"""The clipboard's image, and paths that a terminal pastes."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from ctxtui.services.chat import clipboard_image
from ctxtui.services.config.settings import Settings
from ctxtui.services.project.attachments import list_named_files, mention_dropped_file
from ctxtui.tui.chat.message_files import as_mention
from tests.cli.money.test_count import png


def test_the_image_is_kept_once_and_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = png(40, 30)
    script = tmp_path / "tool"
    script.write_text(f"#!{sys.executable}\nimport sys; sys.stdout.buffer.write({data!r})\n")
    script.chmod(0o700)
    monkeypatch.setattr(clipboard_image, "commands", lambda *_: [("no-such-program",), (str(script),)])
    settings = Settings(data_dir=str(tmp_path / "data"))
    name = clipboard_image.save_image(settings)
    assert name == clipboard_image.save_image(settings)
    ((_, place),) = list_named_files(f"look at {name}", tmp_path)
    assert place.read_bytes() == data and place.stat().st_mode & 0o777 == 0o600
    script.write_text(f"#!{sys.executable}\nprint('words')\n")
    with pytest.raises(clipboard_image.NoImage, match="no image in the clipboard"):
        clipboard_image.save_image(settings)


def test_who_is_asked_on_which_desktop() -> None:
    asked = clipboard_image.commands
    assert [one[0] for one in asked("linux", {"WAYLAND_DISPLAY": "w", "DISPLAY": ":0"})] == ["wl-paste", "xclip"]
    assert asked("linux", {}) == [] and asked("darwin", {})[0][0] == "osascript"
    assert clipboard_image.from_hex("«data PNGf8950»".encode()) == b"\x89P" and clipboard_image.from_hex(b"no") == b""


def test_a_dropped_file_becomes_a_mention(tmp_path: Path) -> None:
    place = tmp_path / "my shot.png"
    place.write_bytes(png(2, 2))
    plain = f'@"{place}"'
    for pasted in (str(place), f"'{place}'", str(place).replace(" ", "\\ "), place.as_uri()):
        assert mention_dropped_file(pasted.strip("'")) == plain and as_mention(pasted).strip() == plain, pasted
    for pasted in ("hello", f"{tmp_path}/none.png", "a.png\nb.png", "see a.png"):
        assert as_mention(pasted) == pasted
