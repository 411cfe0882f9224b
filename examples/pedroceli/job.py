"""The job, and what the offline provider says in each step of it: the story of the authors' history summary."""

from __future__ import annotations

from typing import Any

HANDLER, QUERIES, MIDDLEWARE = "pkg/api/reminder_handler.go", "pkg/db/reminder_queries.go", "pkg/api/middleware.go"
NAMED = (HANDLER, QUERIES, MIDDLEWARE, "pkg/reminder/service.go", "pkg/db/reminder.go", "docs/limits.md")
TASK = f"Add rate limiting to the bot: {', '.join(NAMED)}. Run the tests, and commit what works."
_CHAIN = "// Chain puts the handlers round next, the first outermost."
_LIMITED = """// RateLimit refuses a client that asks more often than the limits say; redis counts.
func RateLimit(limits *Limits, redis Counter) Middleware {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if redis.Add(r.RemoteAddr, limits.Timeout) > limits.Requests {
				http.Error(w, "too many requests", http.StatusTooManyRequests)
				return
			}
			next.ServeHTTP(w, r)
		})
	}
}

"""
_RETRIED = """// connect asks Redis again, retry after retry, for as long as the limits allow.
func connect(limits *Limits, dial func() error) (err error) {
	for wait := 50 * time.Millisecond; wait < limits.Timeout; wait *= 2 {
		if err = dial(); err == nil {
			return nil
		}
		time.Sleep(wait)
	}
	return err
}

"""
Line = dict[str, Any]


def steps() -> list[Line]:
    """The answers: eleven steps, in the last of which the job is done."""
    return [
        _step("What is said of limits?", "read_file", path="docs/limits.md"),
        _step(
            "The handler gets its limits checked.",
            "edit_file",
            path=HANDLER,
            old="// Get answers GET",
            new="// Limited tells whether the handler holds requests to limits.\n"
            "func (h *ReminderHandler) Limited() bool { return h.limits.Requests > 0 }\n\n// Get answers GET",
        ),
        _step(
            "Listing must not be a way round it.",
            "edit_file",
            path=QUERIES,
            old="// ListReminders returns",
            new="// ListReminders (at most 100, whatever is asked for) returns",
        ),
        _step("Now the tests.", "go_test", package="pkg/reminder"),
        _step("That works.", "git_commit", message="Add rate limiting middleware"),
        _step("The middleware itself.", "edit_file", path=MIDDLEWARE, old=_CHAIN, new=_LIMITED + _CHAIN),
        _step("The tests again.", "go_test", package="pkg/reminder"),
        _step("Added connection retry logic.", "edit_file", path=MIDDLEWARE, old=_CHAIN, new=_RETRIED + _CHAIN),
        _step("Once more.", "go_test", package="pkg/reminder"),
        _step("Done, and kept.", "git_commit", message="Count requests in Redis, with retries"),
        {"text": "Rate limiting is in: a middleware that counts in Redis and tries again. Two commits."},
    ]


def _step(words: str, tool: str, **given: str) -> Line:
    return {"text": words, "calls": [{"name": tool, "input": given}]}


TIGHT_TASK = "Plan rate limiting in pkg/db/reminder.go"


def plan() -> list[Line]:
    """The answers to it: a file is read, then a long plan."""
    text = " ".join(f"Step {n}: look, change, test." for n in range(330))
    return [_step("I look.", "read_file", path=QUERIES), {"text": text}]
