"""Home: screen, commands, loader, browser, actions."""
