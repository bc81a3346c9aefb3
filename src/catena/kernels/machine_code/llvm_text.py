"""Pieces of LLVM text that the compiled loops share."""

from catena.kernels.machine_code.platforms import Platform


def word(name: str, base: str, k: int | str, kind: str = "i64") -> str:
    """Return lines that load word k of those at `base`."""
    return f"  %{name}_p = getelementptr i64, ptr {base}, i64 {k}\n  %{name} = load {kind}, ptr %{name}_p, align 8"


def words(base: str, first: int, names: str) -> str:
    """Return lines that load words one after the other, from the word `first` on. A name may be followed by a type."""
    each = (entry.split() for entry in names.split(","))
    return "\n".join(word(name, base, first + k, *kind) for k, (name, *kind) in enumerate(each))


OFFER = """offer:
  %i = phi i64 [0, %entry], [%i1, %post]
  %more = icmp slt i64 %i, %count
  br i1 %more, label %post, label %own
post:
  %box_p = getelementptr ptr, ptr %mailboxes, i64 %i
  %box = load ptr, ptr %box_p, align 8
  store atomic i64 1, ptr %box release, align 8
  %i1 = add i64 %i, 1
  br label %offer
own:"""
"""A loop that offers work in `count` mailboxes, and leads on to %own."""


def withdraw(untaken: str) -> str:
    """Return lines that take back what nobody took from mailbox j, and go on there, or else wait."""
    return f"""withdraw:
  %box_j_p = getelementptr ptr, ptr %mailboxes, i64 %j
  %box_j = load ptr, ptr %box_j_p, align 8
  %swap = cmpxchg ptr %box_j, i64 1, i64 0 acq_rel acquire, align 8
  %untaken = extractvalue {{i64, i1}} %swap, 1
  br i1 %untaken, label %{untaken}, label %wait"""


def wait(platform: Platform) -> str:
    """Return lines that wait until mailbox j has an answer."""
    return f"""wait:
  %state = load atomic i64, ptr %box_j acquire, align 8
  %done = icmp eq i64 %state, 3
  br i1 %done, label %finished, label %pause
pause:
  {platform.pause}
  br label %wait
finished:"""
