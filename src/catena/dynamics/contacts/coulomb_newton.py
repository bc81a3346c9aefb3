"""Forces, or impulses, of contacts by Coulomb's law, from their mobility, by Newton's method on projections.

With r = W f + c what contacts do, the law is f = P(f - rho r) with the projection P onto what is allowed (Alart and
Curnier; `impulse_law`). Here P is linearised where it is: a contact that sticks has three equations r = 0, one that is
open f = 0, and one that slides has, along the direction d of z = f - rho r, across it, and along the normal,

    f_d = mu f_n,      (1 - k) f_x + k rho r_x = 0,  k = mu f_n / |z|,      r_n = 0,

so that errors are squared from choice to choice. To have one equation for each unknown the axes of a contact are turned
to d, with all of W and c, and what is found is turned back. A contact that slides already has a direction that is
given. What is not found in so many choices is told, and is no force.
"""

from typing import Any

from catena.dynamics.contacts.impulse_law import conclude, forget_verdict
from catena.kernels import Scalars, on_call
from catena.kernels.matrices import MatrixPanel
from catena.spatial.scalars import absolute, array, reciprocal, sqrt, where

# Choices of what contacts do, at most, and what may be left of the law, as a part of what contacts do without forces.
CHOICES, LEFT = 12, 1e-11

ASKED = ("mu", "near", "fixed", "along_x", "along_y", "c_x", "c_y", "c_n", "holds")
"""What is asked of a contact: its friction, whether it may have a force, whether it slides already, in which direction
its friction points then, what it does without forces, and whether it is held whatever that takes: by all three forces
(1), or by its normal force without friction (2)."""
FOUND = 6
"""What is told of a contact: its force (3), and what it does (3), both tangential then normal."""
MOMENT = ("worst", "size", "left", "goes", "going")

NEWTON_VIEWS: dict[str, dict[str, Any]] = {
    "asked": {name: Scalars(1) for name in ASKED},
    "newton": {
        "rho": Scalars(2), "mu": Scalars(1), "near": Scalars(1), "fixed": Scalars(1), "along": Scalars(2),
        "turned": Scalars(2), "c": Scalars(3), "R": Scalars(9), "holds": Scalars(1),
    },
    "moment": {name: Scalars(1) for name in MOMENT},
    "share": {"numbers": Scalars(6)},
    "choice": {"numbers": Scalars(12)},
    "found": {"numbers": Scalars(FOUND)},
}  # fmt: skip
_PLACES = {
    name: sum(e.size for e in list(NEWTON_VIEWS["newton"].values())[:k])
    for k, name in enumerate(NEWTON_VIEWS["newton"])
}


@on_call
def begin_moment(moment: Any) -> None:
    """All is to be found."""
    moment.going, moment.left, moment.size = array([1.0]), array([LEFT]), array([1e-300])


@on_call
def begin_contact(asked: Any, block: Any, newton: Any, moment: Any) -> None:
    """What a contact does by itself and without forces; it begins with none."""
    m = block.numbers.reshape(3, 3)
    along, across = m[0][0] + m[1][1], m[2][2]
    newton.rho = array(
        [2.0 * reciprocal(where(along > 0.0, along, 1.0)), reciprocal(where(across > 0.0, across, 1.0))]
    )
    newton.mu, newton.near, newton.fixed = asked.mu, asked.near, asked.fixed
    newton.along = array([asked.along_x[0], asked.along_y[0]])
    newton.turned, newton.holds = array([1.0, 0.0]), asked.holds
    newton.c = array([asked.c_x[0], asked.c_y[0], asked.c_n[0]])
    size = asked.near[0] * sum(absolute(x) for x in newton.c)
    moment.size = array([where(size > moment.size[0], size, moment.size[0])])


@on_call
def begin_nothing(share: Any) -> None:
    """A contact begins without a force."""
    share.numbers = array([0.0] * 6)


@on_call
def choose_turned(newton: Any, share: Any, choice: Any, moment: Any) -> None:
    """What a contact does, by the projection, in axes that are turned to its slip, and what is left of the law."""
    x = share.numbers
    f, r, (rho_t, rho_n) = (x[0], x[2], x[4]), (x[1], x[3], x[5]), newton.rho
    mu, near, is_fixed = newton.mu[0], newton.near[0], newton.fixed[0] > 0.5
    z = [f[0] - rho_t * r[0], f[1] - rho_t * r[1], f[2] - rho_n * r[2]]
    holds = newton.holds[0]
    pushes = where(near > 0.5, where(z[2] > 0.0, 1.0, where(holds > 0.5, 1.0, 0.0)), 0.0)
    size, most = sqrt(z[0] * z[0] + z[1] * z[1]), mu * pushes * z[2]
    scale = reciprocal(where(size > 1e-300, size, 1.0))
    slips = where(is_fixed, 1.0, where(size < most, 0.0, 1.0))
    slides = pushes * where(holds > 0.5, where(holds > 1.5, 1.0, 0.0), slips)
    d = [
        where(is_fixed, a, b)
        for a, b in zip(newton.along, (where(size > 1e-300, scale * z[0], 1.0), scale * z[1]), strict=True)
    ]
    d = [where(slides > 0.5, d[0], 1.0), where(slides > 0.5, d[1], 0.0)]
    onto = [where(slides > 0.5, most * d[k], pushes * z[k]) for k in range(2)]
    left = absolute(f[2] - pushes * z[2]) / rho_n
    for k in range(2):
        one = absolute(f[k] - onto[k]) / rho_t
        left = where(left <= one, one, left)
    moment.worst = array([where(moment.worst[0] <= left, left, moment.worst[0])])
    part = where(is_fixed, 0.0, most * scale)
    part = where(part < 1.0, part, 1.0)
    weight = part * rho_t * reciprocal(1.0 - part + part * rho_t)
    sticks, c = pushes - slides, _turned(d, newton.c)
    across = sticks + slides * weight
    choice.numbers = array([
        sticks, 0.0, slides * mu, -sticks * c[0], across, 0.0, 0.0, -across * c[1], pushes, 0.0, 0.0, -pushes * c[2],
    ])  # fmt: skip
    newton.along = array(_turned(d, [*newton.along, 0.0])[:2])
    share.numbers = array([y for pair in zip(_turned(d, f), _turned(d, r), strict=True) for y in pair])
    old = newton.turned
    newton.turned = array([d[0] * old[0] - d[1] * old[1], d[0] * old[1] + d[1] * old[0]])
    newton.c, newton.R = array(c), array([d[0], d[1], 0.0, -d[1], d[0], 0.0, 0.0, 0.0, 1.0])


def _turned(d: list[Any], x: Any) -> list[Any]:
    """A vector in axes whose first is d."""
    return [d[0] * x[0] + d[1] * x[1], d[0] * x[1] - d[1] * x[0], x[2]]


@on_call
def turn_back(newton: Any, share: Any, found: Any) -> None:
    """What is found of a contact, in its own axes."""
    x, back = share.numbers, [newton.turned[0], -newton.turned[1]]
    f, r = ([*_turned(back, (x[k], x[2 + k], x[4 + k]))] for k in range(2))
    found.numbers = array([*f, *r])


NEWTON_STEPS = (
    begin_moment, begin_contact, begin_nothing, forget_verdict, choose_turned, conclude, turn_back,
)  # fmt: skip


class CoulombNewton:
    """The forces of `count` contacts, as work on matrices, which are told by the `name` of an output, and whether they
    are not `found` (1)."""

    def __init__(self, count: int, name: str = "found") -> None:
        self.count, self.name = count, name

    def __call__(self, work: Any, W: MatrixPanel, asked: int) -> None:
        """Write the work for the mobility W (3 contacts, 3 contacts), which stays as it is, and what is `asked` of
        contacts at this place."""
        self.work, n, slot = work, 3 * self.count, work.slot
        self.W, self.c, own = work.matrix(n, n), work.matrix(n, 1), work.matrix(3, 3)
        work.copy(self.W, W)
        self.moment, shares, self.choices = (
            work.reserve(len(MOMENT)),
            work.reserve(2 * n),
            work.reserve(4 * n),
        )
        self.f, self.r = (MatrixPanel(shares + k * slot, n, 1, 2 * slot, slot, slot) for k in range(2))
        self.by_row, self.by_column = work.matrix(3, n), work.matrix(n, 3)
        size = sum(extent.size for extent in NEWTON_VIEWS["newton"].values())
        self.contacts = [work.reserve(size) for _ in range(self.count)]
        work.step(begin_moment, self.moment)
        for i, place in enumerate(self.contacts):
            work.copy(own, self.W.part(self._rows(i), self._rows(i)))
            work.step(begin_contact, asked + len(ASKED) * i * slot, own.place, place, self.moment)
            work.step(begin_nothing, self._share(i))
        self._choose(CHOICES)
        found = self.found = work.reserve(FOUND * self.count)
        for i, place in enumerate(self.contacts):
            work.step(turn_back, place, self._share(i), found + FOUND * i * slot)
        places = [(k, found + k * slot) for k in range(FOUND * self.count)]
        goes = self.moment + MOMENT.index("goes") * slot
        work.output(self.name, (FOUND * self.count + 1,), [*places, (FOUND * self.count, goes)])

    def _rows(self, i: int) -> range:
        return range(3 * i, 3 * i + 3)

    def _share(self, i: int) -> int:
        return self.f.part(self._rows(i), range(1)).place

    def _of(self, i: int, name: str, rows: int, columns: int) -> MatrixPanel:
        slot = self.work.slot
        place = self.contacts[i] + _PLACES[name] * slot
        return MatrixPanel(place, rows, columns, columns * slot, slot, 2 * slot)

    def _choose(self, times: int) -> None:
        """Choose what contacts do and solve for that, so many times, until it goes on so."""
        work, every = self.work, range(3 * self.count)
        for i in range(self.count):
            work.copy(self.c.part(self._rows(i), range(1)), self._of(i, "c", 3, 1))
        work.product(self.r, self.W, self.f, start=self.c)
        work.step(forget_verdict, self.moment)
        for i, place in enumerate(self.contacts):
            work.step(choose_turned, place, self._share(i), self.choices + 12 * i * work.slot, self.moment)
        work.step(conclude, self.moment)
        if not times:
            return
        goes = self.moment + MOMENT.index("goes") * work.slot
        with work.unless_done(goes):
            for i in range(self.count):
                rows, R = self._rows(i), self._of(i, "R", 3, 3)
                work.product(self.by_row, R, self.W.part(rows, every))
                work.copy(self.W.part(rows, every), self.by_row)
                work.product(self.by_column, self.W.part(every, rows), R.T)
                work.copy(self.W.part(every, rows), self.by_column)
            normals = [3 * i + 2 for i in range(self.count) for _ in range(3)]
            work.solve(self.f, self.W, self.choices, goes, normals, range(3 * self.count))
            self._choose(times - 1)
