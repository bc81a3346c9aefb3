"""Kernels for work on matrices whose entries are vectors of W lanes, one state in each lane.

All of them are data-driven: which entries take part is a list of places among the constants of a call, so one
compilation serves matrices of any size and sparsity. `combine_T_S` computes T entries as sums of products:

    out[t] = start[t] + sign * sum over n of factor_n * entry_n[t]

where entries with t = 0, 1, ... are S slots apart, or lie in pairs side by side that are 4 slots apart (S = 4). The
words of a call are: terms, places of the results and of the start, the sign (a float64), bits that say which of the two
lie in such pairs too, and for each term the places of its first entry and of its factor, in the upper and lower half of
a word. Places are bytes from the workspace. Whatever does not lie in pairs is one slot apart.

`product_R_C` adds a product of dense blocks, R rows and C columns of the result at a time in registers:

    out[r, t] = start[r, t] + sign * sum over k of A[r, k] B[k, t]

Its words are how many terms k there are, how many times R rows and how many times C columns, the sign, and of out,
start, A and B the place and the distances in bytes: from row to row, from a column to the other one of its pair, and
from pair to pair; for A instead of the latter two from k to k + 1. `inverse_n` inverts a
positive definite matrix of n rows, and `roots_n` does so by its factors. `solve` eliminates without exchange of rows,
and leaves out those that have nothing to do with a pivot in any lane.
"""

from catena.kernels.machine_code import engine
from catena.kernels.machine_code.objects import shared_object

MOST, ROW, PAIRS = 8, 1, 4
"""The most entries at a time, and how they lie: side by side, or in pairs that are four slots apart."""
COMBINE = {
    (T, S): f"combine_{T}_{S}" for S in (ROW, PAIRS) for T in range(1, MOST + 1) if S == ROW or T % 2 == 0
}


def offset(t: int, spread: int) -> int:
    """Return how many slots entry t lies beyond the first."""
    return t if spread == ROW else 4 * (t // 2) + t % 2


PRODUCT = {(R, C): f"product_{R}_{C}" for R in (1, 2, 3) for C in (1, 2, 3, 4)}
"""Of three columns there is one tile in a row."""
LARGEST_INVERSE = 8
INVERSE = {n: f"inverse_{n}" for n in range(1, LARGEST_INVERSE + 1)}
ROOTS = {n: f"roots_{n}" for n in range(1, LARGEST_INVERSE + 1)}
OTHERS = ("invert", "judge", "copy", "solve", *PRODUCT.values(), *INVERSE.values(), *ROOTS.values())
_kernels: dict[int, engine.Code] = {}


def kernels(lanes: int) -> engine.Code:
    """Return the compiled kernels for so many lanes, by name."""
    if lanes not in _kernels:
        code = shared_object(text(lanes))
        _kernels[lanes] = engine.load_object(f"matrices-{lanes}", code, [*COMBINE.values(), *OTHERS])
    return _kernels[lanes]


def text(lanes: int) -> str:
    """Return LLVM text of all kernels."""
    V = f"<{lanes} x double>"
    declared = f"declare {V} @llvm.fma.v{lanes}f64({V}, {V}, {V})\ndeclare {V} @llvm.sqrt.v{lanes}f64({V})\n"
    sums = "".join(_combine(lanes, *shape) for shape in COMBINE)
    products = "".join(_product(lanes, *shape) for shape in PRODUCT)
    inverses = "".join(_inverse(lanes, n) for n in INVERSE) + "".join(_roots(lanes, n) for n in ROOTS)
    return (
        declared + sums + products + inverses + _copy(lanes) + _invert(lanes) + _judge(lanes) + _solve(lanes)
    )


_HEAD = (
    "(ptr noalias %r0, ptr noalias %r1, ptr noalias %r2, ptr noalias %r3, ptr noalias readonly %constants)"
)


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


WORDS = (
    "terms", "row_tiles", "column_tiles", "sign",
    "out", "out_row", "out_second", "out_pair",
    "start", "start_row", "start_second", "start_pair",
    "a", "a_row", "a_next", "b", "b_next", "b_second", "b_pair",
)  # fmt: skip
"""The words of a call of a product, in order."""


def _product(lanes: int, R: int, C: int) -> str:
    """Return LLVM text that works through a block of the result, R rows and C columns in registers; r0 is the
    workspace."""
    V, align = f"<{lanes} x double>", 8 * lanes
    cells = [(r, t) for r in range(R) for t in range(C)]
    words = "".join(_word(name, k) for k, name in enumerate(WORDS) if name != "sign")

    def places(name: str) -> str:
        """Return text of the distances of all rows and columns of a tile from its first entry."""
        lines = [f"  %{name}_c0 = add i64 0, 0", f"  %{name}_r0 = add i64 0, 0"]
        if C > 1:
            lines.append(f"  %{name}_c1 = add i64 %{name}_second, 0")
        if C > 2:
            lines.append(f"  %{name}_c2 = add i64 %{name}_pair, 0")
        if C > 3:
            lines.append(f"  %{name}_c3 = add i64 %{name}_pair, %{name}_second")
        lines += [f"  %{name}_r{r} = mul i64 %{name}_row, {r}" for r in range(1, R)]
        lines += [
            f"  %{name}_columns = mul i64 %{name}_pair, {max(1, C // 2)}",
            f"  %{name}_rows = mul i64 %{name}_row, {R}",
        ]
        return "\n".join(lines) + "\n"

    loads = "".join(
        f"  %ap{r} = getelementptr i8, ptr %a_now, i64 %a_r{r}\n"
        f"  %f{r} = load {V}, ptr %ap{r}, align {align}\n"
        for r in range(R)
    )
    for t in range(C):
        loads += f"  %bp{t} = getelementptr i8, ptr %b_now, i64 %b_c{t}\n"
        loads += f"  %x{t} = load {V}, ptr %bp{t}, align {align}\n"
        loads += "".join(
            f"  %n{r}_{t} = call {V} @llvm.fma.v{lanes}f64({V} %f{r}, {V} %x{t}, {V} %s{r}_{t})\n"
            for r in range(R)
        )
    sums = "".join(f"  %s{r}_{t} = phi {V} [zeroinitializer, %tile], [%n{r}_{t}, %loop]\n" for r, t in cells)
    last = "".join(
        f"  %{name}m{r}_{t} = add i64 %{name}_r{r}, %{name}_c{t}\n"
        f"  %{name}a{r}_{t} = getelementptr i8, ptr %{name}_base, i64 %{name}m{r}_{t}\n"
        for name in ("out", "start")
        for r, t in cells
    )
    last += "".join(
        f"  %i{r}_{t} = load {V}, ptr %starta{r}_{t}, align {align}\n"
        f"  %e{r}_{t} = call {V} @llvm.fma.v{lanes}f64({V} %signs, {V} %n{r}_{t}, {V} %i{r}_{t})\n"
        f"  store {V} %e{r}_{t}, ptr %outa{r}_{t}, align {align}\n"
        for r, t in cells
    )
    return f"""
define void @product_{R}_{C}{_HEAD} {{
entry:
{words}{_word("sign", WORDS.index("sign"), "double")}  %one_sign = insertelement {V} poison, double %sign, i64 0
  %signs = shufflevector {V} %one_sign, {V} poison, <{lanes} x i32> zeroinitializer
  %out_first = getelementptr i8, ptr %r0, i64 %out
  %start_first = getelementptr i8, ptr %r0, i64 %start
  %a_first = getelementptr i8, ptr %r0, i64 %a
  %b_first = getelementptr i8, ptr %r0, i64 %b
{places("out")}{places("start")}  %a_r0 = add i64 0, 0
  %a_r1 = add i64 %a_row, 0
  %a_r2 = mul i64 %a_row, 2
  %a_rows = mul i64 %a_row, {R}
{chr(10).join(line for line in places("b").splitlines() if "_r" not in line)}
  br label %row
row:
  %row_number = phi i64 [0, %entry], [%row_next, %row_done]
  %out_row_base = phi ptr [%out_first, %entry], [%out_row_next, %row_done]
  %start_row_base = phi ptr [%start_first, %entry], [%start_row_next, %row_done]
  %a_base = phi ptr [%a_first, %entry], [%a_row_next, %row_done]
  br label %tile
tile:
  %column_number = phi i64 [0, %row], [%column_next, %tile_done]
  %out_base = phi ptr [%out_row_base, %row], [%out_next, %tile_done]
  %start_base = phi ptr [%start_row_base, %row], [%start_next, %tile_done]
  %b_base = phi ptr [%b_first, %row], [%b_tile_next, %tile_done]
  br label %loop
loop:
  %k = phi i64 [%terms, %tile], [%k1, %loop]
  %a_now = phi ptr [%a_base, %tile], [%a_then, %loop]
  %b_now = phi ptr [%b_base, %tile], [%b_then, %loop]
{sums}{loads}  %a_then = getelementptr i8, ptr %a_now, i64 %a_next
  %b_then = getelementptr i8, ptr %b_now, i64 %b_next
  %k1 = sub i64 %k, 1
  %over = icmp eq i64 %k1, 0
  br i1 %over, label %tile_done, label %loop
tile_done:
{last}  %out_next = getelementptr i8, ptr %out_base, i64 %out_columns
  %start_next = getelementptr i8, ptr %start_base, i64 %start_columns
  %b_tile_next = getelementptr i8, ptr %b_base, i64 %b_columns
  %column_next = add i64 %column_number, 1
  %columns_left = icmp slt i64 %column_next, %column_tiles
  br i1 %columns_left, label %tile, label %row_done
row_done:
  %out_row_next = getelementptr i8, ptr %out_row_base, i64 %out_rows
  %start_row_next = getelementptr i8, ptr %start_row_base, i64 %start_rows
  %a_row_next = getelementptr i8, ptr %a_base, i64 %a_rows
  %row_next = add i64 %row_number, 1
  %rows_left = icmp slt i64 %row_next, %row_tiles
  br i1 %rows_left, label %row, label %finish
finish:
  ret void
}}
"""


def _inverse(lanes: int, n: int) -> str:
    """Return LLVM text that inverts a positive definite matrix by sweeping one row after the other.

    r1 holds its lower half, whose rows are words[0] bytes and columns words[1] bytes apart; r0 gets all of the inverse,
    row after row.
    """
    V, align = f"<{lanes} x double>", 8 * lanes
    lines, entries = _lower_half(lanes, n, "%r1")
    for k in range(n):
        lines.append(f"  %d{k} = fdiv {V} splat (double 1.0), {entries[k, k]}\n")
        met = {i: entries[max(i, k), min(i, k)] for i in range(n) if i != k}
        for i, own in met.items():
            lines.append(f"  %g{k}_{i} = fmul {V} {own}, %d{k}\n  %h{k}_{i} = fneg {V} %g{k}_{i}\n")
        for i in met:
            for j in (j for j in met if j <= i):
                factors = f"{V} %h{k}_{i}, {V} {met[j]}, {V} {entries[i, j]}"
                lines.append(f"  %u{k}_{i}_{j} = call {V} @llvm.fma.v{lanes}f64({factors})\n")
                entries[i, j] = f"%u{k}_{i}_{j}"
        for i in met:
            entries[max(i, k), min(i, k)] = f"%g{k}_{i}"
        lines.append(f"  %o{k} = fneg {V} %d{k}\n")
        entries[k, k] = f"%o{k}"
    for i in range(n):
        for j in range(i + 1):
            lines.append(f"  %z{i}_{j} = fneg {V} {entries[i, j]}\n")
            for row, column in {(i, j), (j, i)}:
                lines.append(
                    f"  %q{row}_{column} = getelementptr {V}, ptr %r0, i64 {row * n + column}\n"
                    f"  store {V} %z{i}_{j}, ptr %q{row}_{column}, align {align}\n"
                )
    return f"\ndefine void @inverse_{n}{_HEAD} {{\n{''.join(lines)}  ret void\n}}\n"


def _lower_half(lanes: int, n: int, place: str) -> tuple[list[str], dict[tuple[int, int], str]]:
    """Return LLVM text that loads the lower half of a matrix, whose rows are words[0] bytes and columns words[1] bytes
    apart, and the names of its entries."""
    V, align = f"<{lanes} x double>", 8 * lanes
    lines = [_word("row", 0), _word("column", 1)]
    entries: dict[tuple[int, int], str] = {}
    for i in range(n):
        for j in range(i + 1):
            lines.append(
                f"  %r{i}_{j} = mul i64 %row, {i}\n  %c{i}_{j} = mul i64 %column, {j}\n"
                f"  %m{i}_{j} = add i64 %r{i}_{j}, %c{i}_{j}\n"
                f"  %p{i}_{j} = getelementptr i8, ptr {place}, i64 %m{i}_{j}\n"
                f"  %a{i}_{j} = load {V}, ptr %p{i}_{j}, align {align}\n"
            )
            entries[i, j] = f"%a{i}_{j}"
    return lines, entries


def _roots(lanes: int, n: int) -> str:
    """Return LLVM text that takes a positive definite matrix, whose lower half r2 holds, apart as L D L^T.

    r1 gets K = L^-T D^-1/2, r0 the inverse K K^T, both row after row.
    """
    V, align = f"<{lanes} x double>", 8 * lanes
    lines, a = _lower_half(lanes, n, "%r2")
    W: dict[tuple[int, int], str] = {(i, i): "splat (double 1.0)" for i in range(n)}
    names = iter(f"%t{k}" for k in range(10 * n**3 + 100))

    def call(text: str) -> str:
        name = next(names)
        lines.append(f"  {name} = {text}\n")
        return name

    def fma(x: str, y: str, z: str) -> str:
        return call(f"call {V} @llvm.fma.v{lanes}f64({V} {x}, {V} {y}, {V} {z})")

    for k in range(n):
        D = call(f"fdiv {V} splat (double 1.0), {a[k, k]}")
        for i in range(k + 1, n):
            factor = call(f"fneg {V} {call(f'fmul {V} {a[i, k]}, {D}')}")
            for j in range(k + 1, i + 1):
                a[i, j] = fma(factor, a[j, k], a[i, j])
            for j in range(k):
                W[i, j] = (
                    fma(factor, W[k, j], W[i, j]) if (i, j) in W else call(f"fmul {V} {factor}, {W[k, j]}")
                )
            W[i, k] = factor
    K = {}
    for c in range(n):
        root = call(f"call {V} @llvm.sqrt.v{lanes}f64({V} {a[c, c]})")
        inverse = call(f"fdiv {V} splat (double 1.0), {root}")
        for r in range(c + 1):
            K[r, c] = inverse if r == c else call(f"fmul {V} {W[c, r]}, {inverse}")
    for i in range(n):
        for j in range(n):
            lines.append(f"  %kp{i}_{j} = getelementptr {V}, ptr %r1, i64 {i * n + j}\n")
            lines.append(f"  store {V} {K.get((i, j), 'zeroinitializer')}, ptr %kp{i}_{j}, align {align}\n")
            if j <= i:
                total = call(f"fmul {V} {K[i, n - 1]}, {K[j, n - 1]}")
                for c in range(i, n - 1):
                    total = fma(K[i, c], K[j, c], total)
                for row, column in {(i, j), (j, i)}:
                    lines.append(
                        f"  %qp{row}_{column} = getelementptr {V}, ptr %r0, i64 {row * n + column}\n"
                    )
                    lines.append(f"  store {V} {total}, ptr %qp{row}_{column}, align {align}\n")
    return f"\ndefine void @roots_{n}{_HEAD} {{\n{''.join(lines)}  ret void\n}}\n"


def _copy(lanes: int) -> str:
    """Return LLVM text that copies a block from r1 to r0. The words are rows, columns, and the distances in bytes from
    row to row and from column to column, of the copy and of what is copied."""
    V, align = f"<{lanes} x double>", 8 * lanes
    names = ("rows", "columns", "to_row", "to_column", "from_row", "from_column")
    words = "".join(_word(name, k) for k, name in enumerate(names))
    return f"""
define void @copy{_HEAD} {{
entry:
{words}  br label %row
row:
  %r = phi i64 [0, %entry], [%r_next, %row_done]
  %to_begin = phi ptr [%r0, %entry], [%to_begin_next, %row_done]
  %from_begin = phi ptr [%r1, %entry], [%from_begin_next, %row_done]
  br label %entry_of_row
entry_of_row:
  %c = phi i64 [0, %row], [%c_next, %entry_of_row]
  %to = phi ptr [%to_begin, %row], [%to_next, %entry_of_row]
  %from = phi ptr [%from_begin, %row], [%from_next, %entry_of_row]
  %x = load {V}, ptr %from, align {align}
  store {V} %x, ptr %to, align {align}
  %to_next = getelementptr i8, ptr %to, i64 %to_column
  %from_next = getelementptr i8, ptr %from, i64 %from_column
  %c_next = add i64 %c, 1
  %more = icmp slt i64 %c_next, %columns
  br i1 %more, label %entry_of_row, label %row_done
row_done:
  %to_begin_next = getelementptr i8, ptr %to_begin, i64 %to_row
  %from_begin_next = getelementptr i8, ptr %from_begin, i64 %from_row
  %r_next = add i64 %r, 1
  %again = icmp slt i64 %r_next, %rows
  br i1 %again, label %row, label %finish
finish:
  ret void
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


def _solve(lanes: int) -> str:
    """Return LLVM text that solves n equations in the lanes where r3 is not zero.

    r0 gets the unknowns, words[2] bytes apart; r1 is a matrix whose rows are words[1] bytes apart; r2 has four numbers
    m, o, s, b for each equation sum_j (m W_ij + o W_lj) x_j + (1 - m) x_i - o x_l - s x_k = b, where k is words[4 + i]
    and l is words[4 + n + i]. The words begin with n, and words[3] is the place of n (n + 2) numbers, relative to r0 in
    bytes, that are written over: rows with their right sides, and reciprocals of pivots.
    """
    V, A, L = f"<{lanes} x double>", 8 * lanes, lanes
    fma = f"call {V} @llvm.fma.v{lanes}f64"
    return f"""
define void @solve(ptr %r0, ptr %r1, ptr %r2, ptr %r3, ptr readonly %constants) {{
entry:
{_word("n", 0)}{_word("w_row", 1)}{_word("x_row", 2)}{_word("to", 3)}
  %list = getelementptr i64, ptr %constants, i64 4
  %others = getelementptr i64, ptr %list, i64 %n
  %G = getelementptr i8, ptr %r0, i64 %to
  %width = add i64 %n, 2
  %g_row = mul i64 %width, {A}
  br label %write
write:
  %i = phi i64 [0, %entry], [%i1, %write_done]
  %own_offset = mul i64 %i, %g_row
  %own = getelementptr i8, ptr %G, i64 %own_offset
  %w_offset = mul i64 %i, %w_row
  %w_own = getelementptr i8, ptr %r1, i64 %w_offset
  %told_index = mul i64 %i, 4
  %mp = getelementptr {V}, ptr %r2, i64 %told_index
  %m = load {V}, ptr %mp, align {A}
  %mo = getelementptr {V}, ptr %mp, i64 1
  %o = load {V}, ptr %mo, align {A}
  %lp = getelementptr i64, ptr %others, i64 %i
  %l = load i64, ptr %lp, align 8
  %l_offset = mul i64 %l, %w_row
  %w_other = getelementptr i8, ptr %r1, i64 %l_offset
  %sp = getelementptr {V}, ptr %mp, i64 2
  %s = load {V}, ptr %sp, align {A}
  %bp = getelementptr {V}, ptr %mp, i64 3
  %b = load {V}, ptr %bp, align {A}
  br label %write_one
write_one:
  %j = phi i64 [0, %write], [%j1, %write_one]
  %wp = getelementptr {V}, ptr %w_own, i64 %j
  %w = load {V}, ptr %wp, align {A}
  %mw = fmul {V} %m, %w
  %yp = getelementptr {V}, ptr %w_other, i64 %j
  %y = load {V}, ptr %yp, align {A}
  %both = {fma}({V} %o, {V} %y, {V} %mw)
  %gp = getelementptr {V}, ptr %own, i64 %j
  store {V} %both, ptr %gp, align {A}
  %j1 = add i64 %j, 1
  %j_more = icmp slt i64 %j1, %n
  br i1 %j_more, label %write_one, label %write_done
write_done:
  %dp = getelementptr {V}, ptr %own, i64 %i
  %d = load {V}, ptr %dp, align {A}
  %rest = fsub {V} splat (double 1.0), %m
  %d1 = fadd {V} %d, %rest
  store {V} %d1, ptr %dp, align {A}
  %zp = getelementptr {V}, ptr %own, i64 %l
  %z = load {V}, ptr %zp, align {A}
  %z1 = fsub {V} %z, %o
  store {V} %z1, ptr %zp, align {A}
  %kp = getelementptr i64, ptr %list, i64 %i
  %normal = load i64, ptr %kp, align 8
  %np = getelementptr {V}, ptr %own, i64 %normal
  %nv = load {V}, ptr %np, align {A}
  %nv1 = fsub {V} %nv, %s
  store {V} %nv1, ptr %np, align {A}
  %rp = getelementptr {V}, ptr %own, i64 %n
  store {V} %b, ptr %rp, align {A}
  %i1 = add i64 %i, 1
  %i_more = icmp slt i64 %i1, %n
  br i1 %i_more, label %write, label %pivot
pivot:
  %k = phi i64 [0, %write_done], [%k1, %pivot_done]
  %k_offset = mul i64 %k, %g_row
  %k_row = getelementptr i8, ptr %G, i64 %k_offset
  %pp = getelementptr {V}, ptr %k_row, i64 %k
  %p = load {V}, ptr %pp, align {A}
  %over = fdiv {V} splat (double 1.0), %p
  %behind = add i64 %n, 1
  %op = getelementptr {V}, ptr %k_row, i64 %behind
  store {V} %over, ptr %op, align {A}
  %k1 = add i64 %k, 1
  %any_below = icmp slt i64 %k1, %n
  br i1 %any_below, label %below, label %back
below:
  %r = phi i64 [%k1, %pivot], [%r1_next, %below_done]
  %r_offset = mul i64 %r, %g_row
  %r_row = getelementptr i8, ptr %G, i64 %r_offset
  %fp = getelementptr {V}, ptr %r_row, i64 %k
  %f = load {V}, ptr %fp, align {A}
  %felt = fcmp une {V} %f, zeroinitializer
  %felt_bits = bitcast <{L} x i1> %felt to i{L}
  %nothing = icmp eq i{L} %felt_bits, 0
  br i1 %nothing, label %below_done, label %subtract
subtract:
  %factor = fmul {V} %f, %over
  %minus = fneg {V} %factor
  br label %subtract_one
subtract_one:
  %c = phi i64 [%k1, %subtract], [%c1, %subtract_one]
  %up = getelementptr {V}, ptr %k_row, i64 %c
  %u = load {V}, ptr %up, align {A}
  %vp = getelementptr {V}, ptr %r_row, i64 %c
  %v = load {V}, ptr %vp, align {A}
  %v1 = {fma}({V} %minus, {V} %u, {V} %v)
  store {V} %v1, ptr %vp, align {A}
  %c1 = add i64 %c, 1
  %c_more = icmp sle i64 %c1, %n
  br i1 %c_more, label %subtract_one, label %below_done
below_done:
  %r1_next = add i64 %r, 1
  %r_more = icmp slt i64 %r1_next, %n
  br i1 %r_more, label %below, label %pivot_done
pivot_done:
  br label %pivot
back:
  %goes = load {V}, ptr %r3, align {A}
  %stays = fcmp oeq {V} %goes, zeroinitializer
  br label %unknown
unknown:
  %e = phi i64 [%k, %back], [%e1, %unknown_done]
  %e_offset = mul i64 %e, %g_row
  %e_row = getelementptr i8, ptr %G, i64 %e_offset
  %qp = getelementptr {V}, ptr %e_row, i64 %n
  %q = load {V}, ptr %qp, align {A}
  %e_next = add i64 %e, 1
  %any_behind = icmp slt i64 %e_next, %n
  br i1 %any_behind, label %known, label %unknown_done
known:
  %a = phi i64 [%e_next, %unknown], [%a1, %known]
  %sum = phi {V} [%q, %unknown], [%sum1, %known]
  %ap = getelementptr {V}, ptr %e_row, i64 %a
  %av = load {V}, ptr %ap, align {A}
  %a_offset = mul i64 %a, %g_row
  %a_row = getelementptr i8, ptr %G, i64 %a_offset
  %ip = getelementptr {V}, ptr %a_row, i64 %n
  %iv = load {V}, ptr %ip, align {A}
  %na = fneg {V} %av
  %sum1 = {fma}({V} %na, {V} %iv, {V} %sum)
  %a1 = add i64 %a, 1
  %a_more = icmp slt i64 %a1, %n
  br i1 %a_more, label %known, label %unknown_done
unknown_done:
  %left = phi {V} [%q, %unknown], [%sum1, %known]
  %n1 = add i64 %n, 1
  %hp = getelementptr {V}, ptr %e_row, i64 %n1
  %h = load {V}, ptr %hp, align {A}
  %x = fmul {V} %left, %h
  store {V} %x, ptr %qp, align {A}
  %x_offset = mul i64 %e, %x_row
  %xp = getelementptr i8, ptr %r0, i64 %x_offset
  %before = load {V}, ptr %xp, align {A}
  %kept = select <{L} x i1> %stays, {V} %before, {V} %x
  store {V} %kept, ptr %xp, align {A}
  %e1 = sub i64 %e, 1
  %e_more = icmp sge i64 %e1, 0
  br i1 %e_more, label %unknown, label %finish
finish:
  ret void
}}
"""
