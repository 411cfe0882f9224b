"""Build a release into dist/: `make release VERSION=1.2.3`, or `make release` for the version that the checkout has.

With VERSION, it first writes that version, also to the Claude Code plugin, and its section of CHANGELOG.md. Wheel and
sdist are built twice, from copies of the tracked files, and must be the same bytes; the wheel of the sdist, too. Then
their contents are checked, and tests/wheel runs on the wheel. Nothing is committed or uploaded: the last lines say what
is left to do.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import zipfile
from datetime import UTC, date, datetime
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DIST = ROOT / "dist"
CHANGELOG = ROOT / "CHANGELOG.md"
VERSION_FILE = ROOT / "ctxtui" / "__init__.py"
PLUGIN = ROOT / "examples" / "claude-code" / ".claude-plugin" / "plugin.json"
VERSION = re.compile(r'(?:(?<=^__version__ = ")|(?<=^  "version": "))[^"]+', re.MULTILINE)
UNRELEASED = "## [Unreleased]\n"
WANTED = ("models.toml", "zstd.dict", "vocab/o200k_base.tiktoken.xz", "vocab/NOTICE", "sessions/2-lluma-musume.jsonl")
"""Data without which the program fails."""


def add_section(changelog: str, version: str, day: date) -> str:
    """The changelog with a section of `version` for what is unreleased. Raises `SystemExit` if nothing is."""
    before, heading, rest = changelog.partition(UNRELEASED)
    news = re.split(r"^## ", rest, maxsplit=1, flags=re.MULTILINE)[0]
    if not heading or not news.strip():
        raise SystemExit("CHANGELOG.md has nothing unreleased")
    if f"\n## [{version}]" in changelog:
        raise SystemExit(f"CHANGELOG.md already has a section of {version}")
    return f"{before}{heading}\n## [{version}] - {day.isoformat()}\n{rest}"


def set_version(source: str, version: str) -> str:
    """The source of the package or the plugin with its version replaced. Raises `SystemExit` for what is no version."""
    if not re.fullmatch(r"\d+\.\d+\.\d+(rc\d+)?", version):
        raise SystemExit(f"{version!r} is no version: write 1.2.3 or 1.2.3rc1")
    return VERSION.sub(version, source)


def release_time(changelog: str, version: str) -> int:
    """The Unix time that the files of `version` get: its day in the changelog, else that of the last commit."""
    section = re.search(rf"^## \[{re.escape(version)}\] - (\S+)$", changelog, re.MULTILINE)
    if section:
        return int(datetime.fromisoformat(section[1]).replace(tzinfo=UTC).timestamp())
    return int(run("git", "log", "-1", "--format=%ct", cwd=ROOT))


def run(*command: str | Path, cwd: Path, **env: str) -> str:
    """The standard output of a command. Raises `SystemExit` with its standard error if it fails."""
    done = subprocess.run(command, cwd=cwd, env={**os.environ, **env}, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(map(str, command))}: {done.stdout}{done.stderr}")
    return done.stdout


def tracked_files() -> list[str]:
    """The files of the checkout that git tracks."""
    return run("git", "ls-files", "-z", cwd=ROOT).rstrip("\0").split("\0")


def build(folder: Path, seconds: int, *targets: str) -> dict[str, bytes]:
    """Build the project in `folder`; its files by name."""
    out = folder / "out"
    command = (sys.executable, "-m", "hatchling", "build", "-d", str(out), *(f"-t{target}" for target in targets))
    run(*command, cwd=folder, SOURCE_DATE_EPOCH=str(seconds))
    return {path.name: path.read_bytes() for path in sorted(out.iterdir())}


def build_reproducibly(scratch: Path, seconds: int) -> dict[str, bytes]:
    """Wheel and sdist, if two builds and one of the unpacked sdist give the same bytes; else `SystemExit`."""
    builds = []
    for name in ("first", "a second place"):
        for file in tracked_files():
            (scratch / name / file).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / file, scratch / name / file)
        builds.append(build(scratch / name, seconds))
    sdist, wheel = sorted(builds[0], key=lambda name: name.endswith(".whl"))
    with tarfile.open(scratch / "first" / "out" / sdist) as archive:
        archive.extractall(scratch / "sdist", filter="data")
    (unpacked,) = (scratch / "sdist").iterdir()
    if builds[0] != builds[1] or build(unpacked, seconds, "wheel") != {wheel: builds[0][wheel]}:
        raise SystemExit("the builds differ: compare their files with `diffoscope`")
    return builds[0]


def check_contents(files: dict[str, bytes], folder: Path, version: str) -> None:
    """Check that wheel and sdist hold what they should and nothing else. Raises `SystemExit`."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    stem = f"{project['name'].replace('-', '_')}-{version}"
    sdist, wheel = f"{stem}.tar.gz", f"{stem}-py3-none-any.whl"
    if set(files) != {sdist, wheel}:
        raise SystemExit(f"built {sorted(files)}, and not {sdist} and {wheel}")
    tracked = tracked_files()
    with zipfile.ZipFile(folder / wheel) as archive:
        names = set(archive.namelist())
    code = {name for name in tracked if name.startswith("ctxtui/")}
    allowed = ("ctxtui/data/sessions/", f"{stem}.dist-info/", f"{stem}.data/data/share/")
    strange = [name for name in names - code if not name.startswith(allowed)]
    missing = [name for name in [*code, *(f"ctxtui/data/{name}" for name in WANTED)] if name not in names]
    with tarfile.open(folder / sdist) as archive:
        sources = {name.partition("/")[2] for name in archive.getnames()}
    strange += sources - set(tracked) - {"PKG-INFO"}
    missing += [name for name in tracked if name not in sources and not name.startswith(".ci/")]
    if strange or missing:
        raise SystemExit(f"contents: missing {sorted(missing)[:9]}, unwanted {sorted(strange)[:9]}")


def main() -> None:
    """Release, or say in one line why not."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("version", nargs="?", help="the new version (default: that of the checkout)")
    version = parser.parse_args().version
    if version:
        texts = [
            (CHANGELOG, add_section(CHANGELOG.read_text(encoding="utf-8"), version, datetime.now(UTC).date())),
            *((path, set_version(path.read_text(encoding="utf-8"), version)) for path in (VERSION_FILE, PLUGIN)),
        ]
        for path, text in texts:
            path.write_text(text, encoding="utf-8")
    (version,) = VERSION.findall(VERSION_FILE.read_text(encoding="utf-8"))
    seconds = release_time(CHANGELOG.read_text(encoding="utf-8"), version)
    with tempfile.TemporaryDirectory(prefix="ctxtui-release-") as scratch:
        files = build_reproducibly(Path(scratch), seconds)
    shutil.rmtree(DIST, ignore_errors=True)
    DIST.mkdir()
    for name, data in files.items():
        (DIST / name).write_bytes(data)
    check_contents(files, DIST, version)
    (wheel,) = DIST.glob("*.whl")
    if subprocess.run(["sh", "scripts/try_wheel.sh", str(wheel)], cwd=ROOT).returncode:
        raise SystemExit("the wheel's tests fail")
    for name, data in files.items():
        print(f"{hashlib.sha256(data).hexdigest()}  dist/{name}")
    print(f"left to do: git commit -am 'release {version}', git tag v{version}, git push --tags, twine upload dist/*")


if __name__ == "__main__":
    main()
