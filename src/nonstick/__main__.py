"""`python -m nonstick` is the command line."""

from .cli import main

main()
