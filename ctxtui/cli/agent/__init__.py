"""Commands that run agents and programs, ask a model again, or are about their tools."""
