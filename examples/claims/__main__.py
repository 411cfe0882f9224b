"""``python -m examples.claims``: claims of the documents that single commands show."""

from __future__ import annotations

import argparse
from pathlib import Path

from examples.claims import bridge, pedroceli
from examples.kit import printed, started, work_folder


def main() -> int:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, help="where to work; by default a new temporary folder")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    given = parser.parse_args()
    return started(lambda: show(given), "claims")


def show(given: argparse.Namespace) -> None:
    """Print what the commands say. Raises `Failed`."""
    folder = work_folder(given, "claims")
    found = [*bridge.rows(folder), *pedroceli.rows(folder)]
    printed(found, {one.session: str(bridge.ROOT / one.session) for one in found}, folder, given.json)


if __name__ == "__main__":
    raise SystemExit(main())
