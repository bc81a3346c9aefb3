"""Mechanisms as Functional Mock-up Units: for Simulink, Dymola, OpenModelica, Amesim and whatever else imports FMI."""

from catena.bridges.fmu.export import export_fmu

__all__ = ["export_fmu"]
