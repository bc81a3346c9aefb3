"""Sine and cosine of a whole vector, as LLVM text to be inlined.

The argument is reduced to r + s in [-pi/4, pi/4] with pi/2 as the sum of three doubles. The first difference
x - n P1 is exact (a multiple of 2^-52 below 1) and the rest is summed exactly, so results keep their relative
precision next to the zeros of sine and cosine. Two minimax polynomials of degree 13 and 14 follow
(coefficients of the freely available fdlibm). Arguments beyond 2^30 take a slow path through the C library.
"""

_HALF_PI = (1.5707963267948966, 6.123233995736766e-17, -1.4973849048591698e-33)
_SINE = (
    1.58969099521155010221e-10,
    -2.50507602534068634195e-08,
    2.75573137070700676789e-06,
    -1.98412698298579493134e-04,
    8.33333333332248946124e-03,
)
_SINE_1 = -1.66666666666666324348e-01
_COSINE = (
    -1.13596475577881948265e-11,
    2.08757232129817482790e-09,
    -2.75573143513906633035e-07,
    2.48015872894767294178e-05,
    -1.38888888888741095749e-03,
    4.16666666666666019037e-02,
)
_ROUND = 6755399441055744.0  # 1.5 * 2^52: adding it leaves the nearest integer in the low bits
_LARGEST = 2.0**30


def declare(lanes: int) -> str:
    """Return the LLVM functions `@sincos` (inlined) and `@sincos_huge` (a lane at a time) for vectors of `lanes`
    doubles."""
    V, L = f"<{lanes} x double>", f"<{lanes} x i64>"
    lines: list[str] = []
    count = 0

    def emit(text: str) -> str:
        nonlocal count
        count += 1
        lines.append(f"  %t{count} = {text}")
        return f"%t{count}"

    def const(x: float) -> str:
        return f"splat (double {float_literal(x)})"

    def integer(k: int) -> str:
        return f"splat (i64 {k})"

    def add(a: str, b: str) -> str:
        return emit(f"fadd {V} {a}, {b}")

    def sub(a: str, b: str) -> str:
        return emit(f"fsub {V} {a}, {b}")

    def mul(a: str, b: str) -> str:
        return emit(f"fmul {V} {a}, {b}")

    def fma(a: str, b: str, c: str) -> str:
        return emit(f"call {V} @llvm.fma.v{lanes}f64({V} {a}, {V} {b}, {V} {c})")

    def horner(z: str, coefficients: tuple[float, ...]) -> str:
        p = const(coefficients[0])
        for c in coefficients[1:]:
            p = fma(p, z, const(c))
        return p

    t = fma("%x", const(0.6366197723675814), const(_ROUND))
    k = emit(f"bitcast {V} {t} to {L}")
    n = emit(f"fneg {V} {sub(t, const(_ROUND))}")
    r1 = fma(n, const(_HALF_PI[0]), "%x")
    # r + s = r1 + n P2 + n P3 to more than a hundred bits: an exact product, then an exact sum (Knuth).
    product = mul(n, const(_HALF_PI[1]))
    product_rest = fma(n, const(_HALF_PI[1]), emit(f"fneg {V} {product}"))
    r = add(r1, product)
    part = sub(r, r1)
    sum_rest = add(sub(r1, sub(r, part)), sub(product, part))
    s = fma(n, const(_HALF_PI[2]), add(sum_rest, product_rest))
    z = mul(r, r)
    half_s = mul(s, const(0.5))
    v = mul(z, r)
    # sin(r + s) = r - ((z (s/2 - v p) - s) - v S1)
    inner = sub(mul(z, sub(half_s, mul(v, horner(z, _SINE)))), s)
    sine = sub(r, sub(inner, mul(v, const(_SINE_1))))
    # cos(r + s) = w + (((1 - w) - z/2) + (z^2 p - r s)) with w = 1 - z/2
    half_z = mul(z, const(0.5))
    w = sub(const(1.0), half_z)
    tail = sub(mul(z, mul(z, horner(z, _COSINE))), mul(r, s))
    cosine = add(w, add(sub(sub(const(1.0), w), half_z), tail))
    odd = emit(f"icmp ne {L} {emit(f'and {L} {k}, {integer(1)}')}, zeroinitializer")
    for name, a, b, turn in (("s", cosine, sine, k), ("c", sine, cosine, emit(f"add {L} {k}, {integer(1)}"))):
        chosen = emit(f"select <{lanes} x i1> {odd}, {V} {a}, {V} {b}")
        flip = emit(f"shl {L} {emit(f'and {L} {turn}, {integer(2)}')}, {integer(62)}")
        bits = emit(f"xor {L} {emit(f'bitcast {V} {chosen} to {L}')}, {flip}")
        lines.append(f"  %{name} = bitcast {L} {bits} to {V}")
    size = emit(f"call {V} @llvm.fabs.v{lanes}f64({V} %x)")
    huge = emit(f"fcmp ugt {V} {size}, {const(_LARGEST)}")
    any_huge = emit(f"call i1 @llvm.vector.reduce.or.v{lanes}i1(<{lanes} x i1> {huge})")
    body = "\n".join(lines)
    slow = _lane_by_lane(lanes)
    return f"""
declare {V} @llvm.fma.v{lanes}f64({V}, {V}, {V})
declare {V} @llvm.fabs.v{lanes}f64({V})
declare i1 @llvm.vector.reduce.or.v{lanes}i1(<{lanes} x i1>)
declare double @sin(double)
declare double @cos(double)
{slow}
define internal {{{V}, {V}}} @sincos({V} %x) alwaysinline {{
entry:
{body}
  br i1 {any_huge}, label %slow, label %done, !prof !0
slow:
  %exact = call {{{V}, {V}}} @sincos_huge({V} %x)
  %exact_s = extractvalue {{{V}, {V}}} %exact, 0
  %exact_c = extractvalue {{{V}, {V}}} %exact, 1
  br label %done
done:
  %sine = phi {V} [%s, %entry], [%exact_s, %slow]
  %cosine = phi {V} [%c, %entry], [%exact_c, %slow]
  %r0 = insertvalue {{{V}, {V}}} poison, {V} %sine, 0
  %r1 = insertvalue {{{V}, {V}}} %r0, {V} %cosine, 1
  ret {{{V}, {V}}} %r1
}}
!0 = !{{!"branch_weights", i32 1, i32 1000000}}
"""


def float_literal(x: float) -> str:
    """Return a double in LLVM's exact hexadecimal notation."""
    import struct

    return f"0x{struct.unpack('<Q', struct.pack('<d', x))[0]:016X}"


def _lane_by_lane(lanes: int) -> str:
    """Return `@sincos_huge`: the C library's sine and cosine of each lane in turn."""
    V = f"<{lanes} x double>"
    lines = []
    for i in range(lanes):
        previous = (f"%s{i - 1}", f"%c{i - 1}") if i else ("poison", "poison")
        lines += [
            f"  %x{i} = extractelement {V} %x, i64 {i}",
            f"  %sl{i} = call double @sin(double %x{i})",
            f"  %cl{i} = call double @cos(double %x{i})",
            f"  %s{i} = insertelement {V} {previous[0]}, double %sl{i}, i64 {i}",
            f"  %c{i} = insertelement {V} {previous[1]}, double %cl{i}, i64 {i}",
        ]
    body = "\n".join(lines)
    return f"""
define internal {{{V}, {V}}} @sincos_huge({V} %x) noinline cold {{
{body}
  %r0 = insertvalue {{{V}, {V}}} poison, {V} %s{lanes - 1}, 0
  %r1 = insertvalue {{{V}, {V}}} %r0, {V} %c{lanes - 1}, 1
  ret {{{V}, {V}}} %r1
}}
"""
