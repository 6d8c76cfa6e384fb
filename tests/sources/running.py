"""A broker, somebody who listens there, and the service that reads sources."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator

import paho.mqtt.client as paho
from sqlalchemy import Engine

from citywise.backend import mqtt
from citywise.backend.broker import EmbeddedBroker
from citywise.backend.settings import Broker, Settings
from citywise.backend.sources.service import SourcesService


@contextlib.contextmanager
def listening(listen: Callable[[paho.Client], None]) -> Iterator[tuple[Broker, paho.Client]]:
    """The settings of a broker, and a client that is connected there."""
    broker = EmbeddedBroker()
    at = Broker(embedded=False, port=broker.start())
    listener = mqtt.connect(at, "listener", prepare=listen)
    try:
        yield at, listener
    finally:
        listener.disconnect()
        listener.loop_stop()
        broker.stop()


@contextlib.contextmanager
def running(settings: Settings, engine: Engine) -> Iterator[SourcesService]:
    """The service, as long as it is needed."""
    stop = threading.Event()
    service = SourcesService(settings, engine, stop)
    thread = threading.Thread(target=service.run)
    thread.start()
    try:
        yield service
    finally:
        stop.set()
        thread.join()
