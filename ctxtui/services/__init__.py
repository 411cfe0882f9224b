"""All work for screens and commands: finding, reading, counting, editing, hosting sessions."""
