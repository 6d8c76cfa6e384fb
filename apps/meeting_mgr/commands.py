"""The commands of the meeting manager: `citywise meetings`."""

from __future__ import annotations

import threading
from pathlib import Path

import click

from citywise.backend.app import Commands, Settings, handing


@click.group()
def meetings() -> None:
    """Play a recorded office as a meeting room (docs/meeting-manager.md)."""


@meetings.command("replay-room")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--room", required=True, help="Name of the room's sensors, as meetings have it.")
@click.option(
    "--speed",
    type=click.FloatRange(min=0, min_open=True),
    default=1.0,
    show_default=True,
    help="Recorded seconds per second.",
)
@Commands.of_running
def replay_room(settings: Settings, file: Path, room: str, speed: float) -> None:
    """Send the readings in FILE as those of a room's sensors to a system that runs.

    FILE is one of UCI's Occupancy Detection or Room Occupancy Estimation (CSV, may be gzipped).
    """
    from citywise.apps.meeting_mgr import replaying, topics

    recording = [*replaying.rows(file)]
    broker = settings.broker
    topic = topics.of_room(broker.prefix, room)
    hand = handing.Hand(broker)
    try:
        click.echo(f"{len(recording)} readings go to {topic}; Ctrl-C ends it", err=True)
        sent = replaying.send(
            recording,
            speed,
            lambda payload: hand.give(topic, payload),
            threading.Event(),
        )
        click.echo(f"{sent} readings sent")
    finally:
        hand.close()
