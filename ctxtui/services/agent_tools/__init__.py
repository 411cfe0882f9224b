"""The tools of a chat's agent: files, commands, the user's own tools, and MCP servers."""
