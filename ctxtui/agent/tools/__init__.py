"""Tools that the hosted agent may use: files inside one folder, commands, memory, recall."""
