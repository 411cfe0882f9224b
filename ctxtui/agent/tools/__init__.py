"""The first tools of the hosted agent: reading, listing, searching, writing, all inside one workspace."""
