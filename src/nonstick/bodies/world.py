"""Bodies among walls: contact, friction, bounces, and the motion of poses.

A step of `advance(dt)` does, in this order,

1. contact: the velocities after the forces of the last step get the impulses that keep partners apart;
2. poses move with these velocities (free rotation by the implicit midpoint rule, which conserves the energy of a
   spinning body); partners that still overlap are moved apart without a change of their velocities (split impulses);
3. gravity, together with the part of the last contact impulses that supports resting bodies.

With liquid, a step is `fall(dt)` (3), then the pressure, which changes velocities in place, then `move(dt)` (1 and
2), so that poses and liquid move with the velocities of one solve. Because of 3, the pressure solve sees a body on the
floor at rest, and not with the velocity g dt downwards that the floor would stop later. Step 1 of the next call
corrects the difference: impulses accumulate over both steps, and only their sum must push.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from ..errors import NonstickError
from ..grid.shapes import Probes
from . import rotation
from ._contacts import _contact_impulses
from .body import RigidBody, point_velocity
from .contact import Contacts, Key, Partner, Wall, find


@dataclass(frozen=True)
class ContactSettings:
    """How contacts of bodies are solved; overlaps are shares of a body's least half extent."""

    #: sweeps over the impulses of contacts in a substep, at most
    sweeps: int = 200
    #: substeps of a step, at most
    substeps: int = 32
    #: the overlap that is not corrected, and the largest of which a substep undoes its share
    slop: float = 1e-3
    deep: float = 0.2
    #: that share
    recovery: float = 0.4
    #: the largest tolerated overlap
    crushed: float = 0.3


SETTINGS = ContactSettings()


@dataclass
class World:
    """Bodies, the walls around them and gravity.

    Parameters
    ----------
    bodies : sequence of RigidBody
    walls : sequence of Wall
        `box_walls(size)` makes the sides of a box.
    gravity : sequence of float
        Acceleration in m/s².

    Examples
    --------
    A crate falls half a metre and comes to rest on the floor:

    >>> from nonstick.bodies import RigidBody, World, box_walls
    >>> from nonstick.grid import Box
    >>> crate = RigidBody(Box((0.4, 0.5), (0.6, 0.7)), density=500.0, restitution=0.0)
    >>> world = World([crate], box_walls((1.0, 1.0)), gravity=(0.0, -9.81))
    >>> for _ in range(100):
    ...     world.advance(0.01)
    >>> round(float(crate.centre[1]), 2)
    0.1
    """

    bodies: Sequence[RigidBody]
    walls: Sequence[Wall] = ()
    gravity: Sequence[float] = ()
    time: float = 0.0
    #: impulses of the contacts of the last step: key → (normal, tangent, tangent)
    carried: dict[Key, np.ndarray] = field(default_factory=dict)
    #: contacts of the last step, for the statistics
    touching: int = 0
    steps: int = 0

    def __post_init__(self):
        self.d = self.bodies[0].d if self.bodies else 2
        self.pull = np.zeros(self.d) if not len(self.gravity) else np.array(self.gravity, float)
        self._probes = [b.shape.probes(self.d).thinned() for b in self.bodies]
        self._inverse = np.array([1.0 / b.mass if b.dynamic else 0.0 for b in self.bodies])
        for body in self.bodies:
            body.follow_motion(self.time)

    # -- a step ---------------------------------------------------------------------------------------

    def advance(self, dt: float) -> None:
        """Do contact, poses and gravity; see above."""
        self.move(dt)
        self.fall(dt)

    def move(self, dt: float) -> None:
        """Do contact, and move poses to the end of the step."""
        if not self.bodies:
            self.time += dt
            return
        self._check_finite()
        steps = self._substeps(dt)
        h = dt / steps
        total: dict[Key, np.ndarray] = {}
        for step in range(steps):
            partners = self._partners(self.time + h)
            contacts = find(partners, self.d, self._margins(partners, h), self.carried if step == 0 else total)
            held = self.carried if step == 0 else {}
            self._collide(contacts, partners, h, dt, held, total)
            self._move(contacts, partners, h)
            self.time += h
        self.carried = total
        self._check_finite()

    def fall(self, dt: float) -> None:
        """Apply gravity, and the impulses that hold up resting bodies."""
        if self.bodies:
            self._hold(dt)
            self.steps += 1
            self._check_finite()

    def touching_now(self) -> tuple[list[Partner], Contacts]:
        """Partners and contacts at this moment."""
        partners = self._partners(self.time)
        return partners, find(partners, self.d, np.zeros(len(partners)))

    def _substeps(self, dt: float) -> int:
        """Number of substeps so that in one no body moves by over a third of its size or turns by over 0.3 rad."""
        rate = 1e-12
        for b in self.bodies:
            size = max(float(b.least), 1e-12)
            speed = float(np.sqrt(b.velocity @ b.velocity))
            rate = max(rate, 3.0 * speed / size, float(np.sqrt(b.spin @ b.spin)) / 0.3)
        return int(min(max(np.ceil(rate * dt), 1), SETTINGS.substeps))

    def _collide(self, contacts: Contacts, partners, h: float, dt: float, held, total) -> None:
        """Impulses that keep partners from moving into each other; `held` impulses are already in the velocities."""
        self.touching = int((contacts.gap < 1e-3 * self._scale(contacts, partners)).sum()) if contacts.n else 0
        if contacts.n == 0:
            return
        # If a contact has ended, its held impulse stays in the velocity: the bodies separate by one step of gravity.
        lam = np.array([held[k][:3] if k in held else np.zeros(3) for k in contacts.key])
        frame = contacts.frames()
        velocity, spin = self._gather()
        drift = self._drift(contacts, partners)
        setup = self._setup(contacts, partners)
        mu, bounce = self._material(contacts, partners)
        # approach before any impulse of this substep: decides about bounces
        before = _normal_speed(velocity, spin, setup, frame, drift)
        target = np.where(contacts.gap > 0.0, -contacts.gap / h, 0.0)
        slow = 1.5 * float(np.sqrt(self.pull @ self.pull)) * dt + 1e-9
        hits = (before < -slow) & (before * h < -contacts.gap) & (bounce > 0.0)
        # The velocity already includes a step of gravity, but the position does not. A bounce does not reflect that
        # step, so that a body leaves with the speed at which it arrived.
        falls = (setup[0] >= 0).astype(float) - (setup[1] >= 0)
        arrives = np.minimum(before - dt * falls * (self.pull @ contacts.normal), 0.0)
        target = np.where(hits, np.maximum(target, -bounce * arrives), target)
        cap = np.full(contacts.n, np.inf)
        scale = max(float(np.abs(velocity).max(initial=0.0)), float(np.linalg.norm(self.pull)) * dt, 1e-12)
        _contact_impulses(
            lam, velocity, spin, *self._bodies3(), *setup, frame, drift, mu, target, cap, SETTINGS.sweeps, 1e-8 * scale
        )
        self._scatter(velocity, spin)
        for key, impulse, hit in zip(contacts.key, lam, hits):
            total[key] = total.get(key, 0.0) + (np.zeros(3) if hit else impulse)

    def _move(self, contacts: Contacts, partners, h: float) -> None:
        """Move poses with their velocities, and push bodies apart where they overlap."""
        shift, turn = self._apart(contacts, partners, h)
        for k, body in enumerate(self.bodies):
            if not body.dynamic:
                body.follow_motion(self.time + h)
                continue
            body.centre = body.centre + h * body.velocity + shift[k, : self.d]
            if self.d == 2:
                body.orientation = body.orientation + h * body.spin + turn[k, 2:]
            else:
                body.spin_freely(h)
                if turn[k].any():
                    body.orientation = rotation.turned(body.orientation, turn[k])

    def _apart(self, contacts: Contacts, partners, h: float) -> tuple[np.ndarray, np.ndarray]:
        """Displacements (3 components) and turns that remove part of every overlap."""
        n = len(self.bodies)
        shift, turn = np.zeros((n, 3)), np.zeros((n, 3))
        if contacts.n == 0:
            return shift, turn
        scale = self._scale(contacts, partners)
        deep = -contacts.gap - SETTINGS.slop * scale
        if not (deep > 0.0).any():
            return shift, turn
        self._check_crushed(contacts, partners, scale)
        frame = contacts.frames()
        drift = np.zeros((contacts.n, 3))
        setup = self._setup(contacts, partners)
        # partners that only touch must not be pushed together: target 0 there, recovery where they overlap
        undone = SETTINGS.recovery * np.minimum(deep, SETTINGS.deep * scale)
        target = np.where(deep > 0.0, undone, np.minimum(-contacts.gap, 0.0))
        _contact_impulses(
            np.zeros((contacts.n, 3)), shift, turn, *self._bodies3(), *setup, frame, drift, np.zeros(contacts.n),
            target, np.full(contacts.n, np.inf), 100, 1e-9 * float(scale.max()),
        )  # fmt: skip
        return shift, turn

    def _hold(self, dt: float) -> None:
        """Apply gravity, and the part of the last contact impulses that keeps resting bodies from falling."""
        for body in self.bodies:
            if body.dynamic:
                body.velocity = body.velocity + dt * self.pull
        fresh = self.steps == 0  # bodies that touch at the beginning are at rest: no impulses are known yet
        if not self.carried and not fresh:
            return
        partners = self._partners(self.time)
        contacts = find(partners, self.d, self._margins(partners, dt), self.carried)
        keep = [c for c, k in enumerate(contacts.key) if fresh or k in self.carried]
        if not keep:
            self.carried = {}
            return
        contacts = contacts.keep(keep)
        frame = contacts.frames()
        velocity, spin = self._gather()
        drift = self._drift(contacts, partners)
        setup = self._setup(contacts, partners)
        mu, _ = self._material(contacts, partners)
        inverse, inertia = self._bodies3()
        lam = np.array([self.carried.get(k, np.zeros(3)) for k in contacts.key])
        cap = np.full(contacts.n, np.inf) if fresh else lam[:, 0].copy()
        target = np.where(contacts.gap > 0.0, -contacts.gap / dt, 0.0)
        scale = max(float(np.linalg.norm(self.pull)) * dt, 1e-12)
        # the impulses of the last step are the best guess: for bodies at rest they are exact
        push = np.einsum("ci,cij->cj", lam, frame)
        for k, arm, sign in ((setup[0], setup[2], 1.0), (setup[1], setup[3], -1.0)):
            for c in np.flatnonzero(k >= 0):
                velocity[k[c]] += sign * inverse[k[c]] * push[c]
                spin[k[c]] += sign * inertia[k[c]] @ np.cross(arm[c], push[c])
        _contact_impulses(
            lam, velocity, spin, inverse, inertia, *setup, frame, drift, mu, target, cap, SETTINGS.sweeps, 1e-8 * scale
        )
        self._scatter(velocity, spin)
        self.carried = dict(zip(contacts.key, lam))

    # -- what the kernel needs ------------------------------------------------------------------------

    def _partners(self, time: float) -> list[Partner]:
        out: list[Partner] = []
        for k, body in enumerate(self.bodies):
            low, high = body.box()
            world = self._probes[k].placed(body.rotation, body.origin, body.centre)
            out.append(
                Partner(k, len(out), body.name, body.placed(), world, low, high, body.least, body.friction,
                        body.restitution, body.dynamic)
            )  # fmt: skip
        for wall in self.walls:
            shape = wall.shape if wall.place is None else wall.place(time)
            low, high = np.full(self.d, -np.inf), np.full(self.d, np.inf)
            found = wall.probes or Probes.none(self.d)
            if wall.pose is not None and found.n:
                R, about, offset = wall.pose(time)
                found = found.placed(R, about, about + offset)
            out.append(Partner(-1, len(out), wall.name, shape, found, low, high, np.inf, None, None))
        return out

    def _margins(self, partners, h: float) -> np.ndarray:
        """How far to search for contacts: the distance a body may travel in a substep, and a little more."""
        out = np.zeros(len(partners))
        g = float(np.sqrt(self.pull @ self.pull))
        for p in partners:
            if p.index >= 0:
                b = self.bodies[p.index]
                speed = float(np.sqrt(b.velocity @ b.velocity)) + float(np.sqrt(b.spin @ b.spin)) * b.radius
                out[p.order] = 0.02 * b.least + 1.5 * h * (speed + g * h)
        for k, wall in enumerate(self.walls):
            if wall.speed is not None:
                order = len(self.bodies) + k
                at = np.array([b.centre for b in self.bodies]).T
                out[order] = 1.5 * h * float(np.abs(wall.speed(self.time, at)).sum(axis=0).max())
        return out

    def _scale(self, contacts: Contacts, partners) -> np.ndarray:
        return np.array([min(partners[i].size, partners[j].size) for i, j in zip(contacts.first, contacts.second)])

    def _material(self, contacts: Contacts, partners) -> tuple[np.ndarray, np.ndarray]:
        """Friction (geometric mean) and restitution (the larger); a wall takes those of the body that touches it."""
        mu, bounce = np.zeros(contacts.n), np.zeros(contacts.n)
        for c, (i, j) in enumerate(zip(contacts.first, contacts.second)):
            a, b = partners[i], partners[j]
            fa, fb = a.friction, a.friction if b.friction is None else b.friction
            ra, rb = a.restitution, a.restitution if b.restitution is None else b.restitution
            mu[c], bounce[c] = np.sqrt(fa * fb), max(ra, rb)
        return mu, bounce

    def _drift(self, contacts: Contacts, partners) -> np.ndarray:
        """Velocity, at the contacts, of partners that impulses cannot move: second minus first."""
        out = np.zeros((contacts.n, 3))
        for c in range(contacts.n):
            x = contacts.x[:, c]
            for which, sign in ((contacts.first[c], -1.0), (contacts.second[c], 1.0)):
                p = partners[which]
                if p.index < 0:
                    wall = self.walls[which - len(self.bodies)]
                    if wall.speed is not None:
                        out[c, : self.d] += sign * wall.speed(self.time, x[:, None])[:, 0]
                elif not self.bodies[p.index].dynamic:
                    b = self.bodies[p.index]
                    out[c, : self.d] += sign * np.array(point_velocity(b.velocity, b.spin, b.centre, tuple(x)))
        return out

    def _setup(self, contacts: Contacts, partners):
        """Indices of bodies (-1: not moved by impulses) and arms of the contacts."""
        arms = []
        index = []
        for side in (contacts.first, contacts.second):
            k = np.array([partners[i].index for i in side], np.int64)
            k[[bool(v >= 0 and not self.bodies[v].dynamic) for v in k]] = -1
            arm = np.zeros((contacts.n, 3))
            for c, v in enumerate(k):
                if v >= 0:
                    arm[c, : self.d] = contacts.x[:, c] - self.bodies[v].centre
            index.append(k)
            arms.append(arm)
        return index[0], index[1], arms[0], arms[1]

    def _bodies3(self) -> tuple[np.ndarray, np.ndarray]:
        inertia = np.zeros((len(self.bodies), 3, 3))
        for k, b in enumerate(self.bodies):
            if b.dynamic:
                if self.d == 2:
                    inertia[k, 2, 2] = 1.0 / b.inertia[0, 0]
                else:
                    R = b.rotation
                    inertia[k] = R @ np.linalg.inv(b.own_inertia) @ R.T
        return self._inverse, inertia

    def _gather(self) -> tuple[np.ndarray, np.ndarray]:
        velocity, spin = np.zeros((len(self.bodies), 3)), np.zeros((len(self.bodies), 3))
        for k, b in enumerate(self.bodies):
            velocity[k, : self.d] = b.velocity
            spin[k, 3 - b.spin.size :] = b.spin
        return velocity, spin

    def _scatter(self, velocity: np.ndarray, spin: np.ndarray) -> None:
        for k, b in enumerate(self.bodies):
            if b.dynamic:
                b.velocity = velocity[k, : self.d].copy()
                b.spin = spin[k, 3 - b.spin.size :].copy()

    # -- messages -------------------------------------------------------------------------------------

    def _check_crushed(self, contacts: Contacts, partners, scale) -> None:
        share = -contacts.gap / scale
        worst = int(np.argmax(share))
        if share[worst] < SETTINGS.crushed:
            return
        one, other = partners[contacts.first[worst]], partners[contacts.second[worst]]
        raise NonstickError(
            f"{one.name} is pressed {-contacts.gap[worst]:.3g} m into {other.name} at t = {self.time:.4g} s: it is "
            "caught between things that cannot move; give it more room, or stop the motion that presses it"
        )

    def _check_finite(self) -> None:
        for b in self.bodies:
            if not np.isfinite(b.state()).all():
                raise NonstickError(
                    f"{b.name} has a position or velocity that is not finite at t = {self.time:.4g} s; "
                    "look for forces or motions that grow without limit"
                )

    # -- state ----------------------------------------------------------------------------------------

    def state(self) -> dict[str, np.ndarray]:
        """Poses, velocities and held impulses as plain arrays."""
        keys = sorted(self.carried)
        return {
            "bodies": np.array([b.state() for b in self.bodies]),
            "body_steps": np.array(self.steps),
            "body_contact_keys": np.array(keys, np.int64).reshape(-1, 4),
            "body_contact_impulses": np.array([self.carried[k] for k in keys]).reshape(-1, 3),
        }

    def restore(self, state: dict[str, np.ndarray], time: float) -> None:
        self.time, self.steps = time, int(state["body_steps"])
        for body, row in zip(self.bodies, state["bodies"]):
            body.restore(row)
        self.carried = {
            (int(k[0]), int(k[1]), int(k[2]), int(k[3])): row.copy()
            for k, row in zip(state["body_contact_keys"], state["body_contact_impulses"])
        }


def _normal_speed(velocity, spin, setup, frame, drift) -> np.ndarray:
    a, b, arm_a, arm_b = setup
    u = -drift
    for k, arm, sign in ((a, arm_a, 1.0), (b, arm_b, -1.0)):
        moved = k >= 0
        u[moved] += sign * (velocity[k[moved]] + np.cross(spin[k[moved]], arm[moved]))
    return (u * frame[:, 0]).sum(axis=1)
