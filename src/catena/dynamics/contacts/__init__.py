"""Contacts as forces, impulses and mobilities; tips of chains that touch supports of known motion."""
