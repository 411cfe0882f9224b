"""What is known of an image or file inside a block: kind, size, dimensions, cost."""

from __future__ import annotations

import base64
import binascii

from ctxtui.analysis.money.ledger import Ledger
from ctxtui.core.block_content import Media, Reading
from ctxtui.tokens.image import image_size
from ctxtui.views import numbers
from ctxtui.views.preview import media_line
from ctxtui.views.scene import Scene

_HEAD = 512 * 1024
"""Base64 characters looked at for the size in pixels."""


def facts(got: Reading, scene: Scene, node: int, ledger: Ledger | None) -> tuple[str, ...]:
    """A line for each of the block's images and files; the block's tokens and cost stand on the last one."""
    lines = [_line(media) for media in got.media]
    if scene.running.counted(node):
        tokens = scene.running.own(node)
        usd = ledger.block(node, tokens, scene.number) if ledger else None
        lines[-1] += f" · {numbers.tokens(tokens)} tokens"
        if usd is not None:
            lines[-1] += f" · {numbers.money(usd)} so far"
    return tuple(lines)


def _line(media: Media) -> str:
    size = image_size(_bytes(media.data[:_HEAD])) if media.data else None
    return media_line(media) + (f", {size[1]} × {size[2]} pixels" if size else "")


def _bytes(data: str) -> bytes:
    try:
        return base64.b64decode(data[: len(data) - len(data) % 4])
    except (binascii.Error, ValueError):
        return b""
