"""The command as the shell would run it."""

import pytest

from nonstick.cli import main


@pytest.fixture
def run(capsys):
    """`run("solve", path)` → exit code, stdout, stderr."""

    def command(*words):
        with pytest.raises(SystemExit) as leave:
            main([str(word) for word in words])
        out, err = capsys.readouterr()
        return leave.value.code or 0, out, err

    return command
