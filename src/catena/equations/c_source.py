"""Equations as standalone C99: a source, its header, and a program that tests them."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from catena.equations.graph import CONSTANT, INPUT, ExpressionGraph, identifier
from catena.equations.labels import entry_meanings, result_index
from catena.equations.plain_text import in_comment
from catena.errors import FormatError
from catena.formats.complete import file_path, own_name, reason, write_complete

if TYPE_CHECKING:
    from catena.equations.equations import Equations


@dataclass(frozen=True)
class CSource:
    """Equations in C: the texts of `name`.c, `name`.h and `name`_test.c. The source needs <math.h> and nothing else."""

    name: str
    source: str
    header: str
    test: str

    def __str__(self) -> str:
        return self.source

    def save(self, folder: str | Path) -> list[Path]:
        """Write the three files into a folder, which is made if need be, and return their paths."""
        place = file_path(folder)
        try:
            place.mkdir(parents=True, exist_ok=True)
        except (OSError, ValueError) as error:
            raise FormatError(f"{place}: the folder cannot be made: {reason(error)}") from error
        texts = {
            f"{self.name}.c": self.source,
            f"{self.name}.h": self.header,
            f"{self.name}_test.c": self.test,
        }
        for file, text in texts.items():
            named = file == f"{self.name}.c"
            write_complete(place / file if named else own_name(place / file), text.encode())
        return [place / file for file in texts]


def c_source(equations: "Equations", name: str, single: bool = False) -> CSource:
    """Return the equations as a C function called `name`, in float if `single`, else in double."""
    graph = equations.graph
    return CSource(
        name, _source(graph, name, single), _header(equations, name, single), _test(equations, name, single)
    )


def _prototype(
    graph: ExpressionGraph, name: str, arguments: list[str], has_parameters: bool, real: str
) -> str:
    inputs = [f"const {real} *{graph.words[n]}" for n in arguments]
    if has_parameters:
        inputs.append(f"const {real} *parameters")
    outputs = [f"{real} *{_result(n)}" for n in graph.outputs]
    return f"void {name}({', '.join([*inputs, *outputs])})"


def _result(name: str) -> str:
    """Return a result that is called as an argument is (tau of bias forces) has another name in C."""
    return f"result_{identifier(name)}"


def _arguments(graph: ExpressionGraph, parameters: int) -> list[str]:
    names = list(graph.inputs)
    return names[: len(names) - parameters]


def _source(graph: ExpressionGraph, name: str, single: bool) -> str:
    function = function_text(graph, name, f"{name}_real", single)
    return "\n".join([f'#include "{name}.h"\n', "#include <math.h>\n", function])


# Compilers take time that grows faster than the length of a function: 9240 operations, of a Stewart platform, take
# gcc -O1 1.9 s in one and 0.6 s in parts, gcc -O2 2.0 s and 1.0 s.
LONGEST = 250


def function_text(
    graph: ExpressionGraph, name: str, real: str, single: bool = False, static: bool = False
) -> str:
    """Return the definition of a C function called `name` that computes a graph in numbers of the type `real`, `static`
    or for all. It takes the graph's arguments, then the parameters if there are some, and pointers to its results. What
    is long is cut into parts, which hand each other numbers in an array."""
    values, operations = _values(graph, single), graph.operations.tolist()
    parts = [operations[k : k + LONGEST] for k in range(0, len(operations), LONGEST)]
    arguments, has_parameters = _split(graph)
    head = _prototype(graph, name, arguments, has_parameters, real)
    passed = [graph.words[n] for n in arguments] + ["parameters"] * has_parameters
    lines = []
    handed = _handed_on(graph, parts)
    if len(parts) > 1:
        parameters = "".join(f"const {real} *{word}, " for word in passed)
        for number, part in enumerate(parts):
            lines.append(f"static void {name}_part{number}({parameters}{real} *w) {{")
            lines += [f"    (void){word};" for word in passed]
            lines += _statements(graph, part, values, real, single)
            for k in part:
                if k in handed:
                    lines.append(f"    w[{handed[k]}] = {values[k]};")
                    values[k] = f"w[{handed[k]}]"
            lines += ["}", ""]
    lines.append(f"{'static ' if static else ''}{head} {{")
    if len(parts) > 1:
        # By a table, because compilers put functions that are called once back into the caller.
        types = ", ".join([f"const {real} *"] * len(passed) + [f"{real} *"])
        names = ", ".join(f"{name}_part{number}" for number in range(len(parts)))
        lines.append(f"    static void (*const part[])({types}) = {{{names}}};")
        lines.append(f"    {real} w[{max(1, len(handed))}];")
        lines.append(f"    for (int k = 0; k < {len(parts)}; k++) part[k]({', '.join([*passed, 'w'])});")
    else:
        used = {list(graph.inputs)[graph.left[k]] for k, op in enumerate(graph.op) if op == INPUT}
        lines += [f"    (void){graph.words[n]};" for n in arguments if n not in used]
        lines += _statements(graph, operations, values, real, single)
    for output, where in graph.outputs.items():
        for position, k in enumerate(where.ravel().tolist()):
            lines.append(f"    {_result(output)}[{position}] = {values[k]};")
        if not where.size:
            lines.append(f"    (void){_result(output)};")
    return "\n".join([*lines, "}", ""])


def _statements(
    graph: ExpressionGraph, operations: list[int], values: dict[int, str], real: str, single: bool
) -> list[str]:
    """Return a line for every operation."""
    return [
        f"    const {real} t{k} = {_operation(graph.op[k], [values[o] for o in graph.operands(k)], single)};"
        for k in operations
    ]


def _handed_on(graph: ExpressionGraph, parts: list[list[int]]) -> dict[int, int]:
    """Return the operations whose numbers other parts or the results need, each with a place of its own."""
    part_of = {k: number for number, part in enumerate(parts) for k in part}
    wanted = {k for where in graph.outputs.values() for k in where.ravel().tolist() if k in part_of}
    wanted |= {
        o for k, number in part_of.items() for o in graph.operands(k) if part_of.get(o, number) != number
    }
    return {k: place for place, k in enumerate(sorted(wanted))}


def _split(graph: ExpressionGraph) -> tuple[list[str], bool]:
    """Return the names of the arguments, and whether there are parameters after them."""
    count = sum(1 for n in graph.inputs if n in graph.parameters)
    return _arguments(graph, count), count > 0


def _values(graph: ExpressionGraph, single: bool) -> dict[int, str]:
    """Return how each node is written where it is used."""
    names = list(graph.inputs)
    starts, at = {}, 0
    for n in names:
        if n in graph.parameters:
            starts[n] = at
            at += graph.inputs[n]
    values = {}
    for k, op in enumerate(graph.op):
        if op == CONSTANT:
            values[k] = _number(float(graph.value[k]), single)
        elif op == INPUT:
            n, entry = names[graph.left[k]], int(graph.right[k])
            values[k] = f"parameters[{starts[n] + entry}]" if n in starts else f"{graph.words[n]}[{entry}]"
        else:
            values[k] = f"t{k}"
    return values


def _number(x: float, single: bool) -> str:
    if np.isinf(x):
        return "HUGE_VAL" if x > 0 else "(-HUGE_VAL)"
    text = repr(float(np.float32(x)) if single else x)
    text = text if "." in text or "e" in text else f"{text}.0"
    text = f"{text}f" if single else text
    return f"({text})" if x < 0 else text


_INFIX = {"add": "+", "sub": "-", "mul": "*", "div": "/"}
_COMPARISON = {"lt": "<", "le": "<=", "eq": "==", "ne": "!=", "and": "&&", "or": "||"}


def _operation(op: str, x: list[str], single: bool) -> str:
    one, zero = ("1.0f", "0.0f") if single else ("1.0", "0.0")
    if op in _INFIX:
        return f"{x[0]} {_INFIX[op]} {x[1]}"
    if op == "neg":
        return f"-{x[0]}"
    if op == "inv":
        return f"{one} / {x[0]}"
    if op in _COMPARISON:
        return f"({x[0]} {_COMPARISON[op]} {x[1]}) ? {one} : {zero}"
    if op == "not":
        return f"({x[0]} == {zero}) ? {one} : {zero}"
    if op == "if_else_zero":
        return f"({x[0]} != {zero}) ? {x[1]} : {zero}"
    if op == "sign":
        return f"({x[0]} > {zero}) ? {one} : (({x[0]} < {zero}) ? -{one} : {zero})"
    return f"{op}{'f' if single else ''}({', '.join(x)})"


def _header(equations: "Equations", name: str, single: bool) -> str:
    graph = equations.graph
    arguments, has_parameters = _split(graph)
    lines = [
        f"/* {equations.name} of {in_comment(equations.plan.name)}: {equations.meaning}.",
        f"   {len(graph.operations)} operations, {'single' if single else 'double'} precision. Arguments:",
    ]
    for n in arguments:
        lines.append(f"   {graph.words[n]} ({graph.inputs[n]})")
        for k, meaning in enumerate(entry_meanings(equations.plan, n, graph.inputs[n])):
            lines.append(f"     [{k}] {in_comment(meaning)}")
    if has_parameters:
        values = [
            (e, x) for p in equations.parameters.values() for e, x in zip(p.entries, p.value, strict=True)
        ]
        lines.append(f"   parameters ({len(values)}), for example {name}_parameters")
        lines += [f"     [{k}] {in_comment(entry)}" for k, (entry, _) in enumerate(values)]
    lines.append("   Results:")
    for n, where in graph.outputs.items():
        rows = f", by rows: {result_index(where.shape, 0)} to {result_index(where.shape, where.size - 1)}"
        lines.append(f"   {_result(n)} ({where.size}){rows if where.ndim > 1 and where.size else ''}")
    real, guard = "float" if single else "double", f"{name.upper()}_H"
    lines += [" */", f"#ifndef {guard}", f"#define {guard}", "", f"typedef {real} {name}_real;", ""]
    if has_parameters:
        numbers = ", ".join(_number(float(x), single) for _, x in values)
        lines += [f"#define {name.upper()}_PARAMETERS {{{numbers}}}", ""]
    return "\n".join(
        [*lines, f"{_prototype(graph, name, arguments, has_parameters, f'{name}_real')};", "", "#endif", ""]
    )


def _test(equations: "Equations", name: str, single: bool) -> str:
    """A program that compares the function with numbers computed by Catena, and returns 1 if they differ."""
    graph = equations.graph
    arguments, has_parameters = _split(graph)
    values = equations.example()
    inputs = {**values, **{n: p.value for n, p in equations.parameters.items()}}
    results = {n: y[0] for n, y in graph.evaluate(inputs).items()}
    real = f"{name}_real"
    lines = [f'#include "{name}.h"', "", "#include <math.h>", "#include <stdio.h>", "", "int main(void) {"]

    def put(what: str, x: np.ndarray) -> None:
        numbers = [_number(float(e), single) for e in np.ravel(x)] or ["0"]
        lines.append(f"    const {real} {what}[] = {{{', '.join(numbers)}}};")

    for n in arguments:
        put(graph.words[n], values[n])
    if has_parameters:
        lines.append(f"    const {real} parameters[] = {name.upper()}_PARAMETERS;")
    for n, y in results.items():
        put(f"expected_{identifier(n)}", y)
        lines.append(f"    {real} {_result(n)}[{max(1, y.size)}];")
    passed = [graph.words[n] for n in arguments] + (["parameters"] if has_parameters else [])
    lines.append("    double error = 0.0, size = 0.0;")
    lines.append(f"    {name}({', '.join([*passed, *(_result(n) for n in results)])});")
    for n, y in results.items():
        lines += [
            f"    for (int k = 0; k < {y.size}; k++) {{",
            f"        error = fmax(error, fabs((double){_result(n)}[k] - (double)expected_{identifier(n)}[k]));",
            f"        size = fmax(size, fabs((double)expected_{identifier(n)}[k]));",
            f'        printf("{identifier(n)} %.17g\\n", (double){_result(n)}[k]);',
            "    }",
        ]
    tolerance = "1e-3" if single else "1e-10"
    lines += [
        '    printf("largest difference %g of %g\\n", error, size);',
        f"    return error <= {tolerance} * size ? 0 : 1;",
        "}",
        "",
    ]
    return "\n".join(lines)
