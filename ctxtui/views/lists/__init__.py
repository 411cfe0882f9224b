"""The tables of the list screens, which the command line prints too."""
