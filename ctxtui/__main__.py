"""`python -m ctxtui` is `ctxtui`."""

from ctxtui.cli import main

if __name__ == "__main__":
    main()
