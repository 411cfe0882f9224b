"""MCP servers that the user named: started once they are allowed, what they offer, calls to them, their logs."""
