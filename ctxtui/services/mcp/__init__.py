"""MCP servers that the user configured: permission to start, tools, calls and logs."""
