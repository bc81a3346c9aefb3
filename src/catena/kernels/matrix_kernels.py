"""Kernels for work on matrices whose entries are vectors of W lanes, one state in each lane.

All of them are data-driven: which entries take part is a list of places among the constants of a call, so one
compilation serves matrices of any size and sparsity. `combine_T_S` computes T entries as sums of products:

    out[t] = start[t] + sign * sum over n of factor_n * entry_n[t]

where entries with t = 0, 1, ... are S slots apart, or lie in pairs side by side that are 4 slots apart (S = 4). The
words of a call are: terms, places of the results and of the start, the sign (a float64), bits that say which of the two
lie in such pairs too, and for each term the places of its first entry and of its factor, in the upper and lower half of
a word. Places are bytes from the workspace. Whatever does not lie in pairs is one slot apart.
"""

from catena.kernels import cache, engine

MOST, ROW, PAIRS = 8, 1, 4
"""The most entries at a time, and how they lie: side by side, or in pairs that are four slots apart."""
COMBINE = {
    (T, S): f"combine_{T}_{S}" for S in (ROW, PAIRS) for T in range(1, MOST + 1) if S == ROW or T % 2 == 0
}


def offset(t: int, spread: int) -> int:
    """Return how many slots entry t lies beyond the first."""
    return t if spread == ROW else 4 * (t // 2) + t % 2


OTHERS = ("invert", "judge")
_kernels: dict[int, engine.Code] = {}


def kernels(lanes: int) -> engine.Code:
    """Return the compiled kernels for so many lanes, by name."""
    if lanes not in _kernels:
        entry = cache.key("matrices", str(lanes))
        found = cache.read(entry)
        code = found[0] if found else engine.compile_object(text(lanes))
        if not found:
            cache.write(entry, code, {})
        _kernels[lanes] = engine.load_object(f"matrices-{lanes}", code, [*COMBINE.values(), *OTHERS])
    return _kernels[lanes]


def text(lanes: int) -> str:
    """Return LLVM text of all kernels."""
    V = f"<{lanes} x double>"
    declared = f"declare {V} @llvm.fma.v{lanes}f64({V}, {V}, {V})\ndeclare {V} @llvm.sqrt.v{lanes}f64({V})\n"
    return declared + "".join(_combine(lanes, *shape) for shape in COMBINE) + _invert(lanes) + _judge(lanes)


_HEAD = "(ptr noalias %r0, ptr noalias %r1, ptr noalias %r2, ptr noalias %r3, ptr noalias readonly %constants) nounwind"


def _word(name: str, k: int, kind: str = "i64") -> str:
    return (
        f"  %{name}_p = getelementptr i64, ptr %constants, i64 {k}\n"
        f"  %{name} = load {kind}, ptr %{name}_p, align 8\n"
    )


def _combine(lanes: int, T: int, S: int) -> str:
    """Return LLVM text that sums up products of entries in registers and adds the start; r0 is the workspace."""
    V, align = f"<{lanes} x double>", 8 * lanes
    sums = "".join(f"  %s{t} = phi {V} [zeroinitializer, %entry], [%n{t}, %loop]\n" for t in range(T))
    body = "".join(
        f"  %b{t} = getelementptr i8, ptr %base, i64 {offset(t, S) * align}\n"
        f"  %x{t} = load {V}, ptr %b{t}, align {align}\n"
        f"  %n{t} = call {V} @llvm.fma.v{lanes}f64({V} %f, {V} %x{t}, {V} %s{t})\n"
        for t in range(T)
    )
    last = "".join(
        f"  %om{t} = select i1 %out_pairs, i64 {offset(t, PAIRS) * align}, i64 {t * align}\n"
        f"  %sm{t} = select i1 %start_pairs, i64 {offset(t, PAIRS) * align}, i64 {t * align}\n"
        f"  %o{t} = getelementptr i8, ptr %out_base, i64 %om{t}\n"
        f"  %st{t} = getelementptr i8, ptr %start_base, i64 %sm{t}\n"
        f"  %i{t} = load {V}, ptr %st{t}, align {align}\n"
        f"  %e{t} = call {V} @llvm.fma.v{lanes}f64({V} %signs, {V} %n{t}, {V} %i{t})\n"
        for t in range(T)
    ) + "".join(f"  store {V} %e{t}, ptr %o{t}, align {align}\n" for t in range(T))
    return f"""
define void @combine_{T}_{S}{_HEAD} {{
entry:
{_word("terms", 0)}{_word("out", 1)}{_word("start", 2)}{_word("bits", 4)}
  %out_bit = and i64 %bits, 1
  %out_pairs = icmp ne i64 %out_bit, 0
  %start_bit = and i64 %bits, 2
  %start_pairs = icmp ne i64 %start_bit, 0
{_word("sign", 3, "double")}  %one_sign = insertelement {V} poison, double %sign, i64 0
  %signs = shufflevector {V} %one_sign, {V} poison, <{lanes} x i32> zeroinitializer
  %list = getelementptr i64, ptr %constants, i64 5
  %out_base = getelementptr i8, ptr %r0, i64 %out
  %start_base = getelementptr i8, ptr %r0, i64 %start
  br label %loop
loop:
  %k = phi i64 [0, %entry], [%k1, %loop]
{sums}  %pair_p = getelementptr i64, ptr %list, i64 %k
  %pair = load i64, ptr %pair_p, align 8
  %fo = and i64 %pair, 4294967295
  %bo = lshr i64 %pair, 32
  %fp = getelementptr i8, ptr %r0, i64 %fo
  %f = load {V}, ptr %fp, align {align}
  %base = getelementptr i8, ptr %r0, i64 %bo
{body}  %k1 = add i64 %k, 1
  %more = icmp slt i64 %k1, %terms
  br i1 %more, label %loop, label %done
done:
{last}  ret void
}}
"""


def _invert(lanes: int) -> str:
    """Return LLVM text of r0[0] = 1 / r1[0], r2[0] = 1 / sqrt(r1[0])."""
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
    """Return LLVM text that decides whether a row, of which a square is left, is a constraint of its own.

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
