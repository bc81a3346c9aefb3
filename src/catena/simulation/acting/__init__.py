"""What acts on a mechanism during a run: controllers behind actuators, wrenches, prescribed motions, powers."""
