"""The floor of a first frame: a Textual app with nothing in it."""

from textual.app import App

App[None]().run()
