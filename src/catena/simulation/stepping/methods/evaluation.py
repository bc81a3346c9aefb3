"""The accelerations of one stage of a step: what acts, the dynamics, how far these can be trusted, and the powers."""

from dataclasses import dataclass, replace
from functools import cached_property, partial

from catena.dynamics import articulated_body, flexible_dynamics
from catena.dynamics.bearing_loads import loaded_elimination, loaded_tree
from catena.dynamics.contacts import contact_forces
from catena.dynamics.contacts.contact_elimination import ThroughElimination
from catena.dynamics.elements.force_sweeps import force_sweeps
from catena.dynamics.loops.elimination import loop_elimination
from catena.dynamics.loops.elimination.damped import damped
from catena.dynamics.loops.elimination.dry_loops import at_dry_loops, holding, with_dry_loops
from catena.dynamics.loops.elimination.feedback import elimination_with_feedback
from catena.dynamics.loops.elimination.hybrid import articulate_driven, articulate_held, hybrid_elimination
from catena.dynamics.loops.elimination.pulling import pulling_sweeps, telling
from catena.dynamics.loops.elimination.steps import articulate
from catena.dynamics.tree.hybrid_dynamics import hybrid_dynamics
from catena.kernels import Algorithm, OnCall, Pause, Schedule, Sweep, at_ground
from catena.simulation.stepping.methods import loads, sticking, turns, work
from catena.simulation.stepping.methods.damped_dynamics import damped_dynamics, resist
from catena.simulation.stepping.methods.decision import certify
from catena.simulation.stepping.methods.method import Method
from catena.simulation.stepping.methods.projection import (
    closing_sweeps,
    rest,
    shift_positions,
    shift_velocities,
)
from catena.simulation.stepping.methods.steering import (
    CompiledLaws,
    follow,
    follow_formulas,
    keep_force,
    look_at_the_clock,
    push_by_law,
    push_by_paths,
    steer,
)
from catena.simulation.stepping.methods.supplied_accelerations import supplied_accelerations
from catena.simulation.stepping.methods.variant import StepVariant


def _dynamics(variant: StepVariant) -> Algorithm:
    lands = variant.method == "time_stepping"
    implicit = lands or variant.method == "implicit_leapfrog"
    if variant.supplied:
        return supplied_accelerations
    if lands and variant.shape is not None:
        return damped((hybrid_elimination if variant.driven else loop_elimination)(variant.shape, implicit))
    if lands:
        return damped_dynamics(variant.driven)
    if variant.shape is not None:
        if variant.feedback:
            return elimination_with_feedback(variant.shape, variant.holds, implicit)
        return (hybrid_elimination if variant.holds else loop_elimination)(variant.shape, implicit)
    if variant.modes:
        return flexible_dynamics(variant.modes, variant.holds, implicit)
    return hybrid_dynamics if variant.holds else articulated_body


@dataclass(eq=False)
class Stages:
    """The stages of a step by a method, one after the other; where its last stage `reuses` as the first of the next,
    that is left out of the next one."""

    variant: StepVariant
    method: Method
    formulas: CompiledLaws
    reuses: bool
    judged: bool
    count: int = 0
    """How many stages have been evaluated."""
    first: int = 0
    """How many sweeps evaluate the first one."""

    @cached_property
    def dynamics(self) -> Algorithm:
        """Return the algorithm for the accelerations."""
        found, variant = _dynamics(self.variant), self.variant
        if variant.bears:
            found = (loaded_elimination if variant.shape else loaded_tree)(found)
        if self.variant.loops_stick:
            found = with_dry_loops(found, variant.bears)
        found = telling(found) if self.variant.pulls else found
        if (self.variant.touches and variant.shape is None) or self.method.lands:
            found = replace(found, ground=contact_forces.begun_with_contacts(found.ground))
        return found

    @property
    def yielding(self) -> OnCall:
        """Return how bodies yield where loops are closed."""
        if self.variant.is_minimal:
            return articulate_held
        return articulate_driven if self.variant.holds else articulate

    @cached_property
    def closing(self) -> tuple[Schedule, Schedule]:
        """Return the sweeps that close loops: joints that are driven or stick do not give way."""
        sweeps = closing_sweeps(self.yielding, self.method.is_implicit or self.method.lands)
        if not self.variant.loops_stick:
            return sweeps
        close_positions, close_velocities = (Schedule(holding(sweep.order, False)) for sweep in sweeps)
        return close_positions, close_velocities

    @cached_property
    def middle(self) -> int:
        """Return the stage in about the middle of a step whose last stage is at its end; 0 where there is none."""
        times = self.method.times
        inner = [k for k, c in enumerate(times) if 0.01 < c < 0.99]
        if self.method.tableau is None or not inner or times[-1] < 0.99:
            return 0
        return min(inner, key=lambda k: abs(times[k] - 0.5))

    @cached_property
    def judging(self) -> sticking.Judging:
        """Return how it is judged whether friction goes on as it does."""
        middle = self.method.times[self.middle] if self.middle else 0.0
        variant = self.variant
        last = "qdd" if variant.shape is None else "qdd_last"
        return sticking.Judging(
            self.method.first,
            last,
            middle,
            variant.driven,
            self.method.is_adaptive,
            variant.loops_stick,
            variant.bears,
        )

    @cached_property
    def measuring(self) -> Schedule:
        """Return the sweep that finds how joints of loops move that may stick."""
        return Schedule(sticking.measured_rates)

    @cached_property
    def touching(self) -> list[Sweep]:
        """Return the sweeps that find the forces of contacts, behind those of the dynamics or, with loops, in their
        place; all stages share them, so that they work in the same places."""
        variant = self.variant
        if variant.shape is None:
            return contact_forces.contact_sweeps(variant.touches, variant.driven, variant.least)
        (eliminating,) = (sweep for sweep in self.dynamics.sweeps if isinstance(sweep, Schedule))
        return ThroughElimination(variant.touches, variant.least).sweeps(eliminating.order)

    @property
    def target(self) -> str:
        """Return the name of the input that takes control forces."""
        return "given" if self.variant.forces or self.variant.sticks else "tau"

    def accelerations(self, stage_time: float) -> list[Sweep]:
        """Return the accelerations of a stage, and whether they can be trusted, and what is done with them."""
        counted: list[Sweep] = [turns.count_once(stage_time)] if self.variant.turns else []
        return [*self.evaluated(stage_time), *self.heeded(), *counted]

    def evaluated(self, stage_time: float) -> list[Sweep]:
        """Return the accelerations of a stage, whether they can be trusted, and the powers."""
        variant, dynamics, begun = self.variant, self.dynamics, self.count
        self.count += 1
        touching: list[Sweep] = []
        if variant.touches:
            touching = self.touching
            if variant.shape is None and 0 < begun < len(self.method.times) - 1:
                touching = contact_forces.where_some_hold(touching)
        sweeps = [
            *self._led(stage_time),
            at_ground(dynamics.ground),
            Pause("forces"),
            *self._acting(stage_time),
        ]
        moving = [sweep for sweep in dynamics.sweeps if not isinstance(sweep, OnCall)]
        if variant.bears:
            moving = self._until_loads_agree(moving)
        sweeps += moving if variant.shape is None or not touching else []
        sweeps += [*touching, *([certify] if variant.shape else [])]
        if variant.pulls:
            sweeps += pulling_sweeps(self.method.is_implicit)
        sweeps.append(Pause("accelerations"))
        if variant.counts and self.method.lands:
            sweeps += work.count_damped(variant.forces, variant.driven, variant.shape is not None)
        elif variant.counts:
            sweeps += work.count(
                variant.forces, variant.driven, variant.shape is not None, variant.sticks, variant.bears
            )
            sweeps += [contact_forces.count_contacts(variant.touches)] if touching else []
        self.first = self.first if begun else len(sweeps)
        return sweeps

    def _until_loads_agree(self, moving: list[Sweep]) -> list[Sweep]:
        """Return the sweeps of the dynamics with those that repeat a part of them."""
        if self.variant.shape is None:
            return loads.tree_rounds(moving, at_ground(self.dynamics.ground), not self.variant.modes)
        (eliminating,) = moving
        assert isinstance(eliminating, Schedule)
        return loads.elimination_rounds(eliminating.order)

    def _led(self, stage_time: float) -> list[Sweep]:
        """Return what puts driven joints where they are at a stage, and closes loops there where they are fragile, or
        where dependent coordinates follow the others."""
        sweeps: list[Sweep] = [follow(stage_time)] if self.variant.paths else []
        if self.formulas.guide is not None:
            sweeps += follow_formulas(self.formulas.guide, stage_time)
        if (self.variant.fragile or self.variant.is_minimal) and stage_time:
            close_positions, close_velocities = self.closing
            sweeps.append(Pause("leading"))
            sweeps += 2 * [rest, close_positions, shift_positions]
            sweeps += [rest, close_velocities, shift_velocities]
        return sweeps

    def _acting(self, stage_time: float) -> list[Sweep]:
        """Return the control forces, wrenches and other forces of a stage."""
        variant, law, push, sweeps = self.variant, self.formulas.law, self.formulas.push, list[Sweep]()
        if law is not None and variant.law is not None and variant.law.asked == "always":
            sweeps += [look_at_the_clock(stage_time), steer(law, variant.law, self.target)]
        if push is not None:
            sweeps.append(push_by_law(push, stage_time))
        elif variant.wrench_paths:
            sweeps.append(push_by_paths(stage_time))
        sweeps += force_sweeps(count=variant.counts) if variant.forces else []
        sweeps += [resist] if variant.forces and self.method.lands else []
        if variant.sticks:
            if variant.bears:
                sweeps += loads.guess(self.method.times, self.count - 1, variant.loops_stick)
            sweeps.append(self._rubbing)
        return sweeps

    @cached_property
    def _rubbing(self) -> Sweep:
        """Return the step by which friction with a sense acts."""
        acts = "tau" if self.variant.forces else "given"
        return sticking.rub(acts, self.variant.driven, self.variant.bears)

    def heeded(self) -> list[Sweep]:
        """Return what is done with what was evaluated last."""
        sweeps: list[Sweep] = []
        if self.variant.touches and self.count == 1:
            sweeps += [contact_forces.heed_contacts, Pause("contacts")]
        if self.formulas.law is not None and self.count == 1:
            sweeps.append(keep_force(self.target))
        if self.variant.sticks and self.count - 1 in (0, self.middle):
            sweeps.append(sticking.keep_hold("hold_0" if self.count == 1 else "hold_1", self.variant.bears))
            if self.variant.loops_stick:
                start, middle = sticking.keeping(self.variant.bears)
                keep = start if self.count == 1 else middle
                sweeps.append(Schedule(partial(at_dry_loops, keep)))
                if self.count == 1 and not self.method.times[0]:
                    sweeps.append(Schedule(partial(at_dry_loops, sticking.keep_rate)))
        if self.variant.counts:
            table = self.method.tableau
            errors = tuple(row[self.count - 1] for row in table.errors) if self.judged and table else ()
            sweeps.append(work.gain(self.method.weights[self.count - 1], self.count == 1, errors))
        return sweeps
