"""The inspector: a screen for any call of any session; its state, prompt, loader, panes."""
