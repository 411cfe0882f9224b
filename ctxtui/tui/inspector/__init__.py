"""Screen, state, prompt, loader, navigation, panels, boards."""
