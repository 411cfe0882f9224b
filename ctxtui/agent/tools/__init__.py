"""Tools that the hosted agent may use: read, list, find, search, write, recall; all inside one folder."""
