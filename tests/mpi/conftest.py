"""These tests run on any number of ranks: `make test` runs them on one, `make test-mpi` on 1, 2, 3 and 4.

Every rank runs the same tests in the same order. A rank whose test fails ends the others, which would wait for it.
"""

import sys

import pytest

from nonstick.parallel.comm import world


@pytest.fixture
def comm():
    return world()


def pytest_runtest_logreport(report):
    if report.failed and world().size > 1:
        print(f"rank {world().rank} of {world().size}: {report.nodeid}\n{report.longreprtext}", file=sys.stderr)
        sys.stderr.flush()
        world().mpi.Abort(1)


@pytest.hookimpl(trylast=True)
def pytest_configure(config):
    """Only rank 0 reports."""
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    if world().rank and reporter is not None:
        config.pluginmanager.unregister(reporter)
