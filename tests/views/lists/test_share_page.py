"""Shared pages: nothing in them runs, nothing is loaded, everything adds up."""

from __future__ import annotations

from html.parser import HTMLParser

from ctxtui.views.pages.share_page import SharedBlock, SharedCall, page

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
    tags = parsed(shared(SharedBlock(category=3, role="user", label=HOSTILE, text=HOSTILE, tokens=10, method="exact")))
    assert not {"script", "iframe", "link", "img", "object"} & set(tags.tags)
    assert not [name for name, _ in tags.attributes if name.startswith("on")]
    assert "<script>alert(1)</script>" in "".join(tags.words)
    assert "\x1b" not in page(shared()) and "\u202e" not in page(shared())
    page(shared()).encode()


def test_nothing_is_loaded_from_anywhere() -> None:
    picture = SharedBlock(
        category=8,
        role="user",
        label="a",
        text="",
        tokens=1,
        method="exact",
        read=True,
        images=(("image/png", "aGk="), ("image/svg+xml", "aGk="), ("image/png", '"><b>')),
    )
    tags = parsed(shared(picture))
    assert [value for name, value in tags.attributes if name in ("src", "href")] == ["data:image/png;base64,aGk="]
    assert "default-src &#x27;none&#x27;" in page(shared()) or "default-src 'none'" in page(shared())


def test_categories_add_up_and_unread_blocks_do_not_count() -> None:
    words = "".join(
        parsed(
            shared(
                SharedBlock(category=3, role="user", label="hello", text="hello there", tokens=900, method="exact"),
                SharedBlock(category=3, role="user", label="more", text="more", tokens=100, method="exact"),
                SharedBlock(
                    category=5, role="assistant", label="old", text="old thought", tokens=50, method="exact", read=False
                ),
            )
        ).words
    )
    assert "1,007 tokens" in " ".join(words.split()) and "1.0k" in words and "(50)" in words and "2 x api key" in words
