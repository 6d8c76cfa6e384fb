"""A process that answers as the test asks; it stands in for a planner."""

from __future__ import annotations

import os
import sys
import time

from citywise.apps.travel_planner.replies import Reply
from citywise.backend.spawned import asker, receive, send


def main() -> None:
    """Serve who asks."""
    channel = asker()
    receive(channel)
    send(channel, Reply(200).frame())
    while True:
        question = receive(channel).head
        match question["do"]:
            case "die":
                os._exit(3)
            case "hang":
                time.sleep(60)
            case "slow":
                time.sleep(0.1)
                send(channel, Reply(200).frame())
            case "large":
                send(channel, Reply(200, b"x" * question["body"]["size"]).frame())
            case _:
                send(channel, Reply(200, str(os.getpid()).encode()).frame())


if __name__ == "__main__":
    try:
        main()
    except EOFError:
        sys.exit(0)
