"""Small sessions built by hand through core: every category, hostile text, and as many blocks as one likes."""

from __future__ import annotations

from dataclasses import dataclass, field

from ctxtui.analysis.book import Book
from ctxtui.core import block as blocks
from ctxtui.core import canonical
from ctxtui.core.block import Block, Item, Place
from ctxtui.core.call import Call, Epoch, EpochStart, Fidelity
from ctxtui.core.session import MAIN, CallSeen, Described, Happened, Session, ThreadSeen, TipMoved
from ctxtui.core.tree import ROOT
from ctxtui.core.usage import Usage
from ctxtui.services.config.package_data import model_table
from ctxtui.tokens.block_features import count_features
from ctxtui.tokens.features import Features
from ctxtui.tokens.models import ModelCard
from ctxtui.wire.registry import DIALECTS
from tests.wire import talk

MODEL = "claude-opus-4-20250514"
START = 1_750_000_000.0
PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

HOSTILE = (
    "\x1b[31mred\x1b[0m \x1b]0;title\x07 [bold]markup[/bold] a\u202eb"
    " \x00 \u9f8d\u864e\u767b\u5f55 e\u0301 \U0001f468\u200d\U0001f469\u200d\U0001f467"
)


def quick_measure(card: ModelCard):  # type: ignore[no-untyped-def]
    """Features with four characters a token: no vocabulary needed."""

    def measure(block: Block) -> Features:
        return count_features(block, lambda text: -(-len(text) // 4), card)

    return measure


def book_of(session: Session, *, counted: bool = True) -> Book:
    book = Book(session, model_table(), quick_measure)
    if counted:
        book.advance()
    return book


@dataclass
class Story:
    """Writes a session call by call, as a reader would."""

    thread: str = MAIN
    session: Session = field(default_factory=Session)
    model: str = MODEL
    head: int = ROOT
    calls: int = 0
    clock: float = START
    cached: int = 0
    epoch: Epoch = field(default_factory=Epoch)
    hidden_tokens: int = 13_600

    def add(self, *items: Item) -> Story:
        self.head = self.session.tree.extend(self.head, items)
        return self

    def user(self, text: str, mark: str = "") -> Story:
        return self.add(
            Item(blocks.header("user"), Place("messages", "user")),
            Item(blocks.text(text), Place("messages", "user", mark)),
        )

    def results(self, *parts: tuple[str, object], error: bool = False) -> Story:
        self.add(Item(blocks.header("user"), Place("messages", "user")))
        for call_id, content in parts:
            value = {"tool_use_id": call_id, "type": "tool_result", "content": content}
            if error:
                value["is_error"] = True
            self.add(Item(blocks.from_part(value), Place("messages", "user")))
        return self

    def call(
        self,
        *answer: object,
        pause: float = 20.0,
        usage: bool = True,
        missed: bool = False,
        fidelity: Fidelity = Fidelity.TRANSCRIPT,
        error: str = "",
    ) -> Story:
        """One request with the context so far; `answer` are texts, or provider's blocks as dicts."""
        self.calls += 1
        sent, self.clock = self.head, self.clock + pause
        self.add(Item(blocks.header("assistant"), Place("messages", "assistant")))
        for part in answer:
            made = blocks.text(part) if isinstance(part, str) else blocks.from_part(part)
            self.add(Item(made, Place("messages", "assistant")))
        seen = Call(
            f"{self.thread}-{self.calls}",
            self.thread,
            sent,
            sent,
            self.head,
            provider="anthropic",
            model=self.model,
            started=self.clock,
            ended=self.clock + 8,
            fidelity=fidelity,
            epoch=self.epoch,
            usage=self._usage(sent, answer, missed) if usage else None,
            stop_reason="tool_use" if any(isinstance(part, dict) for part in answer) else "end_turn",
            error=error,
        )
        self.session.fold([CallSeen(seen), TipMoved(self.thread, self.head)])
        return self

    def _usage(self, sent: int, answer: tuple[object, ...], missed: bool) -> Usage:
        size = self.hidden_tokens + sum(
            len(self.session.tree[node].block.body) // 4 for node in self.session.tree.path(sent)
        )
        read = 0 if missed else min(self.cached, size)
        self.cached = size - 4
        out = sum(len(str(part)) // 4 for part in answer)
        return Usage(fresh=4, cache_read=read, write_5m=max(0, size - 4 - read), output=out)

    def tip(self) -> Story:
        self.session.fold([TipMoved(self.thread, self.head)])
        return self


def use(id_: str, name: str, **given: object) -> dict[str, object]:
    return {"type": "tool_use", "id": id_, "name": name, "input": given}


def thinking(text: str) -> dict[str, object]:
    return {"type": "thinking", "thinking": text, "signature": "x" * 40}


CODE = "\n".join(
    f"{n:>6}\u2192{line}"
    for n, line in enumerate(
        [
            "import {Command} from '@oclif/core'",
            "",
            "export default class World extends Command {",
            "  static args = {}",
            "  static description = 'Say hello world'",
            *[f"  static flag{n} = {n}" for n in range(17)],
            "}",
        ],
        1,
    )
)
MOCHA = (
    "warning: something is off\n\n  hello\n    \u2713 says hello\n\n  12 passing (18s)\n  1 failing\n\n  1) world:\n"
)


def every_category() -> Session:
    """A session with all categories, two turns, a miss after a pause, thinking of an earlier turn, an error result."""
    story = Story()
    story.session.apply(
        Described(id="0b5e", title="handy-cli: implement CLAUDE.md", source="claude code", cwd="/home/me/handy-cli")
    )
    tool = {"name": "Bash", "description": "Runs a command.", "input_schema": {"type": "object"}}
    mcp = {"name": "mcp__puppeteer__navigate", "description": "Opens a page.", "input_schema": {"type": "object"}}
    story.add(Item(blocks.make("tool", tool), Place("tools")), Item(blocks.make("tool", mcp), Place("tools")))
    story.add(Item(blocks.text("You are a careful engineer. " * 120), Place("system")))
    story.user("# CLAUDE.md\n\nUse pnpm. " * 60, "memory")
    story.user("I have updated HANDY_SOCKET_PATH=/v1/update to a new path. I think it should be tested.")
    story.call(thinking("Let me run the demo script first."), "Let me look.", use("t1", "Bash", command="npm test"))
    story.results(("t1", MOCHA + "x" * 9000))
    story.call(use("t2", "Read", file_path="/home/me/handy-cli/src/hello/world.ts"))
    story.results(("t2", CODE)).call("## Summary\n\nThe **WebSocket** connection is now `working`.\n\n- one\n- two")
    story.user("A couple of things - I hate .sh tests.")
    story.call(use("t3", "mcp__puppeteer__navigate", url="https://example.org"), pause=3120, missed=True)
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}}
    story.results(("t3", [{"type": "text", "text": "a page"}, image]))
    story.add(Item(blocks.from_part(image), Place("messages", "user")))
    document = {"type": "document", "title": "spec", "source": {"type": "text", "data": "The specification."}}
    story.add(Item(blocks.from_part(document), Place("messages", "user")))
    story.call(use("t4", "Bash", command="false"))
    story.results(("t4", "command not found"), error=True)
    story.call("Done.").tip()
    return story.session


def compacted() -> Session:
    """Two epochs: the second begins with a summary of the first."""
    story = Story()
    story.session.apply(Described(id="c0", title="compacted"))
    story.user("start " * 900).call("one", use("a", "Bash", command="ls"))
    story.results(("a", "file\n" * 4000)).call("two").user("go on").call("three")
    story.head, story.cached = ROOT, 0
    story.epoch = Epoch(2, EpochStart.COMPACTION, "24.2k \u2192 3.1k")
    story.user("Summary of what was done. " * 40, "summary").user("go on").call("four", missed=True)
    story.epoch = Epoch(3, EpochStart.RESUME)
    story.user("next day").call("five").tip()
    return story.session


def hostile() -> Session:
    """Escapes, markup, direction marks, wide characters and an unreadable record."""
    story = Story()
    story.session.apply(Described(id="h0", title=HOSTILE))
    story.user(HOSTILE).call(HOSTILE, use("h1", HOSTILE[:20], command=HOSTILE))
    story.results(("h1", HOSTILE + "\n" + HOSTILE * 30))
    story.add(Item(blocks.unreadable("line 812", "not JSON: Expecting value"), Place("messages", "user")))
    story.call("\u767b\u5f55\u6d4b\u8bd5 " * 40)
    return story.session


def with_subagents() -> Session:
    """A main thread and two agents that it started."""
    session = every_category()
    for name in ("Find server types and socket messages", "Update all relative imports"):
        side = Story(thread=name[:4].lower(), session=session, hidden_tokens=2000)
        session.fold([ThreadSeen(side.thread, name, MAIN)])
        side.user(name).call("Looking.", use("s", "Grep", pattern="socket")).results(("s", "a\nb\n" * 99)).call(
            "Found."
        )
    return session


def troubled() -> Session:
    """A call that failed, one without usage."""
    story = Story()
    story.session.apply(Described(id="e0", title="troubled"))
    story.user("hello").call("a").user("again").call("b", usage=False, error="overloaded_error: try again")
    story.session.apply(Happened("error", "529 overloaded", after="main-2"))
    return story.session


def long_session(messages: int, *, text: str = "some words about the work in hand") -> Session:
    """`messages` rounds of one call and one result each."""
    story = Story()
    story.session.apply(Described(id="long", title=f"{messages:,} messages"))
    story.user("do it")
    sizes = Usage(fresh=4, cache_read=20_000, write_5m=300, output=40)
    for number in range(messages):
        sent = story.head
        header = Item(blocks.header("assistant"), Place("messages", "assistant"))
        made = Item(
            blocks.from_part(use(f"u{number}", "Bash", command=f"echo {number}")), Place("messages", "assistant")
        )
        story.add(header, made)
        call = Call(
            f"c{number}",
            MAIN,
            sent,
            sent,
            story.head,
            provider="anthropic",
            model=MODEL,
            started=START + number,
            usage=sizes,
        )
        story.session.apply(CallSeen(call))
        story.results((f"u{number}", f"{text} {number}"))
    return story.tip().session


def session_in(dialect: str) -> tuple[Session, bytes]:
    """A session of one call in a wire dialect, with a tool's call and result, and the body of its request."""
    body = canonical.dumps(
        getattr(talk, dialect)([("user", "hello"), ("call", "c1", '{"path":"a"}'), ("result", "c1", "one")])
    )
    request = DIALECTS[dialect].decode_request(body)
    session = Session()
    sent = session.tree.extend(ROOT, request.items)
    answer = [
        Item(blocks.header("assistant"), Place("messages", "assistant")),
        Item(blocks.text("the answer"), Place("messages", "assistant")),
    ]
    head = session.tree.extend(sent, answer)
    call = Call(
        "c1",
        MAIN,
        sent,
        sent,
        head,
        fidelity=Fidelity.WIRE,
        model="m",
        skeleton=request.skeleton,
        usage=Usage(fresh=30, output=5),
        started=START,
    )
    session.fold([Described(source="har"), ThreadSeen(MAIN), CallSeen(call)])
    return session, body
