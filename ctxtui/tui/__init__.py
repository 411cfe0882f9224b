"""The screens in the terminal. The only package that knows Textual."""
