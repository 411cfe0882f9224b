"""Which of the heavy libraries are loaded once Home's first frame is painted: prints their names."""

import asyncio
import sys
from pathlib import Path

from ctxtui.cli.manage.start_screen import prepare
from ctxtui.services.config.config import load
from ctxtui.tui.start import make_app

HEAVY = ("anthropic", "openai", "mcp", "httpx", "aiohttp", "tiktoken", "sqlite_utils", "pydantic")


async def main() -> None:
    """Paint one frame."""
    prepare()
    app = make_app(None, load(cwd=Path.cwd()).settings)
    async with app.run_test(size=(120, 40)):
        print(*[name for name in HEAVY if name in sys.modules])


asyncio.run(main())
