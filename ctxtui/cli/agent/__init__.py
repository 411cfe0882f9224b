"""Commands that run an agent, ask a model again, or are about tools that it is given: run, agree, mcp."""
