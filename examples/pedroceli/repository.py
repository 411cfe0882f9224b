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

_MODEL = """// Package db holds the tables of the bot.
package db

import (
	"errors"
	"time"
)

// Err{Name}NotFound is returned where no {name} has the identifier.
var Err{Name}NotFound = errors.New("{name} not found")

// Max{Name}s is how many of them one owner may have.
const Max{Name}s = {limit}

// {Name} is a row of the table {name}s.
type {Name} struct {{
	ID        string
	Owner     string
	Name      string
	{Field} string // {about}
	Archived  bool
	LockedBy  string
	CreatedAt time.Time
	UsedAt    time.Time
}}

// {Name}Store is what the services need of the table {name}s.
type {Name}Store interface {{
	Get{Name}(ctx Context, id string) (*{Name}, error)
	List{Name}s(ctx Context, owner string, limit int) ([]*{Name}, error)
	Save{Name}(ctx Context, row *{Name}) error
{interface}}}
"""
_QUERIES = """package db

import (
	"fmt"
	"time"
)

const select{Name} = `SELECT id, owner, name, {field}, archived, locked_by, created_at, used_at FROM {name}s`

// Get{Name} returns the {name} with the identifier, or Err{Name}NotFound.
func (s *SQL) Get{Name}(ctx Context, id string) (*{Name}, error) {{
	row := s.pool.QueryRow(ctx, select{Name}+` WHERE id = $1`, id)
	found := &{Name}{{}}
	err := row.Scan(&found.ID, &found.Owner, &found.Name, &found.{Field}, &found.Archived, &found.LockedBy,
		&found.CreatedAt, &found.UsedAt)
	if isNoRows(err) {{
		return nil, fmt.Errorf("get {name} %q: %w", id, Err{Name}NotFound)
	}}
	return found, err
}}

// List{Name}s returns the {name}s of an owner, those first that were used last.
func (s *SQL) List{Name}s(ctx Context, owner string, limit int) ([]*{Name}, error) {{
	const newest = ` WHERE owner = $1 AND NOT archived ORDER BY used_at DESC LIMIT $2`
	rows, err := s.pool.Query(ctx, select{Name}+newest, owner, limit)
	if err != nil {{
		return nil, fmt.Errorf("list {name}s of %q: %w", owner, err)
	}}
	defer rows.Close()
	var found []*{Name}
	for rows.Next() {{
		one := &{Name}{{}}
		err := rows.Scan(&one.ID, &one.Owner, &one.Name, &one.{Field}, &one.Archived, &one.LockedBy,
			&one.CreatedAt, &one.UsedAt)
		if err != nil {{
			return nil, err
		}}
		found = append(found, one)
	}}
	return found, rows.Err()
}}

// Save{Name} writes a {name}, a new one or one that is there.
func (s *SQL) Save{Name}(ctx Context, row *{Name}) error {{
	_, err := s.pool.Exec(ctx, `INSERT INTO {name}s (id, owner, name, {field}, archived, locked_by, created_at, used_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
		ON CONFLICT (id) DO UPDATE SET name = $3, {field} = $4, archived = $5, locked_by = $6, used_at = $8`,
		row.ID, row.Owner, row.Name, row.{Field}, row.Archived, row.LockedBy, row.CreatedAt, time.Now())
	return err
}}
"""
_QUERY = """
// {Verb}{Name} {what}.
func (s *SQL) {Verb}{Name}(ctx Context, id string, by string) error {{
	row, err := s.Get{Name}(ctx, id)
	if err != nil {{
		return fmt.Errorf("{verb} {name}: %w", err)
	}}
	if row.LockedBy != "" && row.LockedBy != by {{
		return fmt.Errorf("{verb} {name} %q: locked by %s", id, row.LockedBy)
	}}
	tag, err := s.pool.Exec(ctx, `UPDATE {name}s SET {verb}d_at = now(), {verb}d_by = $2 WHERE id = $1`, id, by)
	if err == nil && tag.RowsAffected() != 1 {{
		err = Err{Name}NotFound
	}}
	return err
}}
"""
_HANDLER = """package api

import (
	"encoding/json"
	"errors"
	"net/http"

	"{module}/pkg/db"
	"{module}/pkg/{name}"
)

// {Name}Handler answers what is asked of {name}s over HTTP.
type {Name}Handler struct {{
	service *{name}.Service
	limits  *Limits
}}

// New{Name}Handler makes a handler that holds requests to limits.
func New{Name}Handler(service *{name}.Service, limits *Limits) *{Name}Handler {{
	return &{Name}Handler{{service: service, limits: limits}}
}}

// Get answers GET /{name}s/{{id}}.
func (h *{Name}Handler) Get(w http.ResponseWriter, r *http.Request) {{
	found, err := h.service.Get(r.Context(), r.PathValue("id"))
	switch {{
	case errors.Is(err, db.Err{Name}NotFound):
		fail(w, http.StatusNotFound, err)
	case err != nil:
		fail(w, http.StatusInternalServerError, err)
	default:
		reply(w, http.StatusOK, found)
	}}
}}

// Create answers POST /{name}s.
func (h *{Name}Handler) Create(w http.ResponseWriter, r *http.Request) {{
	var wanted db.{Name}
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, h.limits.Body)).Decode(&wanted); err != nil {{
		fail(w, http.StatusBadRequest, err)
		return
	}}
	made, err := h.service.Create(r.Context(), userOf(r), wanted)
	if err != nil {{
		fail(w, http.StatusConflict, err)
		return
	}}
	reply(w, http.StatusCreated, made)
}}
"""
_ROUTE = """
// {Verb} answers POST /{name}s/{{id}}/{verb}: it {what}.
func (h *{Name}Handler) {Verb}(w http.ResponseWriter, r *http.Request) {{
	if err := h.service.{Verb}(r.Context(), r.PathValue("id"), userOf(r)); err != nil {{
		fail(w, http.StatusConflict, err)
		return
	}}
	w.WriteHeader(http.StatusNoContent)
}}
"""
_SERVICE = """// Package {name} holds the rules of {name}s.
package {name}

import (
	"context"
	"fmt"
	"time"

	"{module}/pkg/db"
)

// Service does what may be done with {name}s.
type Service struct {{
	store db.{Name}Store
	now   func() time.Time
}}

// New makes a service on a store.
func New(store db.{Name}Store) *Service {{
	return &Service{{store: store, now: time.Now}}
}}

// Get returns a {name}.
func (s *Service) Get(ctx context.Context, id string) (*db.{Name}, error) {{
	return s.store.Get{Name}(ctx, id)
}}

// Create makes a {name} for an owner who has less than db.Max{Name}s of them.
func (s *Service) Create(ctx context.Context, owner string, wanted db.{Name}) (*db.{Name}, error) {{
	there, err := s.store.List{Name}s(ctx, owner, db.Max{Name}s)
	if err != nil {{
		return nil, err
	}}
	if len(there) >= db.Max{Name}s {{
		return nil, fmt.Errorf("create {name}: %s has %d of them", owner, len(there))
	}}
	wanted.Owner, wanted.CreatedAt = owner, s.now()
	return &wanted, s.store.Save{Name}(ctx, &wanted)
}}
"""
_RULE = """
// {Verb} {what}.
func (s *Service) {Verb}(ctx context.Context, id string, by string) error {{
	row, err := s.store.Get{Name}(ctx, id)
	if err != nil {{
		return err
	}}
	if row.Owner != by && !isAdmin(ctx) {{
		return fmt.Errorf("{verb} {name} %q: %s does not own it", id, by)
	}}
	return s.store.{Verb}{Name}(ctx, id, by)
}}
"""
_TEST = """package {name}

import (
	"context"
	"testing"
	"time"

	"{module}/pkg/db"
)

type memory struct{{ rows map[string]*db.{Name} }}

func fresh(t *testing.T) *Service {{
	t.Helper()
	made := New(&memory{{rows: map[string]*db.{Name}{{"1": {{ID: "1", Owner: "ada", Name: "first"}}}}}})
	made.now = func() time.Time {{ return time.Date(2025, 11, 1, 18, 15, 22, 0, time.UTC) }}
	return made
}}
"""
_CASE = """
func Test{Verb}{Name}(t *testing.T) {{
	service := fresh(t)
	if err := service.{Verb}(context.Background(), "1", "ada"); err != nil {{
		t.Fatalf("{verb} by its owner: %v", err)
	}}
	if err := service.{Verb}(context.Background(), "1", "bob"); err == nil {{
		t.Fatal("{verb} by a stranger: no error")
	}}
	if err := service.{Verb}(context.Background(), "none", "ada"); err == nil {{
		t.Fatal("{verb} of nothing: no error")
	}}
}}
"""
_MIDDLEWARE = """package api

import (
	"net/http"
	"time"
)

// Limits are what one client may ask of the bot.
type Limits struct {
	Body    int64
	Timeout time.Duration
}

// Middleware wraps a handler.
type Middleware func(http.Handler) http.Handler

// Chain puts the handlers round next, the first outermost.
func Chain(next http.Handler, all ...Middleware) http.Handler {
	for n := len(all) - 1; n >= 0; n-- {
		next = all[n](next)
	}
	return next
}
"""
_MAIN = """// Command bot serves Pedro Bot.
package main

import (
	"log"
	"net/http"

	"{module}/pkg/api"
)

func main() {{
	log.Fatal(http.ListenAndServe(":8080", api.Chain(http.DefaultServeMux)))
}}
"""


def files(entities: int = len(ENTITIES)) -> dict[str, str]:
    """The repository's files by path, with so many of the `ENTITIES`."""
    made = {
        "go.mod": f"module {MODULE}\n\ngo 1.24\n",
        "cmd/bot/main.go": _MAIN.format(module=MODULE),
        "pkg/api/middleware.go": _MIDDLEWARE,
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
        f"pkg/db/{name}.go": _MODEL.format(interface=calls, **words),
        f"pkg/db/{name}_queries.go": _QUERIES.format(**words) + "".join(_QUERY.format(**one) for one in each),
        f"pkg/api/{name}_handler.go": _HANDLER.format(**words) + "".join(_ROUTE.format(**one) for one in each),
        f"pkg/{name}/service.go": _SERVICE.format(**words) + "".join(_RULE.format(**one) for one in each),
        f"pkg/{name}/service_test.go": _TEST.format(**words) + "".join(_CASE.format(**one) for one in each),
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
