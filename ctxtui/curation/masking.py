"""Masks secrets and personal data in a copy of a recording, so that it can be shared.

Each mask names what it replaces (``⟨api key 1⟩``), and equal secrets get equal masks. Structure stays: JSON stays JSON,
and ids still pair calls with their results.

A *find* is a match of a rule in a text. A *piece* is the part of a secret in one text, if the secret spans adjacent
texts.
"""

from __future__ import annotations

import base64
import binascii
import re
import zlib
from bisect import bisect_right
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import pairwise
from typing import Final, NamedTuple

from ctxtui.core import block, canonical
from ctxtui.core.block import HEADER, Block
from ctxtui.core.canonical import Json, Number
from ctxtui.core.tree import ROOT, Tree
from ctxtui.curation.mask_rules import (
    BOUNDARY,
    CHECKS,
    LEVELS,
    NO_VALUE,
    PLACEHOLDER,
    PLAIN_PART,
    Level,
    MaskingRule,
    MaskingRules,
    is_dense,
    is_random,
)

PIXEL: Final = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="
"""A PNG of one transparent pixel, in base64, which replaces images and other files."""

_CONTENT: Final = "content"
_FORMS: Final = ("string", "list", "object")
"""Values in a message's header that describe members which became blocks."""
_HIDDEN: Final = re.compile(
    r"(?:\x1b|\\u001b|\\x1b|\\033|\\e)(?:\[[0-9;:?]{0,40}[A-Za-z]|\][^\x07\x1b\n]{0,2000}(?:\x07|\x1b\\))"
    "|(?<=[!-~])[\u00ad\u200b-\u200d\u2060\ufeff]+(?=[!-~])"
)
"""Invisible text: colours and links of a terminal, and invisible characters inside a word."""
_HALF_HIDDEN: Final = re.compile(r"(?:\x1b|\\u001b|\\x1b|\\033|\\e)(?:\[[0-9;:?]*|\][^\x07\x1b]*)?$")
"""The beginning of such invisible text, at the end of a truncated text."""
_BREAK: Final = re.compile(r"(?:(?<![ \t])[ \t]{1,200})?\\?\r?\n[ \t]*(?:\d{1,6}(?:→|\t|[ \t]?\|)[ \t]*)?")
"""A line end, with the spaces around it and the next line's number if lines are numbered."""
_BLANK: Final = re.compile(" ")
"""The separator removed when a line is compared with text that had line ends."""
_AFTER: Final = re.compile(r"[\s\"'`,;)\]}>]|$")
"""Characters that may follow a whole secret."""
_SEPARATOR: Final = re.compile(r"[\W_]+")
_ENCODED: Final = re.compile(r"(?<![A-Za-z0-9+/_-])[A-Za-z0-9+/_-]{24,}+={0,2}")
_LAST_ENCODED: Final = re.compile(r"[A-Za-z0-9+/_-]{12,}$")
_DATA_URL: Final = re.compile(r"data:([\w.+-]+/[\w.+-]+)?(?:;[\w-]+=[\w.-]+)*;base64,([A-Za-z0-9+/_%-]+={0,2})")
_NO_BASE64: Final = re.compile(r"[^A-Za-z0-9+/=_\s-]")
_URL_SAFE: Final = str.maketrans("-_", "+/")
_LONGEST_ENCODED: Final = 65_536
"""Maximum characters of base64 inside a text that are decoded."""
_MEDIA: Final = (
    "iVBORw0KGgo",
    "/9j/",
    "R0lGOD",
    "UklGR",
    "JVBERi0",
    "UEsDBB",
    "SUkqA",
    "TU0AK",
    "T2dnUw",
    "SUQz",
    "AAAA",
)
"""Base64 of the first bytes of images, documents, audio and video."""
_SHORTEST_MEDIA: Final = 64
_LARGEST_CHUNK: Final = 1 << 20
"""Maximum bytes to which a compressed text of an image is unpacked."""
_BARE_RANDOM: Final = re.compile(
    r"(?<![\w+/.=@%&?#:~$-])(?=[^\s]{0,200}\d)[A-Za-z0-9_+/-]{24,160}={0,2}(?![\w+/.@%&?#(\[:~-])"
)
"""A separate long word with a digit that is no part of a URL, path or expression."""
MIN_KEY_CHARS: Final = 16
"""Minimum characters of a word in which a key is searched."""
_MIN_SECRET_CHARS: Final = 6
"""Minimum characters of a member's value to be taken for a secret."""
_MIN_LONG_SECRET_CHARS: Final = 16
"""The same for members whose short values are words."""
_NO_SECRET: Final = re.compile(rf"(?i)(?:{NO_VALUE})$|[~.]?/[\w.-]+/|https?:")
"""A word or a path: no piece of a secret, even if a name before it suggests so."""
_FLAG: Final = re.compile(r"--?[A-Za-z][\w-]{1,40}")
_IDENTIFIER: Final = re.compile(r"(?=.{1,80}$)[\w.:/@+-]+(?: [\w.:/@+-]+)?")
"""A word of the protocol or a client's name, which may be two words: ``claude code``."""
_LETTER: Final = re.compile(r"[^\W\d_]")
_WORDS: Final = re.compile(r"(?<=[a-z0-9])([A-Z])")
_DIGIT: Final = re.compile(r"\d")
_WINDOW, _KEY_WINDOW = 200, 4000
"""Characters searched on each side of the border between two texts; the second if a long secret may cross it."""
_MAX_TITLE_TEXTS: Final = 64
_MIN_PIECE_CHARS: Final = 6
"""Minimum characters of a piece of a secret to be masked anywhere; a shorter one is masked only where it was found."""
_PIECE_RANK, _ENCODED_RANK, _RANDOM_RANK = -1, 1 << 15, 1 << 16
"""Ranks before and after those of the rules."""
_CONTINUATIONS: Final = ("aB4" * 40, ("aB4" * 5 + ".") * 3, "AB4" * 40, "a4f" * 40, *("a4" * n for n in range(1, 20)))
"""Texts appended to a truncated text, to see whether a rule then finds a secret at its end."""


class _Match(NamedTuple):
    """Characters `start` to `end` of a text, which match the rule `name`.

    If matches overlap, the one with the least `rank` gives the name.
    """

    start: int
    end: int
    rank: int
    name: str
    secret: str

    def mapped_back(self, back: Callable[[int], int]) -> _Match:
        """This match in the original text, to whose positions `back` maps."""
        return self._replace(start=back(self.start), end=back(self.end - 1) + 1)


class _Piece(NamedTuple):
    """The `text` of a piece; `secret` is the whole, `name` and `rank` are those of its match."""

    text: str
    name: str
    secret: str
    rank: int


class Pieces(NamedTuple):
    """Pieces of secrets that span adjacent texts.

    - `long`: pieces that are masked wherever they occur, by their text.
    - `heads`, `tails`: short pieces, by the full text that begins or ends with them. They are masked only there.
    """

    long: dict[str, _Piece]
    heads: dict[str, _Piece]
    tails: dict[str, _Piece]
    begins: dict[str, None]
    """Beginnings of the first texts, each as one line: `Masker.mask_line` finds a title's full line there."""


class Masker:
    """Masks texts, JSON values and blocks at one `Level`, and counts the masks.

    Use one masker for a whole copy: equal secrets get equal masks. Pass the blocks to `follow` first, in order, to find
    secrets across adjacent texts.
    """

    def __init__(self, rules: MaskingRules, level: Level) -> None:
        self.level = level
        self.report: dict[str, int] = {}
        """Number of masks of each kind."""
        depth = LEVELS.index(level)
        ranked = [(n, r) for n, r in enumerate(rules.rules) if LEVELS.index(r.level) <= depth]
        self._ranks = {n for n, _ in ranked}
        self._keys = [(n, r) for n, r in ranked if r.is_key]
        self._rules = [(n, r) for n, r in ranked if not r.is_key]
        self._named = {n for n, r in ranked if r.keep and r.level == Level.SECRETS}
        self._secret = [(n, r) for n, r in self._rules if r.level == Level.SECRETS]
        starts = "|".join(sorted({re.escape(text) for _, r in self._keys for text in r.holds})) or "(?!)"
        self._starts = re.compile(f"{BOUNDARY}(?:{starts})"), re.compile(starts)
        self._members = [row for row in rules.members if LEVELS.index(row.level) <= depth]
        self._structure, self._id_starts = rules.structure, rules.id_starts
        self._known: dict[str, dict[str, int]] = {}
        self._aliases: dict[str, str] = {}
        self._ids: set[str] = set()
        """Ids in the blocks so far: they look random, but are no secrets."""
        self.pieces = Pieces({}, {}, {}, {})
        """Pieces that `follow` found."""

    # Secrets across adjacent texts.

    def follow(self, tail: tuple[str, ...], block_: Block) -> tuple[str, ...]:
        """Learn the ids in `block_`, the next block, and secrets that begin in `tail` and end in it.

        `tail` is the ends of the texts before it (at the start: empty). Returns the tail for the block after it.
        """
        return self._follow_value(tail, _flatten(block_.value()), _kind_of_block(block_))

    def follow_all(self, tree: Tree) -> None:
        """Call `follow` for every block of `tree`, along each of its paths."""
        tails: dict[int, tuple[str, ...]] = {ROOT: ()}
        for node in tree.nodes(1):
            tails[node.id] = self.follow(tails[node.parent], node.block)

    def learn(self, pieces: Pieces) -> None:
        """Add the pieces that another masker found."""
        for own_pieces, other_pieces in zip(self.pieces[:3], pieces[:3], strict=True):
            own_pieces.update((text, piece) for text, piece in other_pieces.items() if piece.rank in self._ranks)
        self.pieces.begins.update(pieces.begins)

    def _follow_value(self, tail: tuple[str, ...], value: Json, kind: str) -> tuple[str, ...]:
        for text in self._iter_texts(value, kind):
            if text:
                if self.level != Level.TEXT:
                    for count in range(1, len(tail) + 1):
                        self._learn_spanning((*tail[-count:], text[:_KEY_WINDOW]))
                    if len(self.pieces.begins) < _MAX_TITLE_TEXTS:
                        self.pieces.begins[_one_line(text[:_KEY_WINDOW])] = None
                tail = (*tail, text[-_KEY_WINDOW:])[-2:]
        return tail

    def _iter_texts(self, value: Json, kind: str) -> Iterator[str]:
        """The texts of content in `value`; collects ids."""
        if isinstance(value, str):
            if kind == "id":
                self._ids.add(value)
            elif kind in (_CONTENT, "json") or kind in self._structure:
                inner = _parse_json(value)
                try:
                    texts = [value] if inner is None else list(self._iter_texts(inner, _CONTENT))
                except RecursionError:
                    texts = [value]
                yield from texts
        elif isinstance(value, list):
            for item in value:
                yield from self._iter_texts(item, kind)
        elif isinstance(value, dict):
            for key, item in value.items():
                if not (kind == HEADER and item in _FORMS):
                    yield from self._iter_texts(item, self._kind_of(key, kind))

    def _kind_of(self, key: str, kind: str) -> str:
        if kind.startswith("map:"):
            return kind[4:]
        members = self._structure.get(kind)
        return kind if kind == "figures" else _CONTENT if members is None else members.get(key, _CONTENT)

    def _learn_spanning(self, texts: tuple[str, ...]) -> None:
        if texts[-1][0].isspace() and texts[-2][-1].isspace():
            return
        wide = any("PRIVATE" in text or "Private-Lines" in text or _has_long_end(text) for text in texts)
        window = _KEY_WINDOW if wide else _WINDOW
        if any(len(text) > window for text in texts[1:-1]):
            return
        shown = [*(text[-window:] for text in texts[:-1]), texts[-1][:window]]
        joined = "".join(shown)
        edges = [0]
        for text in shown:
            edges.append(edges[-1] + len(text))
        finds = list(self._find_rules(joined, lines=False))
        if not finds:
            return
        single_texts = {
            (find.start + edge, find.end + edge)
            for text, edge in zip(shown, edges, strict=False)
            for find in self._find_rules(text, lines=False)
        }
        for find in finds:
            if (find.start, find.end) in single_texts:
                continue
            cuts = [find.start, *(edge for edge in edges if find.start < edge < find.end), find.end]
            # "The password:" at the end of one text says little about the beginning of the next; `password="` does.
            if find.rank in self._named and (
                (find.start in edges and joined[find.start - 1] not in "\"'=" and not is_random(find.secret))
                or any(_NO_SECRET.match(joined[a:b]) for a, b in pairwise(cuts))
            ):
                continue
            # After a complete key, a plain word is no part of the secret: it begins the next text.
            is_whole = self._is_key(find) and self._matches_alone(find, joined[find.start : cuts[1]])
            for text_part, start, end in zip(texts, edges, edges[1:], strict=False):
                first, last = max(start, find.start), min(end, find.end)
                if first < last:
                    self._learn_piece(find, joined[first:last], text_part, begins=first == start, is_whole=is_whole)

    def _learn_piece(self, find: _Match, text: str, full_text: str, *, begins: bool, is_whole: bool) -> None:
        piece = _Piece(text, find.name, find.secret, find.rank)
        if len(text.strip()) >= _MIN_PIECE_CHARS and not (is_whole and _is_plain(text)):
            for shown in (text.strip(), _one_line(text)):
                previous = self.pieces.long.get(shown, piece)
                self.pieces.long[shown] = min(previous, piece, key=lambda candidate: candidate.rank)
            return
        for shown in (full_text, _one_line(full_text)):
            if begins and shown.startswith(text):
                self.pieces.heads[shown] = piece
            elif shown.endswith(text):
                self.pieces.tails[shown] = piece

    # Values.

    def mask_value(self, value: Json, kind: str = "part") -> Json:
        """Mask every text in the JSON `value`, an object of a `kind` in `MaskingRules.structure`.

        A member that is nested too deeply becomes text.
        """
        value = _flatten(value)
        self._follow_value((), value, kind)
        return self._mask_member(value, kind)

    def mask_block(self, block_: Block) -> Block:
        value = _flatten(block_.value())
        masked = self._mask_member(value, _kind_of_block(block_))
        kind = self.mask_word(block_.kind)
        return block_ if masked == value and kind == block_.kind else block.make(kind, masked)

    def mask_word(self, text: str) -> str:
        """Mask a secret in a word of the protocol (a model's name). At level `text` blur all that is no such word."""
        text = self._mask_matches(text, bare=False)
        return text if self.level != Level.TEXT or _IDENTIFIER.fullmatch(text) else self._blur(text)

    def mask_id(self, text: str) -> str:
        """Mask a secret in an id or a name; at level `text` replace it, equal ids by equal text."""
        if self.level != Level.TEXT or not text:
            return self._mask_matches(text, bare=False)
        if text not in self._aliases:
            number = str(len(self._aliases) + 1)
            self._aliases[text] = "x" * (len(text) - len(number)) + number
        return self._aliases[text]

    def _mask_member(self, value: Json, kind: str, key: str = "") -> Json:
        """Mask `value`, which is a `kind` under the member `key` of content ("": none)."""
        if isinstance(value, str):
            return self._mask_string(value, kind, key)
        if kind in ("word", "id", "name", "opaque", "media", "json", "keys") and not isinstance(value, list):
            kind = _CONTENT
        if isinstance(value, list):
            if kind == _CONTENT:
                return [
                    self._mask_member(item, kind, item_key)
                    for item, item_key in zip(value, _iter_keys(value, key), strict=True)
                ]
            return [self._mask_member(item, kind) for item in value]
        if isinstance(value, dict):
            return self._mask_object(value, kind, key)
        if isinstance(value, int | float | Number) and not isinstance(value, bool) and kind != "figures":
            return self._mask_number(value, key)
        return value

    def _mask_object(self, value: dict[str, Json], kind: str, key: str) -> Json:
        members: dict[str, Json] = {}
        content = kind == _CONTENT
        name_of_value = value.get("name", value.get("key")) if content and "value" in value else None
        for name, item in value.items():
            # A header or a variable as an object: its name describes its value.
            named = not content and (kind == "figures" or name in self._structure.get(kind, {}))
            item_key = name_of_value if name == "value" and isinstance(name_of_value, str) else "" if named else name
            form = kind == HEADER and item in _FORMS
            new = item if form else self._mask_member(item, self._kind_of(name, kind), item_key)
            members[self.mask_word(name) if named else self._mask_key(name)] = new
        data = value.get("data")
        if (
            kind == "source"
            and isinstance(data, str)
            and members.get("data") == PIXEL != data
            and "media_type" in members
        ):
            members["media_type"] = "image/png"
        return members

    def _mask_string(self, text: str, kind: str, key: str) -> str:
        match kind:
            case "word" | "figures":
                return self.mask_word(text)
            case "id" | "name":
                return self.mask_id(text)
            case "keys":
                return self._mask_key(text)
            case "opaque":
                if self.level == Level.SECRETS or not text:
                    return self._mask_matches(text, bare=False)
                self._count_mask("opaque part")
                return "⟨opaque⟩"
            case "media" if text.startswith(_MEDIA) or _is_media(text):
                return self._mask_media(text)
            case "json":
                return self._mask_json(text, self.mask_text)
        if (name := self._secret_name(key, text)) and not PLACEHOLDER.match(text):
            return self._make_mask(name, text) if self.level != Level.TEXT else self._blur(text)
        if text.startswith(_MEDIA) and len(text) >= _SHORTEST_MEDIA and _is_media(text):
            return self._mask_media(text)
        if text.startswith("data:") and _DATA_URL.fullmatch(text):
            return _DATA_URL.sub(self._mask_data_url, text)
        if self.level != Level.TEXT:
            text = self._mask_json(text, lambda same: same)
        return self.mask_text(text)

    def _mask_json(self, text: str, mask_text: Callable[[str], str]) -> str:
        inner = _parse_json(text)
        if inner is None:
            return mask_text(text)
        try:
            masked = self._mask_member(inner, _CONTENT)
        except RecursionError:
            return self.mask_text(text)
        return text if masked == inner else canonical.dump_text(masked)

    def _mask_number(self, value: float | Number, key: str) -> Json:
        text = value.text if isinstance(value, Number) else str(value)
        if self.level == Level.TEXT:
            return canonical.loads(_DIGIT.sub("1", text)) if text[-1:].isdigit() else value
        if name := self._secret_name(key, text):
            return self._make_mask(name, text)
        masked = self._mask_matches(text) if len(text) >= 7 else text
        return value if masked == text else masked

    def _secret_name(self, key: str, text: str) -> str:
        """Name of the secret in a value under the member `key`; "" if the key suggests none."""
        if not key or not text:
            return ""
        name = _WORDS.sub(r"_\1", key).lower().replace("-", "_").replace(" ", "_").strip("_")
        for row in self._members:
            if name in row.names or (row.level == Level.SECRETS and any(name.endswith(f"_{n}") for n in row.names)):
                if row.level != Level.SECRETS:
                    return row.name
                if len(text) >= (_MIN_LONG_SECRET_CHARS if row.long else _MIN_SECRET_CHARS) and (
                    not row.long or _DIGIT.search(text)
                ):
                    return row.name
        return ""

    def _mask_key(self, name: str) -> str:
        return self.mask_id(name) if self.level == Level.TEXT else self._mask_matches(name)

    def _mask_media(self, text: str) -> str:
        """Mask an image or a file in base64; at level `SECRETS` only if a secret is found in it."""
        if self.level == Level.SECRETS and not any(
            self._holds_secret(piece) for piece in (text, *_embedded_texts(text))
        ):
            return text
        self._count_mask("image or file")
        return PIXEL

    # Texts.

    def mask_text(self, text: str) -> str:
        """Mask what is found in `text`; at level `text` blur all of it."""
        return self._blur(text) if self.level == Level.TEXT else self._mask_matches(text)

    def mask_line(self, text: str) -> str:
        """Like `mask_text`, for one line that was taken from a text, such as a title.

        Also masks secrets that are cut off at its end, or that had line ends in the original text.
        """
        if self.level == Level.TEXT or not text:
            return self.mask_text(text)
        text = _HIDDEN.sub("", text)
        bare = _HALF_HIDDEN.sub("", text.rstrip("…")).rstrip()
        full_line = next((piece for piece in self.pieces.begins if bare and piece.startswith(bare)), bare)
        joined, back, blanks = _remove_matches(_BLANK, full_line)
        finds = [
            *self._find_all(full_line),
            *(find.mapped_back(back) for find in self._match_across_lines(joined, blanks)),
        ]
        if full_line == bare:
            finds += [find for find in self._find_truncated(bare) if find.start < len(bare) < find.end]
            last = _LAST_ENCODED.search(bare)
            if (
                last
                and (decoded := _decode_text(last.group()))
                and any(f.end > len(decoded) for f in self._find_truncated(decoded))
            ):
                finds.append(_Match(last.start(), len(bare), _ENCODED_RANK, "encoded secret", last.group()))
        cut = [f._replace(end=min(f.end, len(bare))) for f in finds if f.start < len(bare)]
        return self._insert_masks(bare, cut) + text[len(bare) :]

    def secrets_in(self, text: str) -> list[tuple[str, str]]:
        """The rule's name and the text of each match in `text`, in order. Overlapping ones are merged."""
        finds = sorted(self._match_rules(text))
        return [(find.name, find.secret) for find in _merge_overlaps(finds, text)] if finds else []

    def _find_truncated(self, text: str) -> Iterator[_Match]:
        for continuation in _CONTINUATIONS:
            yield from self._match_rules(text + continuation, secret=True)

    def _mask_matches(self, text: str, *, bare: bool = True) -> str:
        """Mask `text`; `bare`: also separate texts that look random."""
        if not text:
            return text
        if "base64," in text:
            text = _DATA_URL.sub(self._mask_data_url, text)
        return self._insert_masks(text, self._find_all(text, bare=bare))

    def _find_all(self, text: str, *, bare: bool = True) -> list[_Match]:
        if len(text) < _MIN_SECRET_CHARS:
            return [*self._match_pieces(text)]
        return [*self._find_rules(text), *self._match_pieces(text), *(self._match_random(text) if bare else ())]

    def _insert_masks(self, text: str, finds: list[_Match]) -> str:
        if not finds:
            return text
        pieces, offset = [], 0
        for find in _merge_overlaps(sorted(finds), text):
            pieces += [text[offset : find.start], self._make_mask(find.name, find.secret)]
            offset = find.end
        return "".join([*pieces, text[offset:]])

    def _find_rules(self, text: str, *, lines: bool = True) -> Iterator[_Match]:
        """Matches of the rules in `text`, also in base64. With `lines` also across line ends."""
        yield from self._match_rules(text)
        yield from self._match_encoded(text)
        shown, back = text, lambda at: at
        if _HIDDEN.search(text):
            shown, back, _ = _remove_matches(_HIDDEN, text)
            yield from (find.mapped_back(back) for find in self._match_rules(shown))
        if lines and "\n" in shown:
            joined, before, breaks = _remove_matches(_BREAK, shown)
            finds = [
                *self._match_across_lines(joined, breaks),
                *(f for f in self._match_encoded(joined) if _spans_break(breaks, f)),
            ]
            yield from (find.mapped_back(before).mapped_back(back) for find in finds)

    def _match_rules(self, text: str, *, secret: bool = False, breaks: list[int] | None = None) -> Iterator[_Match]:
        """Matches of the rules in `text`; with `secret` only rules for secrets.

        `breaks` are positions at which a line end was removed: they are borders of a word.
        """
        lower = text.lower()
        long = " ".join(word for word in text.split() if len(word) >= MIN_KEY_CHARS)
        rules = self._secret if secret else self._rules
        if self._starts[breaks is not None].search(long):
            rules = [*self._keys, *rules]
        for rank, rule in rules:
            shown = long if rule.word else lower if rule.fold else text
            if rule.holds:
                for required in rule.holds:  # Faster than any().
                    if required in shown:
                        break
                else:
                    continue
            passes = CHECKS.get(rule.check)
            if rule.word and not (rule.pattern if breaks is None else rule.inner).search(long):
                continue
            for match in _iter_matches(rule, text, breaks):
                start = match.end(rule.keep) if rule.keep else match.start()
                secret_text = text[start : match.end()]
                if secret_text and (passes is None or passes(secret_text)):
                    yield _Match(start, match.end(), rank, rule.name, secret_text)

    def _match_across_lines(self, joined: str, breaks: list[int]) -> Iterator[_Match]:
        """Secrets in `joined` that span the line ends, which were at `breaks`."""
        for find in self._match_rules(joined, secret=True, breaks=breaks):
            first = bisect_right(breaks, find.start)
            inside = [offset for offset in breaks[first : bisect_right(breaks, find.end - 1)] if offset > find.start]
            if not inside:
                continue
            end = find.end
            for offset, next_offset in zip(inside, [*inside[1:], find.end], strict=True):
                ends = next_offset in breaks or _AFTER.match(joined, next_offset)
                is_continued = offset == inside[0] and self._needs_rest(find, joined[find.start : offset])
                if not ends or (_is_plain(joined[offset:next_offset]) and not is_continued):
                    end = offset
                    break
            if end > inside[0]:
                yield find._replace(end=end, secret=joined[find.start : end])

    def _needs_rest(self, find: _Match, first: str) -> bool:
        """Whether `first`, the beginning of `find`, begins a key but is none by itself."""
        return self._is_key(find) and not _is_plain(first) and not self._matches_alone(find, first)

    def _is_key(self, find: _Match) -> bool:
        return any(find.rank == rank for rank, _ in self._keys)

    def _matches_alone(self, find: _Match, text: str) -> bool:
        return any(match.rank == find.rank for match in self._match_rules(text, secret=True))

    def _match_encoded(self, text: str) -> Iterator[_Match]:
        for match in _ENCODED.finditer(text):
            word = match.group()
            if len(word) <= _LONGEST_ENCODED and _decode_text(word[:64]) and self._holds_secret(_decode_text(word)):
                yield _Match(match.start(), match.end(), _ENCODED_RANK, "encoded secret", word)

    def _holds_secret(self, text: str) -> bool:
        return next(self._match_rules(text), None) is not None

    def _match_random(self, text: str) -> Iterator[_Match]:
        if len(text) < 24:
            return
        for match in _BARE_RANDOM.finditer(text):
            candidate = match.group()
            if candidate in self._ids or candidate.startswith(self._id_starts):
                continue
            if is_dense(candidate) and not _decode_text(candidate):
                yield _Match(match.start(), match.end(), _RANDOM_RANK, "random text", candidate)

    def _match_pieces(self, text: str) -> Iterator[_Match]:
        for long_piece, piece in self.pieces.long.items():
            offset = text.find(long_piece)
            while offset >= 0:
                yield _Match(offset, offset + len(long_piece), _PIECE_RANK, piece.name, piece.secret)
                offset = text.find(long_piece, offset + len(long_piece))
        if head := self.pieces.heads.get(text[:_KEY_WINDOW]):
            yield _Match(0, len(head.text), _PIECE_RANK, head.name, head.secret)
        if tail := self.pieces.tails.get(text[-_KEY_WINDOW:]):
            yield _Match(len(text) - len(tail.text), len(text), _PIECE_RANK, tail.name, tail.secret)

    def _mask_data_url(self, match: re.Match[str]) -> str:
        data = match.group(2)
        new = self._mask_media(data)
        return match.group() if new == data else f"data:image/png;base64,{new}"

    def _make_mask(self, kind: str, secret: str) -> str:
        numbers = self._known.setdefault(kind, {})
        number = numbers.setdefault(secret, len(numbers) + 1)
        self._count_mask(kind)
        return f"⟨{kind} {number}⟩"

    def _blur(self, text: str) -> str:
        if text:
            self._count_mask("text")
        return _DIGIT.sub("0", _LETTER.sub("x", text))

    def _count_mask(self, what: str) -> None:
        self.report[what] = self.report.get(what, 0) + 1


def _kind_of_block(block_: Block) -> str:
    return (
        HEADER if block_.kind == HEADER else "media" if block_.kind == "image" and block_.body[:1] == b'"' else "part"
    )


def _iter_matches(rule: MaskingRule, text: str, breaks: list[int] | None) -> Iterator[re.Match[str]]:
    if breaks is None:
        yield from rule.pattern.finditer(text)
        return
    offset = 0
    while match := rule.inner.search(text, offset):
        borders = zip(match.span(), rule.borders, strict=True)
        is_bounded = all(at in breaks or border.match(text, at) for at, border in borders)
        if is_bounded:
            yield match
        offset = max(match.end() if is_bounded else 0, match.start() + 1)


def _merge_overlaps(finds: list[_Match], text: str) -> Iterator[_Match]:
    open_ = finds[0]
    for find in finds[1:]:
        if find.start >= open_.end:
            yield open_
            open_ = find
            continue
        best = min(open_, find, key=lambda match: (match.rank, match.start - match.end))
        end = max(open_.end, find.end)
        is_extended = (open_.start, end) != (best.start, best.end)
        open_ = best._replace(
            start=open_.start, end=end, secret=text[open_.start : end] if is_extended else best.secret
        )
    yield open_


def _has_long_end(text: str) -> bool:
    ends = (*text.split(None, 1)[:1], *text.rsplit(None, 1)[-1:])
    return any(len(word) > _WINDOW / 2 for word in ends)


def _is_plain(text: str) -> bool:
    return all(PLAIN_PART.fullmatch(part) for part in _SEPARATOR.split(text))


def _one_line(text: str) -> str:
    return " ".join(_HIDDEN.sub("", text).split())


def _parse_json(text: str) -> Json:
    if text[:1] not in ("{", "[") and text.lstrip()[:1] not in ("{", "["):
        return None
    try:
        return canonical.loads(text)
    except (ValueError, RecursionError):
        return None


def _flatten(value: Json) -> Json:
    """Return `value` with text for each member that is nested too deeply to be masked."""
    if isinstance(value, dict):
        return {key: canonical.dump_text(item) if canonical.is_deep(item) else item for key, item in value.items()}
    return canonical.dump_text(value) if canonical.is_deep(value) else value


def _remove_matches(pattern: re.Pattern[str], text: str) -> tuple[str, Callable[[int], int], list[int]]:
    """Remove the matches of `pattern`.

    Also returns a map back to positions in `text`, and the cut positions.
    """
    pieces: list[str] = []
    starts, shifts, offset, length = [0], [0], 0, 0
    for match in pattern.finditer(text):
        pieces.append(text[offset : match.start()])
        length += match.start() - offset
        offset = match.end()
        starts.append(length)
        shifts.append(offset - length)
    pieces.append(text[offset:])
    return "".join(pieces), lambda n: n + shifts[bisect_right(starts, n) - 1], starts[1:]


def _spans_break(breaks: list[int], find: _Match) -> bool:
    return bisect_right(breaks, find.start) < bisect_right(breaks, find.end - 1)


def _iter_keys(items: list[Json], key: str) -> Iterator[str]:
    """The key of each of `items`: an option before it, such as ``--token``, else `key`."""
    before = ""
    for item in items:
        yield before or key
        before = item if isinstance(item, str) and _FLAG.fullmatch(item) else ""


def _is_media(text: str) -> bool:
    """Whether `text` are base64 of binary data."""
    if len(text) < _SHORTEST_MEDIA or _NO_BASE64.search(text):
        return False
    return text.startswith(_MEDIA) or not _decode_text(text[:_SHORTEST_MEDIA])


def _decode_bytes(encoded: str) -> bytes:
    bare = "".join(encoded.split()).rstrip("=").translate(_URL_SAFE)
    bare = bare[: len(bare) - len(bare) % 4] if len(bare) % 4 == 1 else bare
    try:
        return base64.b64decode(bare + "=" * (-len(bare) % 4))
    except binascii.Error:
        return b""


def _decode_text(encoded: str) -> str:
    """Decode base64 to plain text; "" if it is none."""
    data = _decode_bytes(encoded)
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        # A truncated text may end inside a character.
        if error.start < len(data) - 3:
            return ""
        text = data[: error.start].decode("utf-8")
    return text if all(c.isprintable() or c in "\t\r\n\x1b" for c in text) else ""


def _embedded_texts(encoded: str) -> Iterator[str]:
    """Texts in the bytes of an image or a file in base64. They include UTF-16 and a PNG's compressed texts."""
    data = _decode_bytes(encoded)
    yield data.decode("latin-1")
    yield data.replace(b"\0", b"").decode("latin-1")
    offset = 8 if data.startswith(b"\x89PNG") else len(data)
    while offset + 8 <= len(data):
        length, kind = int.from_bytes(data[offset : offset + 4], "big"), data[offset + 4 : offset + 8]
        chunk = data[offset + 8 : offset + 8 + length]
        begin = chunk.find(b"\x78") if kind in (b"zTXt", b"iTXt", b"iCCP") else -1
        if begin >= 0:
            with suppress(zlib.error):
                yield zlib.decompressobj().decompress(chunk[begin:], _LARGEST_CHUNK).decode("latin-1")
        offset += 12 + length


def describe_report(report: dict[str, int]) -> list[str]:
    """One line for each kind of mask: ``3 x api key``."""
    return [f"{n:,} x {what}" for what, n in report.items()]


def summarize_report(report: dict[str, int]) -> str:
    return ", ".join(describe_report(report)) or "nothing was found to mask"
