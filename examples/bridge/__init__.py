"""An LM Studio bridge: a hundred rounds over the tools of four MCP servers, with and without a window that slides."""
