"""Shared pages: nothing in them runs, nothing is loaded, everything adds up."""

from __future__ import annotations

from html.parser import HTMLParser

from ctxtui.views.lists.share_page import SharedBlock, SharedCall, page

HOSTILE = "</pre><script>alert(1)</script><img src=x onerror=alert(1)>\x1b[31m\u202e\ud800&"


class Tags(HTMLParser):
    """The tags, attributes and words of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.words: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs

    def handle_data(self, data: str) -> None:
        self.words.append(data)


def shared(*blocks: SharedBlock, **more: object) -> SharedCall:
    fields = {
        "title": HOSTILE,
        "facts": (HOSTILE,),
        "total": sum(one.tokens for one in blocks if one.read) + 7,
        "method": "reported",
        "blocks": blocks,
        "residual": 7,
        "body": '{"model": "' + HOSTILE + '"}',
        "lost": (HOSTILE,),
        "level": "secrets",
        "masked": ("2 x api key",),
    }
    return SharedCall(**{**fields, **more})  # type: ignore[arg-type]


def parsed(what: SharedCall) -> Tags:
    tags = Tags()
    tags.feed(page(what))
    return tags


def test_hostile_text_is_text() -> None:
    tags = parsed(shared(SharedBlock(3, "user", HOSTILE, HOSTILE, 10, "exact")))
    assert not {"script", "iframe", "link", "img", "object"} & set(tags.tags)
    assert not [name for name, _ in tags.attributes if name.startswith("on")]
    assert "<script>alert(1)</script>" in "".join(tags.words)
    assert "\x1b" not in page(shared()) and "\u202e" not in page(shared())
    page(shared()).encode()


def test_nothing_is_loaded_from_anywhere() -> None:
    picture = SharedBlock(
        8, "user", "a", "", 1, "exact", True, (("image/png", "aGk="), ("image/svg+xml", "aGk="), ("image/png", '"><b>'))
    )
    tags = parsed(shared(picture))
    assert [value for name, value in tags.attributes if name in ("src", "href")] == ["data:image/png;base64,aGk="]
    assert "default-src &#x27;none&#x27;" in page(shared()) or "default-src 'none'" in page(shared())


def test_categories_add_up_and_unread_blocks_do_not_count() -> None:
    words = "".join(
        parsed(
            shared(
                SharedBlock(3, "user", "hello", "hello there", 900, "exact"),
                SharedBlock(3, "user", "more", "more", 100, "exact"),
                SharedBlock(5, "assistant", "old", "old thought", 50, "exact", read=False),
            )
        ).words
    )
    assert "1,007 tokens" in " ".join(words.split()) and "1.0k" in words and "(50)" in words and "2 x api key" in words
