"""The compiled code of threads that share one state: they do the tasks of a divided tape, each first those of its own.

A task is done by whoever claims it, once all that it waits for is done. Each thread goes through a list of its own, so
that records stay in the caches of one core; who has waited for a while does whatever task is ready. Who has to wait, or
is through, tells how many tasks were done, since a message costs more than many a task. What a task computes does not
depend on who does it.

A team, in int64 words, those that change each on a cache line of its own: 0 the number of the play that is going on,
8 the threads that have come to help, 16 whether the work is over, 24 the tasks done in this play, 32 which set of tasks
is played, 33 the plays since it was last tried which is quicker, 34 and 35 the shortest times alone and together, 36
when a play alone began, 40 the workspace, 41 the constants, 42 addresses of the helpers' mailboxes, 43 how many they
are, 44 the loop that a call plays (`run` or `run_one`), 45 whether a call is going on; from 48 on, for each of two sets
(all calls, and those without the occasional ones) eight words: the number of tasks, the tasks, the lists of the
threads, their lengths.
A task, eight words: 0 how many tasks it still waits for, 1 the play that it was claimed for, 2 and 3 its first call and
the one after the last, 4 its followers, 5 their number, 6 how many tasks it waits for in each play.
A helper's job, three words: the team, the helper's number from 1 on, the number of the last play before it was asked.

Helpers stay with a team from call to call, since offering them a job and waiting until they have left it would take
four messages of each call. Who has seen no play for about a millisecond leaves, but never while a call is going on;
whoever wants them for something else lets them go first (`let_go`).

`play_together` is called by the driver; a play that begins before all helpers have come is played alone, the whole tape
from front to back, so that help that comes late or never costs nothing. How long it takes until one core hears of
another differs tenfold from machine to machine. So it is tried, and tried again now and then, whether it is quicker
alone or together: some plays in a row each, of which the shortest count. Helpers that are not wanted are dismissed.
Where programs may not read a clock it is together.
"""

from catena.kernels.machine_code.llvm_text import word, words
from catena.kernels.machine_code.platforms import Platform

PLAY, JOINED, OVER, DONE, CHOSEN, TRIED, WORK, SETS = 0, 8, 16, 24, 32, 33, 40, 48
# Plays alone and as many together that are compared, and plays until they are compared again. A play together that
# takes 2^STALL times as long as one alone, because a helper lost its core, counts as never ending.
TRIALS, AGAIN, STALL = 12, 4096, 4
TEAM_WORDS, TASK_WORDS = 64, 8
ACTIVE = WORK + 5
# Looks at a task that is not ready before whatever is ready is done instead: about a millisecond.
PATIENCE = 40_000


def text(platform: Platform) -> str:
    """Return LLVM text of `run_tasks(team, number of the thread, play)`, `play_together(team, set, workspace,
    constants) -> whether it was played`, `played_alone(team)`, `assist(job)`, `run_helped(arguments) -> status` and
    `let_go(team)`."""
    return f"""
{platform.declare_clock}
define internal void @do_task(ptr %team, ptr %task) noinline {{
entry:
{words("%team", WORK, "work ptr, constants ptr")}
{words("%task", 2, "from ptr, to ptr, followers ptr, count, waits")}
  call void @play(ptr %from, ptr %to, ptr %work, ptr %constants)
  store atomic i64 %waits, ptr %task monotonic, align 8
  br label %tell
tell:
  %k = phi i64 [0, %entry], [%k1, %one]
  %more = icmp slt i64 %k, %count
  br i1 %more, label %one, label %told
one:
  %f_p = getelementptr ptr, ptr %followers, i64 %k
  %f = load ptr, ptr %f_p, align 8
  %left = atomicrmw sub ptr %f, i64 1 acq_rel
  %k1 = add i64 %k, 1
  br label %tell
told:
  ret void
}}

define internal i1 @claim(ptr %task, i64 %play) alwaysinline {{
entry:
  %left = load atomic i64, ptr %task acquire, align 8
  %ready = icmp eq i64 %left, 0
  br i1 %ready, label %try, label %no
try:
  %claimed_p = getelementptr i64, ptr %task, i64 1
  %claimed = load atomic i64, ptr %claimed_p monotonic, align 8
  %open = icmp slt i64 %claimed, %play
  br i1 %open, label %swap, label %no
swap:
  %pair = cmpxchg ptr %claimed_p, i64 %claimed, i64 %play acq_rel monotonic, align 8
  %got = extractvalue {{i64, i1}} %pair, 1
  ret i1 %got
no:
  ret i1 false
}}

define internal i64 @do_any(ptr %team, ptr %tasks, i64 %count, i64 %play) noinline {{
entry:
  br label %look
look:
  %k = phi i64 [0, %entry], [%k1, %next]
  %more = icmp slt i64 %k, %count
  br i1 %more, label %see, label %end
see:
  %task = getelementptr [{TASK_WORDS} x i64], ptr %tasks, i64 %k
  %got = call i1 @claim(ptr %task, i64 %play)
  br i1 %got, label %do, label %next
do:
  call void @do_task(ptr %team, ptr %task)
  ret i64 1
next:
  %k1 = add i64 %k, 1
  br label %look
end:
  ret i64 0
}}

define internal void @run_tasks(ptr %team, i64 %me, i64 %play) noinline {{
entry:
{word("chosen", "%team", CHOSEN)}
  %sets = getelementptr i64, ptr %team, i64 {SETS}
  %set = getelementptr [8 x i64], ptr %sets, i64 %chosen
{words("%set", 0, "count, tasks ptr, lists ptr, lengths ptr")}
{word("list", "%lists", "%me", "ptr")}
{word("length", "%lengths", "%me")}
  %play_now_p = getelementptr i64, ptr %team, i64 {PLAY}
  %done_p = getelementptr i64, ptr %team, i64 {DONE}
  br label %each
each:
  %i = phi i64 [0, %entry], [%i1, %next]
  %own = phi i64 [0, %entry], [%own_next, %next]
  %some = icmp slt i64 %i, %length
  br i1 %some, label %mine, label %tell_own
mine:
  %task_p = getelementptr ptr, ptr %list, i64 %i
  %task = load ptr, ptr %task_p, align 8
  %claimed_p = getelementptr i64, ptr %task, i64 1
  br label %wait
wait:
  %looks = phi i64 [0, %mine], [%looks_on, %pause], [0, %impatient]
  %own_now = phi i64 [%own, %mine], [0, %pause], [%any, %impatient]
  %claimed = load atomic i64, ptr %claimed_p acquire, align 8
  %taken = icmp sge i64 %claimed, %play
  br i1 %taken, label %next, label %open
open:
  %got = call i1 @claim(ptr %task, i64 %play)
  br i1 %got, label %do, label %look
do:
  call void @do_task(ptr %team, ptr %task)
  %own_done = add i64 %own_now, 1
  br label %next
look:
  %untold = icmp ne i64 %own_now, 0
  br i1 %untold, label %tell_done, label %look_on
tell_done:
  %told_done = atomicrmw add ptr %done_p, i64 %own_now release
  br label %look_on
{_patiently(platform, "", "look_on", "wait")}
  br label %wait
next:
  %own_next = phi i64 [%own_now, %wait], [%own_done, %do]
  %i1 = add i64 %i, 1
  br label %each

tell_own:
  %told_own = atomicrmw add ptr %done_p, i64 %own release
  br label %rest
rest:
  %looks2 = phi i64 [0, %tell_own], [%looks_on2, %pause2], [0, %impatient2]
  %now = load atomic i64, ptr %play_now_p acquire, align 8
  %still = icmp eq i64 %now, %play
  %done = load atomic i64, ptr %done_p acquire, align 8
  %undone = icmp slt i64 %done, %count
  %goes_on = and i1 %still, %undone
  br i1 %goes_on, label %look2, label %end
{_patiently(platform, "2", "look2", "rest")}
  %told_any = atomicrmw add ptr %done_p, i64 %any2 release
  br label %rest
end:
  ret void
}}

define internal i1 @play_together(ptr %team, i64 %set, ptr %work, ptr %constants) noinline {{
entry:
{word("helpers", "%team", WORK + 3)}
  %joined_p = getelementptr i64, ptr %team, i64 {JOINED}
  %joined = load atomic i64, ptr %joined_p acquire, align 8
  %over_p = getelementptr i64, ptr %team, i64 {OVER}
  %over = load atomic i64, ptr %over_p monotonic, align 8
  %came = icmp sge i64 %joined, %helpers
  %stay = icmp eq i64 %over, 0
  %all = and i1 %came, %stay
  br i1 %all, label %choose, label %unhelped
unhelped:
  %none_p = getelementptr i64, ptr %team, i64 {TRIED + 3}
  store i64 0, ptr %none_p, align 8
  ret i1 false
choose:
{words("%team", TRIED, "tried, best_alone, best_together")}
  %began = {platform.clock}
  %tried1 = add i64 %tried, 1
  %old = icmp sge i64 %tried1, {AGAIN}
  %tried2 = select i1 %old, i64 0, i64 %tried1
  store i64 %tried2, ptr %tried_p, align 8
  %first = icmp slt i64 %tried, {TRIALS}
  %trial = icmp slt i64 %tried, {2 * TRIALS}
  %quicker = icmp sle i64 %best_together, %best_alone
  %tries_it = xor i1 %first, true
  %goes = select i1 %trial, i1 %tries_it, i1 %quicker
  %begins = icmp eq i64 %tried, 0
  br i1 %begins, label %anew, label %decided
anew:
  store i64 {1 << 62}, ptr %best_alone_p, align 8
  store i64 {1 << 62}, ptr %best_together_p, align 8
  br label %decided
decided:
  br i1 %goes, label %together, label %not_together
not_together:
  br i1 %trial, label %alone, label %dismiss
dismiss:
  store atomic i64 1, ptr %over_p release, align 8
  br label %unhelped
together:
  %chosen_p = getelementptr i64, ptr %team, i64 {CHOSEN}
  store i64 %set, ptr %chosen_p, align 8
  %work_p = getelementptr i64, ptr %team, i64 {WORK}
  store ptr %work, ptr %work_p, align 8
  %constants_p = getelementptr i64, ptr %team, i64 {WORK + 1}
  store ptr %constants, ptr %constants_p, align 8
  %done_p = getelementptr i64, ptr %team, i64 {DONE}
  store atomic i64 0, ptr %done_p monotonic, align 8
  %before = load i64, ptr %team, align 8
  %play = add i64 %before, 1
  store atomic i64 %play, ptr %team release, align 8
  call void @run_tasks(ptr %team, i64 0, i64 %play)
  %ended = {platform.clock}
  %took = sub i64 %ended, %began
  %best = load i64, ptr %best_together_p, align 8
  %better = icmp slt i64 %took, %best
  %least = select i1 %better, i64 %took, i64 %best
  %patient = load i64, ptr %best_alone_p, align 8
  %too_long = shl i64 %patient, {STALL}
  %stalled = icmp sgt i64 %took, %too_long
  %counts = select i1 %stalled, i64 {1 << 62}, i64 %least
  store i64 %counts, ptr %best_together_p, align 8
  ret i1 true
alone:
  %began_p = getelementptr i64, ptr %team, i64 {TRIED + 3}
  store i64 %began, ptr %began_p, align 8
  ret i1 false
}}

define internal void @played_alone(ptr %team) noinline {{
entry:
{word("began", "%team", TRIED + 3)}
{word("best", "%team", TRIED + 1)}
  %ended = {platform.clock}
  %took = sub i64 %ended, %began
  %better = icmp slt i64 %took, %best
  %counts = icmp ne i64 %began, 0
  %less = and i1 %better, %counts
  %least = select i1 %less, i64 %took, i64 %best
  store i64 %least, ptr %best_p, align 8
  ret void
}}

define i64 @assist(ptr %job) {{
entry:
{words("%job", 0, "team ptr, me, before")}
  %joined_p = getelementptr i64, ptr %team, i64 {JOINED}
  %over_p = getelementptr i64, ptr %team, i64 {OVER}
  %active_p = getelementptr i64, ptr %team, i64 {ACTIVE}
  br label %join
join:
  %known = phi i64 [%before, %entry], [%last, %leave]
  %n = atomicrmw add ptr %joined_p, i64 1 seq_cst
  br label %look
look:
  %last = phi i64 [%known, %join], [%last, %pause], [%play, %work]
  %looks = phi i64 [0, %join], [%looks1, %pause], [0, %work]
  %over = load atomic i64, ptr %over_p acquire, align 8
  %goes_on = icmp eq i64 %over, 0
  br i1 %goes_on, label %see, label %leave
see:
  %play = load atomic i64, ptr %team acquire, align 8
  %new = icmp ne i64 %play, %last
  br i1 %new, label %work, label %idle
work:
  call void @run_tasks(ptr %team, i64 %me, i64 %play)
  br label %look
idle:
  %looks1 = add i64 %looks, 1
  %long = icmp sgt i64 %looks1, {PATIENCE}
  br i1 %long, label %leave, label %pause
pause:
  {platform.pause}
  br label %look
leave:
  ; Either the next call sees that one is missing, or this thread that a call has begun.
  %m = atomicrmw sub ptr %joined_p, i64 1 seq_cst
  %active = load atomic i64, ptr %active_p seq_cst, align 8
  %called = icmp ne i64 %active, 0
  %stays = and i1 %called, %goes_on
  br i1 %stays, label %join, label %end
end:
  ret i64 0
}}

define i64 @run_helped(ptr %arguments) {{
entry:
{word("team", "%arguments", 21, "ptr")}
{words("%team", WORK + 2, "mailboxes ptr, count, loop ptr")}
  %active_p = getelementptr i64, ptr %team, i64 {ACTIVE}
  %was = atomicrmw xchg ptr %active_p, i64 1 seq_cst
  %play = load i64, ptr %team, align 8
  br label %each
each:
  %j = phi i64 [0, %entry], [%j1, %next]
  %more = icmp slt i64 %j, %count
  br i1 %more, label %see, label %own
see:
{word("box", "%mailboxes", "%j", "ptr")}
  %state = load atomic i64, ptr %box acquire, align 8
  %offered = icmp eq i64 %state, 1
  %taken = icmp eq i64 %state, 2
  %knows = or i1 %offered, %taken
  br i1 %knows, label %next, label %offer
offer:
{word("job", "%box", 1, "ptr")}
  ; A helper follows plays that come after this one.
  %before_p = getelementptr i64, ptr %job, i64 2
  store i64 %play, ptr %before_p, align 8
  store atomic i64 1, ptr %box release, align 8
  br label %next
next:
  %j1 = add i64 %j, 1
  br label %each
own:
  %status = call i64 %loop(ptr %arguments)
  store atomic i64 0, ptr %active_p release, align 8
  ret i64 %status
}}

define i64 @let_go(ptr %team) {{
entry:
{words("%team", WORK + 2, "mailboxes ptr, count")}
  %over_p = getelementptr i64, ptr %team, i64 {OVER}
  store atomic i64 1, ptr %over_p release, align 8
  br label %each
each:
  %j = phi i64 [0, %entry], [%j1, %gone]
  %more = icmp slt i64 %j, %count
  br i1 %more, label %one, label %end
one:
{word("box", "%mailboxes", "%j", "ptr")}
  %swap = cmpxchg ptr %box, i64 1, i64 0 acq_rel acquire, align 8
  br label %look
look:
  %state = load atomic i64, ptr %box acquire, align 8
  %taken = icmp eq i64 %state, 2
  br i1 %taken, label %pause, label %gone
pause:
  {platform.pause}
  br label %look
gone:
  store atomic i64 0, ptr %box release, align 8
  %j1 = add i64 %j, 1
  br label %each
end:
  store atomic i64 0, ptr %over_p release, align 8
  ret i64 0
}}
"""


def _patiently(platform: Platform, which: str, label: str, again: str) -> str:
    """Return the block `label`: look again after a pause, at `again`; after many looks do any task that is ready and
    count it."""
    return f"""{label}:
  %looks_on{which} = add i64 %looks{which}, 1
  %long{which} = icmp sgt i64 %looks_on{which}, {PATIENCE}
  br i1 %long{which}, label %impatient{which}, label %pause{which}
pause{which}:
  {platform.pause}
  br label %{again}
impatient{which}:
  %any{which} = call i64 @do_any(ptr %team, ptr %tasks, i64 %count, i64 %play)"""
