"""Simulation against reference solutions of the field, each with the accuracy that its source states.

The pendulum is known in closed form (elliptic functions); the four-bar, Andrews' mechanism and Bricard's mechanism were
solved by two formulations each at tolerances near rounding, and Andrews' end state is published with the test set for
solvers of initial value problems. Besides, conservative loops must keep their energy and stay closed over 10 s at
default tolerances.
"""

import numpy as np
import pytest

import catena as ct
from catena.mechanism.generators import andrews, bricard, four_bar, n_four_bars, spatial_four_bar, stewart
from catena.mechanism.generators.andrews import DRIVE, SPRING_LENGTH, SPRING_STIFFNESS, START

TIGHT = {"rtol": 1e-11, "atol": 1e-12}

# t, angle from the downward vertical, its rate, tension of the rod: 1 kg on 1 m, at rest beside its pivot, g = 9.81.
PENDULUM = np.array([
    [1.0, 1.405027311524799, 1.7993090169070787, 4.856269407484676],
    [2.0, -0.916647589663245, -3.4552068990593297, 17.907682072960785],
    [5.0, -1.2294518114853856, 2.5627875681926295, 9.851820179524037],
    [9.99, -0.3219705556880201, 4.31413964583632, 27.917701325665103],
    [10.0, -0.27868067356998294, 4.343160692864683, 28.29456720606725],
])  # fmt: skip

# t, crank angle and rate, angles of coupler and rocker: a crank-rocker under 2.5 N m from pi/3 and 3 rad/s.
FOUR_BAR = np.array([
    [1.0, 7.913896359684815, 8.43773769003342, 0.42809243164255995, 1.4954365602971162],
    [2.0, 23.027621717426964, 29.47692547443606, 1.0290919266869791, 2.2783616454964224],
    [5.0, 109.86887175435768, 43.79123996417341, 0.666315370135901, 2.10103624714821],
])  # fmt: skip
# Crank angle and rate, crank acceleration, and the in-plane forces (x, z) on crank, coupler, rocker and rocker at the
# pins A, B, C and D, at the start and after 5 s.
FOUR_BAR_FORCES = [
    (1.0471975511965976, 3.0, -10.694465703661654, {
        "A": (-3.0267108545839685, 10.736654259552132), "B": (-3.9790466504384527, 3.5549465567302656),
        "C": (-5.712091450159649, -9.80404002784166), "D": (5.583371356168822, 23.76571841203782)}),
    (109.86887175435768, 43.79123996417341, 738.3015391984763, {
        "A": (1268.910665198707, -161.28489101766934), "B": (899.6336938158981, 9.284786093505517),
        "C": (-100.79620082471712, 385.2392892891795), "D": (297.20316473096636, -396.6356510191719)}),
]  # fmt: skip

ANGLES = ("beta", "Theta", "gamma", "Phi", "delta", "Omega", "epsilon")
# Published at t = 0.03: angles and rates.
ANDREWS = np.array([
    [15.81077119629904, -15.75637105984298, 0.04082224013073101, -0.5347301163226948, 0.5244099658805303,
     0.5347301163226948, 1.048080741042263],
    [1139.920302151208, -1424.379294994111, 11.03291221937134, 19.29337464421385, 0.5735699284790808,
     -19.29337464421385, 0.3231791658026955],
])  # fmt: skip
# Angles and rates at other times and, to more digits than published, at t = 0.03; from two other formulations.
ANDREWS_STATES = {
    0.01: ((2.160113131531528, -1.8833642311070455, 0.15851675800122653, -0.32864107517467067, 0.5251547747977294,
            0.32864107517467067, 1.068427204632401),
           (711.9231528311037, -786.7700808599399, -136.43819137811963, -240.2930292678644, 4.791548225371109,
            240.29302926786443, -41.14056696161038)),
    0.02: ((8.184905889661312, -7.8905053637300755, 0.2095369133847704, -0.23832559659572128, 0.5225369171559914,
            0.23832559659572192, 1.0862751085999018),
           (726.5583426090209, -748.63242063214, -145.73923758438448, -259.500799476744, 9.790501855168223,
            259.5007994767439, -57.75747174275662)),
    0.03: ((15.81077119515284, -15.756371058410757, 0.04082224011963731, -0.5347301163420942, 0.5244099658799536,
            0.5347301163420942, 1.0480807410419377),
           (1139.9203022590998, -1424.379295177548, 11.032911910372018, 19.293374104600854, 0.5735699148167749,
            -19.293374104600858, 0.3231791492416333)),
    0.05: ((33.82586776695333, -33.58343151746248, 0.11339507381279708, -0.4078528656015379, 0.5260604449169949,
            0.4078528656015379, 1.0569024294350038),
           (1144.535502653431, -1336.0337226504073, -190.93706860440543, -334.31706087106454, 0.8758650829702316,
            334.3170608710646, -39.61728897845951)),
}  # fmt: skip
ANDREWS_ACCELERATIONS = {
    0.0: (14222.443919954121, -10666.83293996559, 0.0, 0.0, 0.0, 0.0, 0.0),
    0.03: (-24631.763122023665, 51850.31963514792, 324102.60070761037, 566749.4220010517, 16743.635418354137,
           -566749.4220010518, 9826.507801522714),
}  # fmt: skip

# t, position and velocity of P3.
BRICARD = np.array([
    [1.0, 0.27448131926466357, -0.8867079387346778, -0.4623300026873649,
     -1.0949194524135974, 0.15669907937030314, -0.30053493578702756],
    [2.0, -0.7781353730333133, -0.98035268344326, -0.1972526706171532,
     -0.8223592716498964, -0.12875298348672226, 0.6399068386126961],
    [5.0, 0.9999327423022019, -0.9999999977383531, -6.725543599921134e-05,
     -0.016228823314058203, 1.0914031800063916e-06, -0.016227731800764134],
    [10.0, 0.9997309873040249, -0.9999999638258174, -0.000268976512059956,
     -0.03245328022241138, 8.726822177222269e-06, -0.032444549878005505],
])  # fmt: skip


def energy(run):
    """Kinetic energy and that of gravity and springs, (samples,)."""
    system = run.system
    return system.kinetic_energy(run.q, run.v) + system.potential_energy(run.q)


def relative_drift(run):
    """The largest change of energy over the largest kinetic energy."""
    total = energy(run)
    return np.max(np.abs(total - total[0])) / np.max(run.system.kinetic_energy(run.q, run.v))


def pendulum():
    """The planar pendulum of the field's benchmark library (IFToMM A01): 1 kg on a rod of 1 m without mass."""
    m = ct.Mechanism("pendulum")
    m.add_body("bob", mass=1.0, com=(0, 0, -1.0), inertia=0.0)
    m.add_joint("pivot", "ground", "bob", ct.Revolute("-y"))
    return m.system()


def test_the_pendulum_reaches_its_closed_form_solution():
    system = pendulum()
    run = ct.simulate(system, [-np.pi / 2], [0.0], 10.0, samples=1001, **TIGHT)
    at = np.round(PENDULUM[:, 0] * 100).astype(int)
    np.testing.assert_allclose(run.t[at], PENDULUM[:, 0], rtol=1e-14)
    np.testing.assert_allclose(run.q[at, 0], PENDULUM[:, 1], rtol=0.0, atol=1e-7)
    np.testing.assert_allclose(run.v[at, 0], PENDULUM[:, 2], rtol=0.0, atol=1e-7)
    # The rod pulls the bob along its own z axis.
    tension = system.reactions(run.q[at], run.v[at])["pivot"][:, 5]
    np.testing.assert_allclose(tension, PENDULUM[:, 3], rtol=0.0, atol=1e-6)


def test_the_pendulum_keeps_its_energy_at_default_tolerances():
    """The benchmark allows 5e-5 J over 10 s."""
    run = ct.simulate(pendulum(), [-np.pi / 2], [0.0], 10.0, samples=101)
    assert np.max(np.abs(energy(run) - energy(run)[0])) < 5e-5


@pytest.mark.parametrize("duration", [2.0, pytest.param(5.0, marks=pytest.mark.slow)])
def test_the_driven_four_bar_reaches_its_reference(duration):
    system = four_bar().system()
    q = system.neutral()
    v = system.velocity(q, {"A": 3.0})
    tau = np.zeros(system.nv)
    tau[system.slice_v("A")] = 2.5
    run = ct.simulate(
        system, q, v, duration, control=lambda t, q, v: tau, samples=1 + round(duration), **TIGHT
    )
    reference = FOUR_BAR[FOUR_BAR[:, 0] <= duration]
    at = reference[:, 0].astype(int)
    np.testing.assert_allclose(np.pi / 3 + run["A"][at, 0], reference[:, 1], rtol=0.0, atol=1e-7)
    # The stated accuracy is that of angles; a rate changes by its acceleration, up to 740 rad/s^2, over dt.
    np.testing.assert_allclose(run.v[at, system.slice_v("A")][:, 0], reference[:, 2], rtol=0.0, atol=2e-6)
    poses = system.body_poses(run.q[at])
    for body, column in (("coupler", 3), ("rocker", 4)):
        angle = np.arctan2(poses[body][:, 2, 0], poses[body][:, 0, 0])
        np.testing.assert_allclose(angle, reference[:, column], rtol=0.0, atol=1e-7)
    assert run.closure_error < 1e-10


@pytest.mark.parametrize(("angle", "rate", "acceleration", "forces"), FOUR_BAR_FORCES, ids=["start", "end"])
def test_the_pin_forces_of_the_driven_four_bar(angle, rate, acceleration, forces):
    """The state after 5 s has other values of the angles by whole turns, which no force knows of."""
    system = four_bar().system()
    q = system.assemble({"A": (angle - np.pi / 3) % (2 * np.pi)}, guess=_follow(system, angle))
    v = system.velocity(q, {"A": rate})
    tau = np.zeros(system.nv)
    tau[system.slice_v("A")] = 2.5
    vdot = system.forward_dynamics(q, v, tau)
    assert vdot[system.slice_v("A")][0] == pytest.approx(acceleration, rel=1e-8)
    reactions, poses = system.reactions(q, v, tau), system.body_poses(q)
    size = max(np.hypot(*force) for force in forces.values())
    for joint, force in forces.items():
        # All joint frames of children have the axes of their bodies.
        child = system.mechanism.joints[joint].child
        found = poses[child][:3, :3] @ reactions[joint][3:]
        np.testing.assert_allclose(found[[0, 2]], force, rtol=0.0, atol=1e-8 * size, err_msg=joint)


def _follow(system, angle):
    """The configuration reached by turning the crank a little at a time, on the branch of the start."""
    q, target = system.neutral(), (angle - np.pi / 3) % (2 * np.pi)
    for part in np.linspace(0.0, target, 40):
        q = system.assemble({"A": part}, guess=q)
    return q


def squeezer():
    """Andrews' mechanism with its spring, planned so that the published angles are its coordinates."""
    mechanism = andrews()
    mechanism.add_spring_between("spring", "C", "D", SPRING_STIFFNESS, SPRING_LENGTH)
    return mechanism.system(cut=["E2", "E4", "E6"])


def drive(system):
    tau = np.zeros(system.nv)
    tau[system.slice_v("beta")] = DRIVE
    return tau


def spring_pull(system, q):
    """The pull of the spring on K3 by hand, {"D": wrench in its axes}."""
    C, D = (system.pose(q, name) for name in "CD")
    along = C.p - D.p
    length = np.linalg.norm(along)
    pull = SPRING_STIFFNESS * (length - SPRING_LENGTH) / length * along
    return {"D": np.concatenate([np.zeros(3), D.R.T @ pull])}


@pytest.mark.parametrize("t", ANDREWS_ACCELERATIONS)
def test_the_accelerations_of_the_squeezing_mechanism(t):
    """With the spring of the mechanism, and with the spring as an external force, at the start and at 0.03 s. (The
    accelerations published for 0.03 s have fewer digits: they differ by 1.3e-6.)"""
    system = squeezer()
    assert system.joints == ANGLES
    q, v = np.array(ANDREWS_STATES[t]) if t else np.array([START, np.zeros(7)])
    q = q - START
    assert np.max(np.abs(system.closure(q, v)[0])) < 1e-12
    expected = np.array(ANDREWS_ACCELERATIONS[t])
    told = system.forward_dynamics(q, v, drive(system), f_ext=spring_pull(system, q), elements=False)
    for vdot in (told, system.forward_dynamics(q, v, drive(system))):
        np.testing.assert_allclose(vdot, expected, rtol=0.0, atol=1e-9 * np.max(np.abs(expected)))


def test_the_squeezing_mechanism_reaches_its_published_end_state():
    system = squeezer()
    tau = drive(system)
    run = ct.simulate(system, np.zeros(7), np.zeros(7), 0.03, control=lambda t, q, v: tau, samples=4, **TIGHT)
    q, v = START + run.q, run.v
    for k, t in ((1, 0.01), (2, 0.02)):
        np.testing.assert_allclose(q[k], ANDREWS_STATES[t][0], rtol=1e-6, atol=1e-9)
        np.testing.assert_allclose(v[k], ANDREWS_STATES[t][1], rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(q[3], ANDREWS[0], rtol=1e-6)
    # Rates that are small where they are read change by 3e5 rad/s^2.
    np.testing.assert_allclose(v[3], ANDREWS[1], rtol=1e-6, atol=1e-6)
    assert run.closure_error < 1e-10


@pytest.mark.slow
def test_the_squeezing_mechanism_reaches_0_05_s():
    system = squeezer()
    tau = drive(system)
    run = ct.simulate(system, np.zeros(7), np.zeros(7), 0.05, control=lambda t, q, v: tau, samples=2, **TIGHT)
    np.testing.assert_allclose(START + run.q[-1], ANDREWS_STATES[0.05][0], rtol=1e-6)
    np.testing.assert_allclose(run.v[-1], ANDREWS_STATES[0.05][1], rtol=1e-6, atol=1e-6)


def test_bricards_mechanism_moves_as_its_reference():
    system = bricard().system()
    run = ct.simulate(system, system.neutral(), np.zeros(system.nv), 10.0, samples=11, rtol=1e-10, atol=1e-11)
    at = BRICARD[:, 0].astype(int)
    poses = system.pose(run.q[at], "P3")
    np.testing.assert_allclose(poses[:, :3, 3], BRICARD[:, 1:4], rtol=0.0, atol=1e-6)
    twist = system.twist(run.q[at], run.v[at], "P3")
    velocity = np.einsum("kij,kj->ki", poses[:, :3, :3], twist[:, 3:])
    np.testing.assert_allclose(velocity, BRICARD[:, 4:], rtol=0.0, atol=1e-5)
    assert np.max(np.abs(energy(run) - energy(run)[0])) < 1e-6


def _swinging(n):
    """A row of four-bars that hang and swing less than a quarter turn, so that they never lie flat."""
    system = n_four_bars(n).system()
    q = system.neutral()
    for angle in np.linspace(0.0, 2.3, 24):
        q = system.assemble({"pin0": angle}, guess=q)
    return system, q, np.zeros(system.nv)


def _pushed(mechanism, joint):
    system = mechanism.system()
    q = system.neutral()
    return system, q, system.velocity(q, {joint: 1.0})


def _sprung():
    """A Stewart platform that swings on springs in its legs."""
    mechanism = stewart()
    for k in range(1, 7):
        mechanism.add_spring(f"spring{k}", f"leg{k}", 2000.0, rest=0.03)
    return _pushed(mechanism, "leg1")


CONSERVATIVE = {
    "bricard": lambda: _pushed(bricard(), "joint1"),
    "spatial_four_bar": lambda: _pushed(spatial_four_bar(), "A"),
    "four_bar": lambda: _pushed(four_bar(), "A"),
    "n_four_bars(3)": lambda: _swinging(3),
    "n_four_bars(40)": lambda: _swinging(40),
    "stewart": _sprung,
}
LONG = ("n_four_bars(40)",)


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=pytest.mark.slow if n in LONG else ()) for n in CONSERVATIVE]
)
def test_conservative_loops_keep_their_energy_and_stay_closed_for_10_s_at_default_tolerances(name):
    system, q, v = CONSERVATIVE[name]()
    run = ct.simulate(system, q, v, 10.0, samples=101)
    assert relative_drift(run) < 1e-8
    assert np.max(np.abs(system.closure(run.q)[0])) < 1e-10
