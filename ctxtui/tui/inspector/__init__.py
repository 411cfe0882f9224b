"""The inspector: one screen for any call of any session; its state, prompt, loader and panes."""
