"""What a run leaves behind: states over time with what follows from them, their audit, tables and files."""
