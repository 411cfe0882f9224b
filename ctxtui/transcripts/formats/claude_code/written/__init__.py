"""Bodies of requests and answers that Claude Code wrote to files, joined to its transcript or by themselves."""
