"""A Go repository: Pedro Bot, a chat bot that serves reminders, channels, tokens and more over HTTP.

It is made here, so that it has the size that the authors name (about 50 files, 60,000 tokens): packages that import
each other, tests beside them and documentation.
"""

from __future__ import annotations

from pathlib import Path

MODULE = "github.com/pedro/bot"
ENTITIES = (
    ("reminder", "Text", "what is said when it is due"), ("channel", "Topic", "what is spoken of in it"),
    ("token", "Scope", "what its bearer may do"), ("webhook", "Target", "the address that is called"),
    ("command", "Pattern", "what a message begins with"), ("session", "Agent", "the program that opened it"),
    ("job", "Payload", "what the worker needs"), ("plugin", "Version", "the version that was loaded"),
    ("audit", "Detail", "what was done, in words"), ("quota", "Period", "how long it holds"),
)  # fmt: skip
"""Each has a table, a store, a handler, a service and a test: five files."""
VERBS = (
    ("Archive", "moves it out of every list but that of the administrators"),
    ("Restore", "undoes Archive, unless the retention has passed"),
    ("Touch", "notes that it was used, so that the cleaner leaves it alone"),
    ("Rename", "gives it another name, which must be free in its channel"),
    ("Transfer", "gives it to another owner, who must have accepted it"),
    ("Lock", "keeps everybody else from changing it until Unlock"),
    ("Unlock", "ends what Lock began, for the owner of the lock alone"),
    ("Share", "lets the members of its channel read it, until its owner takes that back"),
)


def template(name: str) -> str:
    """A piece of Go source, of the folder ``templates``."""
    return (Path(__file__).parent / "templates" / f"{name}.go.txt").read_text(encoding="utf-8")


def files(entities: int = len(ENTITIES)) -> dict[str, str]:
    """The repository's files by path, with so many of the `ENTITIES`."""
    made = {
        "go.mod": f"module {MODULE}\n\ngo 1.24\n",
        "cmd/bot/main.go": template("main").format(module=MODULE),
        "pkg/api/middleware.go": template("middleware"),
        "README.md": "# Pedro Bot\n\nReminders, channels and tokens over HTTP. What one may ask: docs/limits.md.\n",
        "docs/limits.md": "# Limits\n\nA client may send 1 MB in a request. It may ask as often as it likes, so far.\n",
    }
    for number, (name, field, about) in enumerate(ENTITIES[:entities]):
        made |= _entity(
            {"name": name, "Name": name.capitalize(), "field": field.lower(), "Field": field, "about": about}, number
        )
    return made


def _entity(words: dict[str, str], number: int) -> dict[str, str]:
    name = words["name"]
    words = {**words, "module": MODULE, "limit": str(20 * (number + 1))}
    each = [{**words, "Verb": verb, "verb": verb.lower(), "what": what} for verb, what in VERBS]
    calls = "".join("\t{Verb}{Name}(ctx Context, id string, by string) error\n".format(**one) for one in each)
    return {
        f"pkg/db/{name}.go": template("model").format(interface=calls, **words),
        f"pkg/db/{name}_queries.go": template("queries").format(**words)
        + "".join(template("query").format(**one) for one in each),
        f"pkg/api/{name}_handler.go": template("handler").format(**words)
        + "".join(template("route").format(**one) for one in each),
        f"pkg/{name}/service.go": template("service").format(**words)
        + "".join(template("rule").format(**one) for one in each),
        f"pkg/{name}/service_test.go": template("test").format(**words)
        + "".join(template("case").format(**one) for one in each),
    }


def write(folder: Path, entities: int = len(ENTITIES)) -> int:
    """Write the repository into `folder`; how many files it has. It is one of its own: what a repository round it
    leaves out is not left out here."""
    made = files(entities)
    (folder / ".git").mkdir(parents=True, exist_ok=True)
    for path, text in made.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")
    return len(made)
