"""Kernels for work on matrices whose entries are vectors of W lanes, one state in each lane.

All of them are data-driven: which entries take part is a list of places among the constants of a call, so one
compilation serves matrices of any size and sparsity. `combine_TxG` computes T entries at regular distances, each of G
numbers side by side, as a sum of products:

    out[t] = start[t] + sign * sum over n of factor_n * entry_n[t]

The numbers of a call are: terms, place and distance of the results, place and distance of the start, distance of the
entries, and for each term the places of its factor and of its first entry. Places are bytes from the workspace.
"""

from catena.kernels import cache, engine

SHAPES = ((1, 1), (2, 1), (4, 1), (8, 1), (1, 2), (2, 2), (4, 2))
NAMES = tuple(
    f"combine_{T}x{G}_{begin}_{sign}"
    for T, G in SHAPES
    for begin in ("from", "anew")
    for sign in ("plus", "minus")
)
OTHERS = ("invert", "judge")
_kernels: dict[int, engine.Code] = {}


def kernels(lanes: int) -> engine.Code:
    """The compiled kernels for so many lanes, by name."""
    if lanes not in _kernels:
        entry = cache.key("matrices", str(lanes))
        found = cache.read(entry)
        code = found[0] if found else engine.compile_object(text(lanes))
        if not found:
            cache.write(entry, code, {})
        _kernels[lanes] = engine.load_object(f"matrices-{lanes}", code, [*NAMES, *OTHERS])
    return _kernels[lanes]


def text(lanes: int) -> str:
    """LLVM text of all kernels."""
    V = f"<{lanes} x double>"
    declared = f"declare {V} @llvm.fma.v{lanes}f64({V}, {V}, {V})\ndeclare {V} @llvm.sqrt.v{lanes}f64({V})\n"
    combined = (
        _combine(lanes, T, G, begin, sign)
        for T, G in SHAPES
        for begin in ("from", "anew")
        for sign in ("plus", "minus")
    )
    return declared + "".join(combined) + _invert(lanes) + _judge(lanes)


_HEAD = "(ptr noalias %r0, ptr noalias %r1, ptr noalias %r2, ptr noalias %r3, ptr noalias readonly %constants) nounwind"


def _word(name: str, k: int) -> str:
    return (
        f"  %{name}_p = getelementptr i64, ptr %constants, i64 {k}\n"
        f"  %{name} = load i64, ptr %{name}_p, align 8\n"
    )


def _combine(lanes: int, T: int, G: int, begin: str, sign: str) -> str:
    """r0 is the workspace. Sums live in registers; the start is added at the end."""
    V, align = f"<{lanes} x double>", 8 * lanes
    each = [(t, g) for t in range(T) for g in range(G)]

    def addresses(what: str, base: str, step: str) -> str:
        lines = []
        for t in range(T):
            lines.append(f"  %{what}m{t} = mul i64 {step}, {t}\n")
            for g in range(G):
                lines.append(f"  %{what}a{t}_{g} = add i64 %{what}m{t}, {g * align}\n")
                lines.append(f"  %{what}{t}_{g} = getelementptr i8, ptr {base}, i64 %{what}a{t}_{g}\n")
        return "".join(lines)

    sums = "".join(
        f"  %s{t}_{g} = phi {V} [zeroinitializer, %entry], [%n{t}_{g}, %loop]\n" for t, g in each
    )
    body = "".join(
        f"  %x{t}_{g} = load {V}, ptr %b{t}_{g}, align {align}\n"
        f"  %n{t}_{g} = call {V} @llvm.fma.v{lanes}f64({V} %f, {V} %x{t}_{g}, {V} %s{t}_{g})\n"
        for t, g in each
    )
    operation = "fadd" if sign == "plus" else "fsub"
    last = []
    for t, g in each:
        if begin == "from":
            last.append(f"  %i{t}_{g} = load {V}, ptr %st{t}_{g}, align {align}\n")
            value = f"%i{t}_{g}"
        else:
            value = "zeroinitializer"
        last.append(f"  %e{t}_{g} = {operation} {V} {value}, %n{t}_{g}\n")
        last.append(f"  store {V} %e{t}_{g}, ptr %o{t}_{g}, align {align}\n")
    start = addresses("st", "%start_base", "%start_step") if begin == "from" else ""
    return f"""
define void @combine_{T}x{G}_{begin}_{sign}{_HEAD} {{
entry:
{_word("terms", 0)}{_word("out", 1)}{_word("out_step", 2)}{_word("start", 3)}{_word("start_step", 4)}{_word("step", 5)}
  %list = getelementptr i64, ptr %constants, i64 6
  %out_base = getelementptr i8, ptr %r0, i64 %out
  %start_base = getelementptr i8, ptr %r0, i64 %start
  br label %loop
loop:
  %k = phi i64 [0, %entry], [%k1, %loop]
{sums}  %pair = getelementptr [2 x i64], ptr %list, i64 %k
  %fo = load i64, ptr %pair, align 8
  %second = getelementptr i64, ptr %pair, i64 1
  %bo = load i64, ptr %second, align 8
  %fp = getelementptr i8, ptr %r0, i64 %fo
  %f = load {V}, ptr %fp, align {align}
  %base = getelementptr i8, ptr %r0, i64 %bo
{addresses("b", "%base", "%step")}{body}  %k1 = add i64 %k, 1
  %more = icmp slt i64 %k1, %terms
  br i1 %more, label %loop, label %done
done:
{addresses("o", "%out_base", "%out_step")}{start}{"".join(last)}  ret void
}}
"""


def _invert(lanes: int) -> str:
    """r0[0] = 1 / r1[0], r2[0] = 1 / sqrt(r1[0])."""
    V, align = f"<{lanes} x double>", 8 * lanes
    return f"""
define void @invert{_HEAD} {{
  %x = load {V}, ptr %r1, align {align}
  %y = fdiv {V} splat (double 1.0), %x
  store {V} %y, ptr %r0, align {align}
  %root = call {V} @llvm.sqrt.v{lanes}f64({V} %x)
  %z = fdiv {V} splat (double 1.0), %root
  store {V} %z, ptr %r2, align {align}
  ret void
}}
"""


def _judge(lanes: int) -> str:
    """Whether a row whose square is left of another is a constraint of its own.

    r1 holds the square of what is left of the row, its square before, and the square of a usual row; r2 the
    tolerance. r0[0] becomes 1 / length of what is left, or zero where that is no more than the tolerance times the
    larger of the others; r3[0] grows to the length that came nearest above the tolerance, as tolerance / length.
    """
    V, align, L = f"<{lanes} x double>", 8 * lanes, lanes
    return f"""
define void @judge{_HEAD} {{
  %x = load {V}, ptr %r1, align {align}
  %bp = getelementptr {V}, ptr %r1, i64 1
  %before = load {V}, ptr %bp, align {align}
  %up = getelementptr {V}, ptr %r1, i64 2
  %usual = load {V}, ptr %up, align {align}
  %tolerance = load {V}, ptr %r2, align {align}
  %larger = fcmp ogt {V} %before, %usual
  %size = select <{L} x i1> %larger, {V} %before, {V} %usual
  %square = fmul {V} %tolerance, %tolerance
  %bound = fmul {V} %square, %size
  %counts = fcmp ogt {V} %x, %bound
  %safe = select <{L} x i1> %counts, {V} %x, {V} splat (double 1.0)
  %root = call {V} @llvm.sqrt.v{lanes}f64({V} %safe)
  %inverse = fdiv {V} splat (double 1.0), %root
  %kept = select <{L} x i1> %counts, {V} %inverse, {V} zeroinitializer
  store {V} %kept, ptr %r0, align {align}
  %part = fdiv {V} %size, %safe
  %near = select <{L} x i1> %counts, {V} %part, {V} zeroinitializer
  %worst = load {V}, ptr %r3, align {align}
  %worse = fcmp ogt {V} %near, %worst
  %new = select <{L} x i1> %worse, {V} %near, {V} %worst
  store {V} %new, ptr %r3, align {align}
  ret void
}}
"""
