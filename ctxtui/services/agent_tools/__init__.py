"""Everything that the agent of a chat may use: tools that work in its folder, commands, tools of MCP servers."""
