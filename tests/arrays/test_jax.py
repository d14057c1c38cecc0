"""`nonstick.jax`: both derivatives, compiled, mapped, and sharded by items and by rows of one grid, on four devices."""

import subprocess
import sys
import textwrap

import pytest

SCRIPT = """
import jax, jax.numpy as jnp, numpy as np
from jax.experimental.sparse import BCOO
from jax.sharding import Mesh, NamedSharding, PartitionSpec
import nonstick.jax as nj

jax.config.update("jax_enable_x64", True)
rng = np.random.default_rng(0)
random = lambda *shape: jnp.asarray(rng.standard_normal(shape))
n = 8
weights = tuple(jnp.asarray(rng.uniform(0.5, 1.5, (n, n))) for _ in range(2))
given = (weights, jnp.asarray(rng.uniform(5, 6, (n, n))), random(n, n), jnp.full((n, n), -0.1), jnp.full((n, n), 0.15))
factor = random(n, n)
solve = lambda w, d, b, low, high: nj.solve((w, d), b, low, high, rtol=1e-11)
value = lambda *v: (factor * solve(*v)).sum()
x = solve(*given)
assert (x == -0.1).any() and (x == 0.15).any()

gradient = jax.grad(value, argnums=range(5))(*given)
ways = jax.tree.map(lambda a: random(*a.shape), given)
moved = lambda s: jax.tree.map(lambda a, w: a + s * w, given, ways)
expected = (value(*moved(1e-5)) - value(*moved(-1e-5))) / 2e-5
along = sum(jax.tree.leaves(jax.tree.map(lambda a, w: (a * w).sum(), gradient, ways)))
tangent = jax.jvp(value, given, ways)[1]
assert abs(along - expected) < 1e-6 * abs(expected) and abs(tangent - expected) < 1e-6 * abs(expected)

loads = jnp.stack([given[2], 2 * given[2], -given[2], 0.5 * given[2]])
one = lambda b: solve(weights, given[1], b, *given[3:])
mapped = jax.jit(jax.vmap(one))
together = mapped(loads)
assert max(float(abs(together[k] - one(loads[k])).max()) for k in range(4)) < 1e-9
mesh = Mesh(np.array(jax.devices()), ("item",))
assert mesh.size == 4
spread = mapped(jax.device_put(loads, NamedSharding(mesh, PartitionSpec("item"))))
assert len(spread.sharding.device_set) == 4 and float(abs(spread - together).max()) < 1e-9

rows = Mesh(np.array(jax.devices()), ("rows",))  # one grid in four pieces
part = lambda a: jax.device_put(a, NamedSharding(rows, PartitionSpec("rows", None)))
pieces = jax.jit(solve)(*jax.tree.map(part, given))
assert len(pieces.sharding.device_set) == 4 and float(abs(pieces - x).max()) < 1e-12

several = lambda w, d: jax.vmap(lambda w, d: solve(w, d, *given[2:]))(w, d)  # problems with matrices of their own
stacked = jax.tree.map(lambda a: jnp.stack([a, 1.5 * a]), (weights, given[1]))
for k, found in enumerate(several(*stacked)):
    alone = solve(*jax.tree.map(lambda a: a[k], stacked), *given[2:])
    assert float(abs(found - alone).max()) < 1e-9

A = np.diag(np.full(6, 2.2)) - np.diag(np.ones(5), 1) - np.diag(np.ones(5), -1)
M, b, way = BCOO.fromdense(jnp.asarray(A)), random(6), random(6)
bare = lambda b: (jnp.arange(6.0) * nj.solve(BCOO((M.data, M.indices), shape=M.shape), b, rtol=1e-11)).sum()
assert abs(jax.grad(bare)(b) @ way - (bare(b + 1e-5 * way) - bare(b - 1e-5 * way)) / 2e-5) < 1e-6
assert jnp.isnan(nj.solve((weights, given[1]), given[2], *given[3:], rtol=1e-11, maxiter=1)).any()
print("all well")
"""


@pytest.mark.slow
def test_derivatives_maps_and_shards():
    import os

    environment = os.environ | {"XLA_FLAGS": "--xla_force_host_platform_device_count=4"}
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(SCRIPT)], capture_output=True, text=True, env=environment, check=False
    )
    assert done.stdout.strip() == "all well", done.stderr[-2000:]
