"""The command line: `nonstick`, and `python -m nonstick`."""

import sys


def main() -> None:
    """Entry point; a Ctrl-C while the commands are loaded is one line too."""
    try:
        from .cli import main as command
    except KeyboardInterrupt:
        print("nonstick: interrupted", file=sys.stderr)
        raise SystemExit(1) from None
    command()


if __name__ == "__main__":
    main()
