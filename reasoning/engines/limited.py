"""Work in a process of its own, which is ended at a limit (docs/reason.md).

For what calls clingo in this process, where nothing interrupts it while it grounds, and for
what others wrote where this process has more to do than that.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import time
import traceback
from collections.abc import Callable
from multiprocessing.connection import Connection
from threading import Thread
from typing import TypeVar, cast

import psutil

from citywise.reasoning.engines.clingo.guard import used_s
from citywise.reasoning.errors import ReasoningError, SolvingError
from citywise.reasoning.limits import LimitError, Limits, patience_s, too_large, too_long

_POLL_S = 0.02
OPTIONS = "--time-limit", "--memory-limit"
"""What the limits are called in a command."""
Result = TypeVar("Result")


def limited(
    work: Callable[[], Result], limits: Limits, what: str, names: tuple[str, str] = OPTIONS
) -> Result:
    """What `work` returns, or raises; its result must be one that can be pickled.

    Of the limits those on CPU time and memory hold. Raises `LimitError` that says of `what`
    it was stopped at which of them, and by `names` where they are set. Nothing of the process is
    left behind, also where this one is interrupted or killed.
    """
    context = multiprocessing.get_context("fork")
    replies, sink = context.Pipe(duplex=False)
    process = context.Process(target=_serve, args=(work, sink))
    process.start()
    pid = cast("int", process.pid)
    with contextlib.suppress(OSError):
        os.setpgid(pid, pid)  # whoever of the two comes first
    sink.close()
    try:
        _wait(replies, pid, limits, what, names)
        result, error = replies.recv()
    except EOFError:
        raise SolvingError(f"{what} failed: its process ended unexpectedly") from None
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(pid, signal.SIGKILL)
        process.join()
        process.close()
        replies.close()
    if error is not None:
        raise error
    return cast("Result", result)


def _wait(replies: Connection, pid: int, limits: Limits, what: str, names: tuple[str, str]) -> None:
    """Until the reply begins to come; raises `LimitError`."""
    process, until = psutil.Process(pid), time.monotonic() + patience_s(limits.seconds)
    had = process.memory_info().rss  # of what this one had, which it shares
    while not replies.poll(_POLL_S):
        if used_s(pid) > limits.seconds or time.monotonic() > until:
            raise LimitError(f"{what} was stopped: {too_long(limits.seconds)} ({names[0]})")
        if (process.memory_info().rss - had) / 1e6 > limits.megabytes:
            raise LimitError(f"{what} was stopped: {too_large(limits.megabytes)} ({names[1]})")


def _serve(work: Callable[[], object], sink: Connection) -> None:
    """Work and send what came of it; ends with the process that waits for it."""
    os.setpgid(0, 0)  # Ctrl-C is for the one that waits
    Thread(target=_end_with_parent, daemon=True).start()
    try:
        reply: tuple[object, Exception | None] = (work(), None)
    except ReasoningError as error:
        reply = (None, error)
    except Exception:  # noqa: BLE001 - the one that waits reports it
        reply = (None, RuntimeError(traceback.format_exc()))
    sink.send(reply)


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
