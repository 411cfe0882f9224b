"""Content of an opened block as lines: Markdown, code, JSON, word diffs."""
