"""The commands of the program, each in a file of its own.

To add a command, write a file in this folder and name it in COMMANDS below, in the order in which the help lists
commands. The file has a function `add(commands)`, which tells `commands.add(name, about, execute)` what the command is
called and adds options to the parser that it gets back, and a function `execute(arguments, console)`, which does what
was asked for, writes to the console and returns an exit code. Options that several commands have are in
`catena.cli.options`; a request that cannot be fulfilled raises a CatenaError. The options belong on the page
docs/command_line.md, which tests compare with the program.
"""

from catena.cli.commands import (
    check,
    completion,
    convert,
    count,
    critical_path,
    demo,
    fmu,
    info,
    models,
    run,
    schema,
    studio,
    study,
    view,
    warm,
)

COMMANDS = (
    run, study, view, studio, info, check, convert, fmu, count, critical_path, demo, models, schema, warm, completion,
)  # fmt: skip
