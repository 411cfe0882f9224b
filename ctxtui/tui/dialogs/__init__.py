"""What opens over any screen: the help, the command palette, find, the text editor."""
