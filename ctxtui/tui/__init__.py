"""The Textual front: app, screens, widgets and styles. The only room that knows Textual."""
