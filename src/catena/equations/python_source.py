"""Equations as a Python module that needs NumPy and nothing else."""

from typing import TYPE_CHECKING

from catena.equations.graph import CONSTANT, INPUT, identifier as word
from catena.equations.plain_text import in_comment

if TYPE_CHECKING:
    from catena.equations.equations import Equations

_INFIX = {"add": "+", "sub": "-", "mul": "*", "div": "/", "lt": "<", "le": "<=", "eq": "==", "ne": "!="}
_NUMPY = {
    "fabs": "np.abs", "asin": "np.arcsin", "acos": "np.arccos", "atan": "np.arctan", "atan2": "np.arctan2",
    "asinh": "np.arcsinh", "acosh": "np.arccosh", "atanh": "np.arctanh", "pow": "np.power", "fmin": "np.fmin",
    "fmax": "np.fmax",
}  # fmt: skip


def python_source(equations: "Equations", name: str) -> str:
    """Return the text of a module with a function `name` of arrays with leading batch dimensions."""
    graph = equations.graph
    called = graph.words
    arguments = list(equations.arguments)
    has_parameters = bool(equations.parameters)
    signature = ", ".join(
        [*(called[n] for n in arguments), *(["parameters=PARAMETERS"] if has_parameters else [])]
    )
    lines = [
        f'"""{equations.name} of {in_comment(equations.plan.name)}: {equations.meaning}.',
        "",
        f"Written by Catena: {len(graph.operations)} operations.",
        '"""',
        "",
        "import numpy as np",
        "",
    ]
    names: dict[str, str] = {}
    if has_parameters:
        values = [
            (e, x) for p in equations.parameters.values() for e, x in zip(p.entries, p.value, strict=True)
        ]
        lines += ["PARAMETERS = {"]
        lines += [f"    {entry!r}: {float(x)!r}," for entry, x in values]
        lines += ["}", ""]
    lines += ["", f"def {word(name)}({signature}):"]
    sizes = ", ".join(f"{called[n]} (..., {size})" for n, size in equations.arguments.items())
    results = ", ".join(
        f"{n} (..., {', '.join(map(str, w.shape))})".replace(", )", ")") for n, w in graph.outputs.items()
    )
    lines.append(f'    """Return {results} for {sizes}."""')
    lines += [f"    {called[n]} = np.asarray({called[n]}, dtype=float)" for n in arguments]
    inputs = list(graph.inputs)
    value: dict[int, str] = {}
    for k, op in enumerate(graph.op):
        if op == CONSTANT:
            x = float(graph.value[k])
            value[k] = f"({x!r})" if x < 0 else repr(x)
        elif op == INPUT:
            n, entry = inputs[graph.left[k]], int(graph.right[k])
            if n in equations.parameters:
                value[k] = f"parameters[{equations.parameters[n].entries[entry]!r}]"
            else:
                value[k] = f"{called[n]}[..., {entry}]"
            names[value[k]] = n
        else:
            value[k] = f"t{k}"
            lines.append(f"    t{k} = {_operation(op, [value[o] for o in graph.operands(k)])}")
    batch = ", ".join(f"{called[n]}.shape[:-1]" for n in arguments)
    lines.append(f"    batch = np.broadcast_shapes({batch})")
    returned = []
    for where in graph.outputs.values():
        entries = ", ".join(value[k] for k in where.ravel().tolist())
        returned.append(f"_array([{entries}], batch, {where.shape})")
    lines.append(f"    return {', '.join(returned)}")
    lines += [
        "",
        "",
        "def _array(entries, batch, shape):",
        '    """Return entries, each a number or of the batch\'s shape, as one array (*batch, *shape)."""',
        "    columns = [np.broadcast_to(entry, batch) for entry in entries]",
        "    return (np.stack(columns, axis=-1) if columns else np.zeros((*batch, 0))).reshape(*batch, *shape)",
        "",
    ]
    return "\n".join(lines)


def _operation(op: str, x: list[str]) -> str:
    if op in _INFIX:
        return f"{x[0]} {_INFIX[op]} {x[1]}"
    if op == "neg":
        return f"-{x[0]}"
    if op == "inv":
        return f"1.0 / {x[0]}"
    if op == "if_else_zero":
        return f"np.where({x[0]}, {x[1]}, 0.0)"
    if op in ("not", "and", "or"):
        return f"np.logical_{op}({', '.join(x)})"
    if op == "erf":
        return f"np.vectorize(__import__('math').erf)({x[0]})"
    return f"{_NUMPY.get(op, f'np.{op}')}({', '.join(x)})"
