"""Server, routes, control."""
