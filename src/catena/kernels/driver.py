"""The compiled loop that plays a tape of step calls over a batch of states, and over time.

`run(ptr arguments) -> status` works through the states in blocks of W: it packs the inputs of W states into the
slots of the workspace, plays the tape (call after call of a step on four records and some constants), and
unpacks the results. A tape that advances the state in its slots may be played many times before the next block:
inputs that change with the step are packed again for each, and results are unpacked after every so many.
Everything that depends on the mechanism is data in the tables it is given, so one compilation serves every
mechanism and algorithm.

Arguments, as int64 words: 0 calls in the tape, 1 tape, 2 workspace, 3 constants, 4 number of inputs, 5 input
tables, 6 number of outputs, 7 output tables, 8 number of states, 9 address of a counter, 10 states to take at a
time, 11 and 12 the first of the thread's own states and the one after the last, 13 steps in time, 14 steps from one
sample of the results to the next, 15 and 16 the first call that is made only now and then and the one after the last,
17 in every how many-th step they are made, 18 how many steps ago they were made last, 19 bytes from the workspace of
one block to that of the next (0: all blocks take turns in one workspace, which a thread has for itself), 20 byte
offset of a slot that is zero where a state has nothing left to do (-1: none): once it is zero for all states of a
block, its results are recorded again for each step that is left, and nothing is played, 21 the team that shares the
calls of one block (`teamwork`; 0: none). Threads that share a batch
begin with states of their own; then each takes the next few from the counter until none are left.
Tape, six words a call: step address, byte offsets of its four records in the workspace, byte offset of its
constants; a negative one says that they vary from state to state and lie in the workspace, so many bytes from its
start. The address `LEAVE_OUT` calls nothing: where the slot at its first record is zero in all lanes, the calls behind
it are left out, as many as its first constant says.
Input and output tables, five words each: data address, doubles from one state to the next, number of columns,
column table, doubles from one step (inputs; 0: the same for all) or sample (outputs) to the next.
Column table, two words each: byte offset in a state's row, byte offset of the slot in the workspace. For outputs the
upper half of the first word says how many columns from here on have slots that are equally far apart (`with_runs`);
they are stored eight or four at a time.
Status: bit 0 an input is not finite, bit 1 a result is not finite.
`run_one` is the same loop for a single state, which fills all lanes.
"""

import numpy as np

from catena.kernels.machine_code.llvm_text import word, words

TABLE = 5
NOT_FINITE_INPUT, NOT_FINITE_RESULT = 1, 2
LEAVE_OUT = 1
"""The address of no step, by which calls are left out."""


def with_runs(table: np.ndarray) -> np.ndarray:
    """Return a column table (columns, 2) of an output with the lengths of its runs in the first word."""
    count = len(table)
    follows = np.zeros(count, dtype=np.int64)
    if count > 1:
        step = table[1:] - table[:-1]
        near, number = step[:, 0] == 8, np.arange(count - 1)
        # Where the steps that are like the one at k end.
        ends = number.copy()
        ends[:-1][near[:-1] & near[1:] & (step[:-1, 1] == step[1:, 1])] = count
        ends = np.minimum.accumulate(ends[::-1])[::-1]
        follows[:-1] = (ends - number + 1) * near
    marked = table.copy()
    marked[:, 0] += follows + 1 << 32
    return marked


def text(lanes: int) -> str:
    """Return LLVM text of `run` and `run_one` for `lanes` lanes."""
    reduction = f"declare double @llvm.vector.reduce.fadd.v{lanes}f64(double, <{lanes} x double>)\n"
    reduction += "declare i64 @llvm.abs.i64(i64, i1)\n"
    return reduction + _play(lanes) + _loop("run", lanes, lanes) + _loop("run_one", lanes, 1)


def _play(lanes: int) -> str:
    """Return LLVM text of the loop over calls. It is a function of its own: what the loops around it keep would take
    the registers, and a call costs half as much again."""
    V, align = f"<{lanes} x double>", 8 * lanes
    return f"""
define internal void @play(ptr %from, ptr %to, ptr %work, ptr %constants) noinline {{
entry:
  %any = icmp ult ptr %from, %to
  br i1 %any, label %body, label %done
body:
  %call = phi ptr [%from, %entry], [%next, %go_on]
  %step = load ptr, ptr %call, align 8
{words("%call", 1, "o0, o1, o2, o3, o4")}
  %r0 = getelementptr i8, ptr %work, i64 %o0
  %r1 = getelementptr i8, ptr %work, i64 %o1
  %r2 = getelementptr i8, ptr %work, i64 %o2
  %r3 = getelementptr i8, ptr %work, i64 %o3
  %varies = icmp slt i64 %o4, 0
  %o4_size = call i64 @llvm.abs.i64(i64 %o4, i1 false)
  %base4 = select i1 %varies, ptr %work, ptr %constants
  %r4 = getelementptr i8, ptr %base4, i64 %o4_size
  %is_none = icmp eq ptr %step, inttoptr (i64 {LEAVE_OUT} to ptr)
  br i1 %is_none, label %leave_out, label %make
make:
  call void %step(ptr %r0, ptr %r1, ptr %r2, ptr %r3, ptr %r4)
  br label %go_on
leave_out:
  %slot = load {V}, ptr %r0, align {align}
  %goes = fcmp une {V} %slot, zeroinitializer
  %bits = bitcast <{lanes} x i1> %goes to i{lanes}
  %none_goes = icmp eq i{lanes} %bits, 0
  %rows = load i64, ptr %r4, align 8
  %left_out = select i1 %none_goes, i64 %rows, i64 0
  br label %go_on
go_on:
  %over = phi i64 [0, %make], [%left_out, %leave_out]
  %ahead = add i64 %over, 1
  %next = getelementptr [6 x i64], ptr %call, i64 %ahead
  %more = icmp ult ptr %next, %to
  br i1 %more, label %body, label %done
done:
  ret void
}}
"""


def _loop(name: str, lanes: int, states: int) -> str:
    """Return the loop, with `states` states in a block: as many as there are lanes, or one for all of them."""
    V, align = f"<{lanes} x double>", 8 * lanes
    last = lanes - 1

    def lane_rows(prefix: str) -> str:
        """Return addresses of the rows of the W states of this block; lanes past the end repeat the last state."""
        return "\n".join(
            f"""  %{prefix}i{k} = add i64 %state, {k}
  %{prefix}c{k} = icmp slt i64 %{prefix}i{k}, %final
  %{prefix}s{k} = select i1 %{prefix}c{k}, i64 %{prefix}i{k}, i64 %final
  %{prefix}o{k} = mul i64 %{prefix}s{k}, %{prefix}stride
  %{prefix}r{k} = getelementptr double, ptr %{prefix}now, i64 %{prefix}o{k}"""
            for k in range(states)
        )

    gather = "\n".join(
        f"""  %ga{k} = getelementptr i8, ptr %inr{k}, i64 %incol
  %gx{k} = load double, ptr %ga{k}, align 8
  %gv{k} = insertelement {V} {f"%gv{k - 1}" if k else "poison"}, double %gx{k}, i64 {k}"""
        for k in range(states)
    )
    if states == 1:
        spread = f"shufflevector {V} %gv0, {V} poison, <{lanes} x i32> zeroinitializer"
    else:
        same = ", ".join(f"i32 {k}" for k in range(lanes))
        spread = f"shufflevector {V} %gv{last}, {V} poison, <{lanes} x i32> <{same}>"
    scatter = "\n".join(
        f"""  %sx{k} = extractelement {V} %outv, i64 {k}
  %sa{k} = getelementptr i8, ptr %outr{k}, i64 %outcol
  store double %sx{k}, ptr %sa{k}, align 8"""
        for k in range(states)
    )

    groups = [g for g in (8, 4) if states == lanes >= g]
    ways = [*(f"by_{g}" for g in groups), "result_body"]
    together = "".join(_together(lanes, g, ways[k + 1]) for k, g in enumerate(groups))
    came = "".join(f", [%by_{g}_n, %by_{g}_done]" for g in groups)

    arguments = words(
        "%arguments",
        0,
        "calls, tape ptr, work_base ptr, constants ptr, n_in, in ptr, n_out, out ptr, states, counter ptr, portion, "
        "own_first, own_end, steps, every, rare_first, rare_end, rare_every, rare_since, work_stride, rest, team ptr",
    )
    if name == "run_one":
        take = """
  br label %got
got:
  %first = phi i64 [0, %entry]
  %end = phi i64 [1, %entry]
  %status_so_far = phi i64 [0, %entry]
  br label %block
return:
  ret i64 %status"""
        again = "return"
    else:
        take = """
  %own = icmp slt i64 %own_first, %own_end
  br i1 %own, label %got, label %take
take:
  %status_taken = phi i64 [0, %entry], [%status, %block]
  %next = atomicrmw add ptr %counter, i64 %portion monotonic
  %next_end = add i64 %next, %portion
  %short = icmp slt i64 %next_end, %states
  %taken_end = select i1 %short, i64 %next_end, i64 %states
  %any = icmp slt i64 %next, %states
  br i1 %any, label %got, label %return
got:
  %first = phi i64 [%own_first, %entry], [%next, %take]
  %end = phi i64 [%own_end, %entry], [%taken_end, %take]
  %status_so_far = phi i64 [0, %entry], [%status_taken, %take]
  br label %block
return:
  ret i64 %status_taken"""
        again = "take"
    return f"""
define i64 @{name}(ptr %arguments) {{
entry:
  %bad_p = alloca {V}, align {align}
  %worse_p = alloca {V}, align {align}
{arguments}
  %final = sub i64 %states, 1{take}

block:
  %state = phi i64 [%first, %got], [%next_state, %block_done]
  %status = phi i64 [%status_so_far, %got], [%new_status, %block_done]
  %some = icmp slt i64 %state, %end
  br i1 %some, label %march, label %{again}

march:
  %block_index = sdiv i64 %state, {states}
  %work_offset = mul i64 %block_index, %work_stride
  %work = getelementptr i8, ptr %work_base, i64 %work_offset
  store {V} zeroinitializer, ptr %bad_p
  store {V} zeroinitializer, ptr %worse_p
  br label %step_in_time
step_in_time:
  %time = phi i64 [0, %march], [%next_time, %time_passed]
  %resting = phi i1 [false, %march], [%rests, %time_passed]
  %still = icmp slt i64 %time, %steps
  %passed = add i64 %time, %rare_since
  %passed_now = add i64 %passed, 1
  %not_yet = srem i64 %passed_now, %rare_every
  %skips = icmp ne i64 %not_yet, 0
  br i1 %still, label %step_or_rest, label %block_done
step_or_rest:
  br i1 %resting, label %played, label %pack

pack:
  %k = phi i64 [0, %step_or_rest], [%k1, %pack_next]
  %k_more = icmp slt i64 %k, %n_in
  br i1 %k_more, label %pack_one, label %play
pack_one:
  %in_table = getelementptr [{TABLE} x i64], ptr %in, i64 %k
{words("%in_table", 0, "indata ptr, instride, incols, intab ptr, instep")}
  %begins = icmp eq i64 %time, 0
  %changes = icmp ne i64 %instep, 0
  %wanted = or i1 %begins, %changes
  br i1 %wanted, label %pack_rows, label %pack_next
pack_rows:
  %elapsed = mul i64 %time, %instep
  %innow = getelementptr double, ptr %indata, i64 %elapsed
{lane_rows("in")}
  br label %column
column:
  %j = phi i64 [0, %pack_rows], [%j1, %column_body]
  %j_more = icmp slt i64 %j, %incols
  br i1 %j_more, label %column_body, label %pack_next
column_body:
  %pair = getelementptr [2 x i64], ptr %intab, i64 %j
{word("inword", "%pair", 0)}
  %incol = and i64 %inword, 4294967295
{word("inslot", "%pair", 1)}
{gather}
  %packed = {spread}
  %in_address = getelementptr i8, ptr %work, i64 %inslot
  store {V} %packed, ptr %in_address, align {align}
  %in_zero = fmul {V} %packed, zeroinitializer
  %bad = load {V}, ptr %bad_p
  %bad_sum = fadd {V} %bad, %in_zero
  store {V} %bad_sum, ptr %bad_p
  %j1 = add i64 %j, 1
  br label %column
pack_next:
  %k1 = add i64 %k, 1
  br label %pack

play:
  %divided = icmp sge i64 %rare_first, 0
  %leaves_out = and i1 %divided, %skips
  %has_team = icmp ne ptr %team, null
  br i1 %has_team, label %play_shared, label %play_alone
play_shared:
  %set = zext i1 %leaves_out to i64
  %was_shared = call i1 @play_together(ptr %team, i64 %set, ptr %work, ptr %constants)
  br i1 %was_shared, label %played, label %play_alone
play_alone:
  %head = select i1 %leaves_out, i64 %rare_first, i64 %calls
  %head_end = getelementptr [6 x i64], ptr %tape, i64 %head
  call void @play(ptr %tape, ptr %head_end, ptr %work, ptr %constants)
  br i1 %leaves_out, label %play_tail, label %was_alone
play_tail:
  %tail = getelementptr [6 x i64], ptr %tape, i64 %rare_end
  %tail_end = getelementptr [6 x i64], ptr %tape, i64 %calls
  call void @play(ptr %tail, ptr %tail_end, ptr %work, ptr %constants)
  br label %was_alone
was_alone:
  br i1 %has_team, label %note_time, label %played
note_time:
  call void @played_alone(ptr %team)
  br label %played

played:
  %may_rest = icmp sge i64 %rest, 0
  %rest_offset = select i1 %may_rest, i64 %rest, i64 0
  %rest_address = getelementptr i8, ptr %work, i64 %rest_offset
  %rest_slot = load {V}, ptr %rest_address, align {align}
  %unfinished = fcmp une {V} %rest_slot, zeroinitializer
  %unfinished_bits = bitcast <{lanes} x i1> %unfinished to i{lanes}
  %all_done = icmp eq i{lanes} %unfinished_bits, 0
  %rests = and i1 %may_rest, %all_done
  %next_time = add i64 %time, 1
  %over = srem i64 %next_time, %every
  %is_sample = icmp eq i64 %over, 0
  %passed_samples = sdiv i64 %time, %every
  br i1 %is_sample, label %unpack, label %time_passed
time_passed:
  br label %step_in_time

unpack:
  %m = phi i64 [0, %played], [%m1, %unpack_next]
  %m_more = icmp slt i64 %m, %n_out
  br i1 %m_more, label %unpack_one, label %time_passed
unpack_one:
  %out_table = getelementptr [{TABLE} x i64], ptr %out, i64 %m
{words("%out_table", 0, "outdata ptr, outstride, outcols, outtab ptr, outstep")}
  %recorded = mul i64 %passed_samples, %outstep
  %outnow = getelementptr double, ptr %outdata, i64 %recorded
{lane_rows("out")}
  br label %result
result:
  %n = phi i64 [0, %unpack_one], [%n1, %result_body]{came}
  %n_more = icmp slt i64 %n, %outcols
  br i1 %n_more, label %{ways[0]}, label %unpack_next
{together}
result_body:
  %out_pair = getelementptr [2 x i64], ptr %outtab, i64 %n
{word("outword", "%out_pair", 0)}
  %outcol = and i64 %outword, 4294967295
{word("outslot", "%out_pair", 1)}
  %out_address = getelementptr i8, ptr %work, i64 %outslot
  %outv = load {V}, ptr %out_address, align {align}
{scatter}
  %out_zero = fmul {V} %outv, zeroinitializer
  %worse = load {V}, ptr %worse_p
  %worse_sum = fadd {V} %worse, %out_zero
  store {V} %worse_sum, ptr %worse_p
  %n1 = add i64 %n, 1
  br label %result
unpack_next:
  %m1 = add i64 %m, 1
  br label %unpack

block_done:
  %bad_last = load {V}, ptr %bad_p
  %worse_last = load {V}, ptr %worse_p
  %in_sum = call double @llvm.vector.reduce.fadd.v{lanes}f64(double 0.0, {V} %bad_last)
  %in_nan = fcmp une double %in_sum, 0.0
  %in_bit = zext i1 %in_nan to i64
  %out_sum = call double @llvm.vector.reduce.fadd.v{lanes}f64(double 0.0, {V} %worse_last)
  %out_nan = fcmp une double %out_sum, 0.0
  %out_one = zext i1 %out_nan to i64
  %out_bit = shl i64 %out_one, 1
  %bits = or i64 %in_bit, %out_bit
  %new_status = or i64 %status, %bits
  %next_state = add i64 %state, {states}
  br label %block
}}
"""


def _together(lanes: int, group: int, otherwise: str) -> str:
    """Return LLVM text of the block `by_<group>`: where a run of columns goes on for so many, it transposes that many
    vectors and stores them at once, again and again; else it goes to the block `otherwise`."""
    V, align, g = f"<{lanes} x double>", 8 * lanes, f"by_{group}"
    lines = [
        f"{g}:",
        f"  %{g}_pair = getelementptr [2 x i64], ptr %outtab, i64 %n",
        f"  %{g}_word = load i64, ptr %{g}_pair, align 8",
        f"  %{g}_run = lshr i64 %{g}_word, 32",
        f"  %{g}_any = icmp uge i64 %{g}_run, {group}",
        f"  br i1 %{g}_any, label %{g}_begin, label %{otherwise}",
        f"{g}_begin:",
        f"  %{g}_col = and i64 %{g}_word, 4294967295",
        f"  %{g}_slot_p = getelementptr i64, ptr %{g}_pair, i64 1",
        f"  %{g}_slot = load i64, ptr %{g}_slot_p, align 8",
        f"  %{g}_after_p = getelementptr i64, ptr %{g}_pair, i64 3",
        f"  %{g}_after = load i64, ptr %{g}_after_p, align 8",
        f"  %{g}_step = sub i64 %{g}_after, %{g}_slot",
        *(f"  %{g}_step{k} = mul i64 %{g}_step, {k}" for k in range(group + 1)),
        f"  %{g}_first = getelementptr i8, ptr %work, i64 %{g}_slot",
        f"  %{g}_passed = and i64 %{g}_run, {-group}",
        f"  br label %{g}_body",
        f"{g}_body:",
        f"  %{g}_left = phi i64 [%{g}_passed, %{g}_begin], [%{g}_left_next, %{g}_body]",
        f"  %{g}_source = phi ptr [%{g}_first, %{g}_begin], [%{g}_source_next, %{g}_body]",
        f"  %{g}_to = phi i64 [%{g}_col, %{g}_begin], [%{g}_to_next, %{g}_body]",
        f"  %{g}_bad = phi {V} [zeroinitializer, %{g}_begin], [%{g}_bad_next, %{g}_body]",
    ]
    for k in range(group):
        lines += [
            f"  %{g}_a{k} = getelementptr i8, ptr %{g}_source, i64 %{g}_step{k}",
            f"  %{g}_v{k} = load {V}, ptr %{g}_a{k}, align {align}",
        ]
    vectors = [f"%{g}_v{k}" for k in range(group)]
    turned, rows = _transposed(lanes, vectors, g)
    lines += turned
    for k, row in enumerate(rows):
        lines += [
            f"  %{g}_d{k} = getelementptr i8, ptr %outr{k}, i64 %{g}_to",
            f"  store <{group} x double> {row}, ptr %{g}_d{k}, align 8",
        ]
    # Each number times zero is summed up: the sum is zero unless one of them is not finite.
    while len(vectors) > 1:
        pairs, vectors = list(zip(vectors[::2], vectors[1::2], strict=True)), []
        for a, b in pairs:
            vectors.append(f"%{g}_z{len(lines)}")
            lines.append(f"  {vectors[-1]} = fadd {V} {a}, {b}")
    lines += [
        f"  %{g}_zero = fmul {V} {vectors[0]}, zeroinitializer",
        f"  %{g}_bad_next = fadd {V} %{g}_bad, %{g}_zero",
        f"  %{g}_source_next = getelementptr i8, ptr %{g}_source, i64 %{g}_step{group}",
        f"  %{g}_to_next = add i64 %{g}_to, {8 * group}",
        f"  %{g}_left_next = sub i64 %{g}_left, {group}",
        f"  %{g}_more = icmp ne i64 %{g}_left_next, 0",
        f"  br i1 %{g}_more, label %{g}_body, label %{g}_done",
        f"{g}_done:",
        f"  %{g}_worse = load {V}, ptr %worse_p",
        f"  %{g}_sum = fadd {V} %{g}_worse, %{g}_bad_next",
        f"  store {V} %{g}_sum, ptr %worse_p",
        f"  %{g}_n = add i64 %n, %{g}_passed",
        "  br label %result",
    ]
    return "\n".join(lines) + "\n"


def _transposed(lanes: int, vectors: list[str], prefix: str) -> tuple[list[str], list[str]]:
    """Return LLVM text that turns vectors of `lanes` states into vectors of the numbers of one state, and their
    names."""
    V, count, lines = f"<{lanes} x double>", len(vectors), []
    if count == lanes:
        # Blocks of 1, 2, 4 entries beside the diagonal change places.
        rows = list(vectors)
        for size in (1 << k for k in range(lanes.bit_length() - 1)):
            for i in (i for i in range(lanes) if not i & size):
                a, b = rows[i], rows[i + size]
                low = [lanes + j - size if j & size else j for j in range(lanes)]
                high = [lanes + j if j & size else j + size for j in range(lanes)]
                for k, picked in ((i, low), (i + size, high)):
                    rows[k] = f"%{prefix}_t{size}_{k}"
                    mask = ", ".join(f"i32 {x}" for x in picked)
                    lines.append(f"  {rows[k]} = shufflevector {V} {a}, {V} {b}, <{lanes} x i32> <{mask}>")
        return lines, rows
    both = f"<{2 * lanes} x i32> <{', '.join(f'i32 {k}' for k in range(2 * lanes))}>"
    pairs = [f"%{prefix}_w{k}" for k in range(2)]
    for k, pair in enumerate(pairs):
        lines.append(f"  {pair} = shufflevector {V} {vectors[2 * k]}, {V} {vectors[2 * k + 1]}, {both}")
    wide, rows = f"<{2 * lanes} x double>", [f"%{prefix}_t{k}" for k in range(lanes)]
    for k, row in enumerate(rows):
        mask = ", ".join(f"i32 {x}" for x in (k, lanes + k, 2 * lanes + k, 3 * lanes + k))
        lines.append(f"  {row} = shufflevector {wide} {pairs[0]}, {wide} {pairs[1]}, <4 x i32> <{mask}>")
    return lines, rows
