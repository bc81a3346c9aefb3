"""Finite elements with six freedoms for each node: against frames of beams, rigid bodies and plates."""

import numpy as np
import pytest
from scipy.linalg import eigh
from scipy.sparse import csr_array, lil_array

import catena as ct
from catena.bodies import BeamFrame, FiniteElements, Member, check_flexible_body
from catena.errors import ModelError

CORNERS = {"a": (0.0, 0.0, 0.0), "b": (1.0, 0.0, 0.0), "c": (1.0, 0.6, 0.2)}
ROUND = {"area": 1e-4, "inertia": 1.5e-9, "density": 2700.0, "young": 7e10, "torsion": 30.0}


def frame(elements, interfaces=("a", "c"), modes=3, **section):
    members = [Member(a, b, elements=elements, **(ROUND | section)) for a, b in ("ab", "bc")]
    return BeamFrame(CORNERS, members, interfaces, modes)


def places(body):
    """The places (n, 3) of all nodes of a frame, in the order of its matrices."""
    found = np.zeros((body.matrices[0].shape[0] // 6, 3))
    for placed in body.elements:
        found[placed.index[0] // 6] = placed.origin
        found[placed.index[6] // 6] = placed.origin + placed.element.length * placed.axes[:, 0]
    return found


def of_matrices(body, extra=None, **options):
    M, K = body.matrices
    ends = {name: [list(body.nodes).index(name)] for name in body.interfaces}
    return FiniteElements(
        M if extra is None else M + extra, K, places(body), ends, body.inner_modes, **options
    )


def system(body, load=False):
    m = ct.Mechanism("boom", gravity=(0.0, 0.0, -9.81))
    m.add_body("boom", flexible=body)
    m.add_joint("hub", "ground", "boom", ct.Free())
    if load:
        m.add_body("load", 0.4, (0.01, 0.02, 0.0), np.diag([2e-3, 3e-3, 4e-3]))
        m.add_joint("weld", "boom", "load", ct.Fixed(), ct.Pose(p=CORNERS["c"]))
    return m.system()


def test_single_nodes_as_interfaces_give_what_the_frame_is():
    """Sections with two second moments; the same displacements, so the same modes, loads and accelerations."""
    one = frame(4, modes=0, inertia=(1e-9, 2e-9))
    other = of_matrices(one)
    check_flexible_body(other)
    np.testing.assert_allclose(other.frequencies, one.frequencies, rtol=1e-9)
    for found, expected in zip(other.rigid, one.rigid, strict=True):
        np.testing.assert_allclose(found, expected, atol=1e-12)
    for p in CORNERS.values():
        for name in ("S", "R"):
            found, expected = (getattr(body.shapes(p), name) for body in (other, one))
            np.testing.assert_allclose(found, expected, atol=1e-9 * np.abs(expected).max(initial=1.0))
    # On a free base the mass matrix has all that gravity and joints feel of a body at rest.
    a, b = system(one, load=True), system(other, load=True)
    q = a.neutral()
    q[a.slice_q("hub")] = (0.1, 0.2, 0.3, 0.5, -0.5, 0.1, 0.7)
    np.testing.assert_allclose(b.mass_matrix(q), a.mass_matrix(q), atol=1e-10)


def products(mass, s, S):
    f = np.concatenate([np.ones((len(s), 1)), s, S.reshape(len(s), -1)], axis=1)
    return (f.T * mass) @ f


@pytest.mark.parametrize("interfaces", [("a",), ("a", "c")])
def test_inertia_of_deformed_bodies_converges_with_the_square_of_the_size_of_elements(interfaces):
    """All mass integrals of 1, s and S, against those of the particles that the frame is made of."""
    errors = []
    for elements in (2, 4, 8):
        one = frame(elements, interfaces)
        some, found = one.particles(), of_matrices(one).points()
        expected = products(some.mass, some.s, some.S)
        size = np.sqrt(np.diag(expected))
        modes = np.linalg.norm(size[4:].reshape(3, -1), axis=0)
        size = np.concatenate([size[:1], np.tile(np.linalg.norm(size[1:4]), 3), np.tile(modes, 3)])
        apart = products(found.mass, found.s, found.S) - expected
        errors.append(np.max(np.abs(apart) / np.outer(size, size)))
    assert errors[1] < 0.5 * errors[0] and errors[2] < 0.4 * errors[1] and errors[2] < 0.02, errors


def test_a_rigid_body_at_a_node_is_one_that_is_welded_there():
    """A wheel's mass and inertia in the mass matrix of the tip, and as a body of its own."""
    one = frame(3, modes=0)
    J = np.array([[3e-3, 4e-4, 0.0], [4e-4, 2e-3, 1e-4], [0.0, 1e-4, 2.5e-3]])
    block = np.zeros((6, 6))
    block[:3, :3], block[3:, 3:] = 0.4 * np.eye(3), J
    extra = lil_array(one.matrices[0].shape)
    at = 6 * list(one.nodes).index("c")
    extra[at : at + 6, at : at + 6] = block
    m = system(one).mechanism
    m.add_body("wheel", 0.4, inertia=J)
    m.add_joint("weld", "boom", "wheel", ct.Fixed(), ct.Pose(p=CORNERS["c"]))
    heavy = of_matrices(one, extra.tocsr())
    found, expected = frequencies(system(heavy), heavy), frequencies(m.system(), one)
    np.testing.assert_allclose(found, expected, rtol=1e-8)


def frequencies(s, body):
    """All frequencies but those of the hub, from the mass matrix of the system and the stiffness of its modes."""
    K = np.zeros(s.nv)
    K[s.slice_v("boom.modes")] = body.stiffness
    return np.sqrt(eigh(np.diag(K), s.mass_matrix(s.neutral()), eigvals_only=True)[6:])


def plate(count, size=1.0, thickness=0.01, young=7e10, poisson=0.3, density=2700.0):
    """Mass, stiffness and nodes of a square plate of Adini's, Clough's and Melosh's elements for bending and bilinear
    ones in the plane: what shell elements are, with springs for the rotation about their normal, and no mass in it."""
    h = size / count
    D = young * thickness**3 / (12 * (1 - poisson**2))
    bending = D * np.array([[1, poisson, 0], [poisson, 1, 0], [0, 0, (1 - poisson) / 2]])
    plane = bending * 12 / thickness**2
    ends = np.array([[0, 0], [1, 0], [1, 1], [0, 1]]) * h
    powers = [(0, 0), (1, 0), (0, 1), (2, 0), (1, 1), (0, 2), (3, 0), (2, 1), (1, 2), (0, 3), (3, 1), (1, 3)]

    def derived(x, y, i, j):
        def one(z, n, d):
            return np.prod([n - k for k in range(d)]) * z ** max(n - d, 0) if n >= d else 0.0

        return np.array([one(x, a, i) * one(y, b, j) for a, b in powers])

    corner = np.concatenate([[derived(*p, 0, 0), derived(*p, 0, 1), -derived(*p, 1, 0)] for p in ends])
    back = np.linalg.inv(corner)
    across = np.concatenate([6 * k + np.array([2, 3, 4]) for k in range(4)])
    along = np.concatenate([6 * k + np.array([0, 1]) for k in range(4)])
    m, k = np.zeros((24, 24)), np.zeros((24, 24))
    points, weights = np.polynomial.legendre.leggauss(4)
    for u, w in zip(points, weights, strict=True):
        for v, w2 in zip(points, weights, strict=True):
            x, y, area = h * (1 + u) / 2, h * (1 + v) / 2, w * w2 * h * h / 4
            curved = np.stack([derived(x, y, 2, 0), derived(x, y, 0, 2), 2 * derived(x, y, 1, 1)]) @ back
            k[np.ix_(across, across)] += area * curved.T @ bending @ curved
            moved = derived(x, y, 0, 0) @ back
            m[np.ix_(across, across)] += area * density * thickness * np.outer(moved, moved)
            N = np.array([(1 - u) * (1 - v), (1 + u) * (1 - v), (1 + u) * (1 + v), (1 - u) * (1 + v)]) / 4
            slope = np.array([[v - 1, 1 - v, 1 + v, -1 - v], [u - 1, -1 - u, 1 + u, 1 - u]]) / (2 * h)
            strain = np.zeros((3, 8))
            strain[0, ::2], strain[1, 1::2] = slope
            strain[2, ::2], strain[2, 1::2] = slope[1], slope[0]
            k[np.ix_(along, along)] += area * strain.T @ plane @ strain
            m[np.ix_(along, along)] += area * density * thickness * np.kron(np.outer(N, N), np.eye(2))
            # The rotation about the normal follows what the plane does.
            turned = np.zeros(24)
            turned[along[::2]], turned[along[1::2]], turned[5::6] = -slope[1] / 2, slope[0] / 2, -N
            k += area * 1e-3 * plane[2, 2] * np.outer(turned, turned)
    nodes = np.array([[i * h, j * h, 0.0] for j in range(count + 1) for i in range(count + 1)])
    M, K = (lil_array((6 * len(nodes),) * 2) for _ in "MK")
    for j in range(count):
        for i in range(count):
            first = j * (count + 1) + i
            some = [first, first + 1, first + count + 2, first + count + 1]
            at = np.concatenate([np.arange(6 * n, 6 * n + 6) for n in some])
            M[np.ix_(at, at)] += m
            K[np.ix_(at, at)] += k
    return csr_array(M), csr_array(K), nodes, D / (density * thickness * size**4)


def test_a_plate_of_shells_vibrates_as_leissa_says():
    """A square plate held along one edge, Poisson's ratio 0.3. Leissa (1973) has upper bounds: 3.4917, 8.5246, 21.429,
    27.331, 31.111; methods with more functions converge to those below."""
    M, K, nodes, unit = plate(8)
    root = np.flatnonzero(nodes[:, 0] == 0.0)
    body = FiniteElements(M, K, nodes, {"root": root}, modes=5)
    check_flexible_body(body)
    best = [3.4710, 8.5065, 21.285, 27.199, 30.956]
    np.testing.assert_allclose(body.frequencies / np.sqrt(unit), best, rtol=6e-3)
    mass, com, inertia = body.rigid
    np.testing.assert_allclose([mass, *com], [27.0, 0.5, 0.5, 0.0], atol=1e-9)
    np.testing.assert_allclose(np.diag(inertia), 27.0 * np.array([1, 1, 2]) / 12.0, rtol=1e-9)


def test_they_are_kept_in_files(tmp_path):
    m = system(of_matrices(frame(2), damping=0.01)).mechanism
    m.save(tmp_path / "boom.toml")
    again = ct.load(tmp_path / "boom.toml").system()
    q = m.system().neutral()
    np.testing.assert_allclose(again.mass_matrix(q), m.system().mass_matrix(q), atol=1e-11)


def test_freedoms_in_another_order_are_refused_in_words():
    one = frame(2)
    M, K = one.matrices
    n = M.shape[0] // 6
    by_kind = np.arange(6 * n).reshape(n, 6).T.ravel()
    turned_first = np.arange(6 * n).reshape(n, 2, 3)[:, ::-1].ravel()
    for order in (by_kind, turned_first):
        with pytest.raises(
            ModelError, match="resists a translation.*x, y, z and, where it has them, rx, ry, rz"
        ):
            FiniteElements(M[order][:, order], K[order][:, order], places(one), {"root": [0]})
    with pytest.raises(ModelError, match=r"mass matrix weighs \[.*\] kg along x, y and z"):
        FiniteElements(M[turned_first][:, turned_first], K, places(one), {"root": [0]}).points()
    with pytest.raises(ModelError, match="resists a rotation"):
        FiniteElements(M, K, 1000.0 * places(one), {"root": [0]})
    with pytest.raises(ModelError, match=r"3 freedoms each: \(15, 15\) or 6 freedoms each: \(30, 30\)"):
        FiniteElements(M[:12, :12], K, places(one), {"root": [0]})
    with pytest.raises(ModelError, match=r"stiffness matrix has shape \(15, 15\); 5 nodes have 6 freedoms"):
        FiniteElements(M, K[:15, :15], places(one), {"root": [0]})


def test_modes_that_are_equally_fast_come_out_alike_whatever_rounding_does():
    """A straight boom of a round section bends along y and along z equally fast; matrices that differ by rounding."""
    one = BeamFrame(
        {"a": (0.0, 0.0, 0.0), "b": (1.0, 0.0, 0.0)}, [Member("a", "b", elements=8, **ROUND)], ("a",), 7
    )
    same = of_matrices(one)
    tip = same.shapes((1.0, 0.0, 0.0)).S
    for pair in (0, 2, 4):
        # Clamped and free: every second mode has its largest motion at the tip, away from it the next smaller one.
        np.testing.assert_allclose(tip[:, pair : pair + 2].T, [(0.0, 1.0, 0.0), (0.0, 0.0, 1.0)], atol=1e-5)
    rng = np.random.default_rng(3)
    M, K = one.matrices
    for _ in range(3):
        noise = 1e-15 * rng.standard_normal(K.shape)
        noisy = [(A.toarray() * (1.0 + noise + noise.T)) for A in (M, K)]
        other = FiniteElements(*noisy, places(one), {"a": [0]}, 7)
        np.testing.assert_allclose(other.shapes((1.0, 0.0, 0.0)).S, tip, atol=1e-6)
        # Of a pair that the number of modes cuts in two the same one is left.
        cut = FiniteElements(*noisy, places(one), {"a": [0]}, 3)
        np.testing.assert_allclose(cut.shapes((1.0, 0.0, 0.0)).S, tip[:, :3], atol=1e-6)
