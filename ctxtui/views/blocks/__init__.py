"""The content of an opened block as lines: Markdown, code, JSON, word by word differences."""
