"""Go sources of a job queue: files of a given size, and the summaries a small window leaves of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from sessions.dice import Dice

HEAD: Final = """\
// Package {package} {purpose}.
package {package}

import (
\t"context"
\t"errors"
\t"fmt"
\t"sort"
\t"sync"
\t"time"
)

// Err{Name}NotFound is returned when no {name} has the wanted identifier.
var Err{Name}NotFound = errors.New("{package}: {name} not found")

// {Name} is one {name} as the queue keeps it in memory and in the journal.
type {Name} struct {{
\tID        string
\tCreatedAt time.Time
\tUpdatedAt time.Time
\tAttempts  int
\tPayload   map[string]string
}}

// {Name}Store holds every {name} and is safe for concurrent use by several workers.
type {Name}Store struct {{
\tmu      sync.RWMutex
\titems   map[string]*{Name}
\tchanged chan string
\tlimit   int
}}
"""
FUNCTIONS: Final = (
    """
// New{Name}Store returns an empty store that keeps at most limit entries.
func New{Name}Store(limit int) *{Name}Store {{
\treturn &{Name}Store{{items: make(map[string]*{Name}), changed: make(chan string, limit), limit: limit}}
}}
""",
    """
// Find{Name} returns the {name} with the given identifier, or Err{Name}NotFound.
func (s *{Name}Store) Find{Name}(ctx context.Context, id string) (*{Name}, error) {{
\ts.mu.RLock()
\tdefer s.mu.RUnlock()
\titem, ok := s.items[id]
\tif !ok {{
\t\treturn nil, fmt.Errorf("find {name} %q: %w", id, Err{Name}NotFound)
\t}}
\treturn item, ctx.Err()
}}
""",
    """
// Put{Name} stores the {name}, replaces an older version of it, and tells whoever waits for changes.
func (s *{Name}Store) Put{Name}(ctx context.Context, item *{Name}) error {{
\tif item.ID == "" {{
\t\treturn errors.New("put {name}: identifier is empty")
\t}}
\ts.mu.Lock()
\tdefer s.mu.Unlock()
\tif len(s.items) >= s.limit {{
\t\treturn fmt.Errorf("put {name} %q: the store is full at %d entries", item.ID, s.limit)
\t}}
\titem.UpdatedAt = time.Now()
\ts.items[item.ID] = item
\tselect {{
\tcase s.changed <- item.ID:
\tdefault:
\t}}
\treturn ctx.Err()
}}
""",
    """
// Oldest{Name}s returns up to count entries, those first that have waited for the longest time.
func (s *{Name}Store) Oldest{Name}s(count int) []*{Name} {{
\ts.mu.RLock()
\tfound := make([]*{Name}, 0, len(s.items))
\tfor _, item := range s.items {{
\t\tfound = append(found, item)
\t}}
\ts.mu.RUnlock()
\tsort.Slice(found, func(i, j int) bool {{ return found[i].CreatedAt.Before(found[j].CreatedAt) }})
\tif len(found) > count {{
\t\tfound = found[:count]
\t}}
\treturn found
}}
""",
    """
// Retry{Name} counts an attempt and waits before the next one, longer each time and never beyond the maximum.
func (s *{Name}Store) Retry{Name}(ctx context.Context, id string, maximum time.Duration) error {{
\titem, err := s.Find{Name}(ctx, id)
\tif err != nil {{
\t\treturn err
\t}}
\titem.Attempts++
\tdelay := time.Duration(item.Attempts*item.Attempts) * 250 * time.Millisecond
\tif delay > maximum {{
\t\tdelay = maximum
\t}}
\tselect {{
\tcase <-time.After(delay):
\t\treturn nil
\tcase <-ctx.Done():
\t\treturn fmt.Errorf("retry {name} %q: %w", id, ctx.Err())
\t}}
}}
""",
    """
// Forget{Name}s removes every entry that has not changed since the given moment and returns how many there were.
func (s *{Name}Store) Forget{Name}s(since time.Time) int {{
\ts.mu.Lock()
\tdefer s.mu.Unlock()
\tremoved := 0
\tfor id, item := range s.items {{
\t\tif item.UpdatedAt.Before(since) {{
\t\t\tdelete(s.items, id)
\t\t\tremoved++
\t\t}}
\t}}
\treturn removed
}}
""",
    """
// Watch{Name}s calls visit for every {name} that changes until the context is done or visit returns an error.
func (s *{Name}Store) Watch{Name}s(ctx context.Context, visit func(*{Name}) error) error {{
\tfor {{
\t\tselect {{
\t\tcase id := <-s.changed:
\t\t\titem, err := s.Find{Name}(ctx, id)
\t\t\tif errors.Is(err, Err{Name}NotFound) {{
\t\t\t\tcontinue
\t\t\t}}
\t\t\tif err != nil {{
\t\t\t\treturn err
\t\t\t}}
\t\t\tif err := visit(item); err != nil {{
\t\t\t\treturn fmt.Errorf("watch {name}s: %w", err)
\t\t\t}}
\t\tcase <-ctx.Done():
\t\t\treturn nil
\t\t}}
\t}}
}}
""",
)
NOTES: Final = (
    "The journal is written before the answer is sent, so that a crash never loses an accepted entry.",
    "Workers renew their lease every ten seconds; an entry without a lease is given to the next worker.",
    "The order of entries with the same creation time is not defined and must not be relied upon.",
    "Tests replace the clock, therefore no function outside this package may read the time directly.",
    "A full store is not an error of the caller: it should wait for a change and then try once more.",
    "The limit is checked while the lock is held, otherwise two writers could both take the last place.",
)
PURPOSES: Final = (
    "keeps what is waiting to be done",
    "gives work to those who ask for it",
    "remembers what has been finished",
    "decides who may go first",
)


def _notes(dice: Dice) -> Iterator[str]:
    while True:
        yield f"// {dice.pick(NOTES)}\n"


def source(package: str, names: list[str], size: int) -> str:
    """A file of exactly `size` characters: types and functions for each of `names`, then remarks."""
    dice = Dice(f"{package} {names} {size}")
    text = ""
    for name in names:
        head = HEAD if not text else HEAD[HEAD.index("// Err") :]
        words = {"package": package, "purpose": dice.pick(PURPOSES), "name": name.lower(), "Name": name}
        for part in (head, *FUNCTIONS):
            piece = part.format(**words)
            if len(text) + len(piece) + (1 if text else 0) <= size - 140:
                text += ("\n" if text and part == head else "") + piece
    notes = _notes(dice)
    while size - len(text) > 140:
        text += next(notes)
    last = "// " + " ".join(dice.some(NOTES, 2))
    return text + last[: size - len(text) - 2] + ".\n"


DECLARED: Final = ("package ", "import ", "type ", "func ", "const ", "var ")


def summarized(text: str) -> str:
    """What is left of a file that does not fit, by the document's rule: lines that begin with a declaration."""
    return "".join(f"{line}\n" for line in text.splitlines() if line.strip().startswith(DECLARED))
