"""Threads, asyncio, children by fork, forkserver and spawn, a notebook: the same bits everywhere; Ctrl-C is served."""

import asyncio
import hashlib
import inspect
import multiprocessing
import signal
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import nonstick

METHODS = ("auto", "pi-pcg")
NOTEBOOK = "import hashlib, nonstick\n"


def digest(method: str) -> str:
    """A solve large enough for parallel kernels to use all threads."""
    problem = nonstick.cases.build("sphere3d", 44).problem
    assert problem.n > 16_384
    return hashlib.sha256(nonstick.solve_problem(problem, method).x.tobytes()).hexdigest()


@pytest.fixture(scope="module")
def expected():
    return [digest(method) for method in METHODS]


@pytest.mark.slow
@pytest.mark.parametrize("way", multiprocessing.get_all_start_methods())
def test_children_give_the_same_bits(way, expected):
    with multiprocessing.get_context(way).Pool(2) as pool:
        assert pool.map_async(digest, METHODS).get(timeout=300) == expected


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(signal, "SIGALRM"), reason="no fork here")
def test_grandchildren_and_threads_of_a_child_too(expected):
    def child(queue):
        with ThreadPoolExecutor(2) as pool:
            queue.put(list(pool.map(digest, METHODS)))
        grandchild = context.Process(target=lambda: queue.put([digest(method) for method in METHODS]))
        grandchild.start()
        grandchild.join()

    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    process = context.Process(target=child, args=(queue,))
    process.start()
    assert queue.get(timeout=300) == expected and queue.get(timeout=300) == expected
    process.join()
    assert process.exitcode == 0


def simulated() -> str:
    """A few frames of a small scene, which use most kernels of the simulator."""
    scene = nonstick.Scene.load("circle", {"domain.resolution": 12, "physics.viscosity": 1.0})
    simulation = nonstick.Simulation(scene)
    for _ in range(2):
        simulation.next_frame()
    return hashlib.sha256(simulation.frame_arrays()["position"].tobytes()).hexdigest()


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="no fork here")
def test_a_forked_child_simulates_the_same_bits():
    """No kernel that the parent has used may still start threads in the child."""
    here = simulated()
    with multiprocessing.get_context("fork").Pool(1) as pool:
        assert pool.apply_async(simulated).get(timeout=120) == here


@pytest.mark.slow
def test_four_threads_give_the_same_bits(expected):
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(digest, METHODS * 4)) == expected * 4


@pytest.mark.slow
def test_asyncio_gives_the_same_bits(expected):
    async def both():
        return await asyncio.gather(*(asyncio.to_thread(digest, method) for method in METHODS))

    assert asyncio.run(both()) == expected


@pytest.mark.slow
def test_a_notebook_kernel_gives_the_same_bits(expected):
    manager = pytest.importorskip("jupyter_client.manager")
    kernel, client = manager.start_new_kernel(kernel_name="python3")
    try:
        said = []
        client.execute_interactive(
            f"{inspect.getsource(digest)}\nprint(*map(digest, {METHODS!r}))".replace("def ", NOTEBOOK + "def ", 1),
            timeout=300,
            output_hook=lambda message: said.append(message["content"]),
        )
        printed = "".join(part.get("text", "") for part in said if part.get("name") == "stdout")
        assert printed.split() == expected, said
    finally:
        client.stop_channels()
        kernel.shutdown_kernel(now=True)


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no timers here")
@pytest.mark.parametrize(
    "method", ["auto", "mg-cg", "pgs", "psor", "mic-mprgp", "newton", "pi-pcg", "fas-mg", "ipm-pd"]
)
def test_ctrl_c_is_served_at_once(method):
    problem = nonstick.cases.build("sphere3d", 64).problem
    nonstick.solve_problem(problem, method, maxiter=2)  # compiles
    asked = []

    def interrupt(*_):
        asked.append(time.perf_counter())
        raise KeyboardInterrupt

    due = np.inf
    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        due = time.perf_counter() + 0.2
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        with pytest.raises(KeyboardInterrupt):
            while True:
                nonstick.solve_problem(problem, method, rtol=1e-300)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert asked[0] - due < 1.0 and time.perf_counter() - due < 1.5
