"""Request records in the transcripts of newer Claude Code versions (facts §13.1)."""
