"""Commands that run an agent, or are about the tools that it is given: run, mcp."""
