"""Devices are sent each alert once and in order, whatever is lost on the way."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import Engine, delete, func, insert, select, text, update

from citywise.backend.notices import delivery
from citywise.backend.notices.delivery import Delivery
from citywise.backend.notices.receivers import WINDOW, Receiver, Said, for_devices
from citywise.backend.people import accounts, tokens
from citywise.backend.store.models import AccountRow, OutboxRow, ReceiverRow, TokenRow, WishesRow
from tests.api.browsers import PASSWORD, quick_passwords
from tests.notices.booked import wish
from tests.notices.device import Device


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("citywise.backend.notices.receivers.AGAIN_EVERY_S", 0.0)
    monkeypatch.setattr(delivery, "REFRESH_S", 0.0)
    monkeypatch.setattr(delivery, "KEEP_S", 0.0)


def somebody(engine: Engine, name: str, *rights: str) -> tuple[str, str]:
    """A new account with a device: their ids."""
    with quick_passwords(), engine.begin() as connection:
        account = accounts.create(connection, name, PASSWORD)
        token, _secret = tokens.issue(connection, account.id, "phone", rights or ("notices",))
    return account.id, token.id


def tell(engine: Engine, user: str, *names: str, **more: Any) -> None:
    """Announce notices that alert."""
    rows = [
        {
            "t_ms": 0,
            "kind": "notice",
            "user": user,
            "created_ms": 0,
            "body": {"id": name, "user": user, "change": "opened", "alert": True, **more},
        }
        for name in names
    ]
    with engine.begin() as connection:
        connection.execute(insert(OutboxRow), rows)


class Air:
    """What is between the notifier and devices: it can lose everything under way."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.sent: dict[str, list[bytes]] = defaultdict(list)
        self.delivery = self.new()

    def new(self) -> Delivery:
        """A notifier, as after its start."""
        self.delivery = Delivery(self.engine, lambda topic, body: self.sent[topic].append(body))
        return self.delivery

    def hand_over(self, user: str, device: str, to: Device, most: int = 1000) -> None:
        """Bring a device what is under way to it, and its answers back."""
        waiting = self.sent[f"notices/{user}/{device}"]
        taken, waiting[:] = waiting[:most], waiting[most:]
        for payload in taken:
            self.delivery.hear(user, device, to.take(payload))

    def settle(self, user: str, device: str, to: Device) -> None:
        """Let a device that is connected get all there is."""
        self.delivery.hear(user, device, to.begin())
        while self.delivery.step(1000) or self.sent[f"notices/{user}/{device}"]:
            self.hand_over(user, device, to)


@pytest.fixture
def air(engine: Engine) -> Air:
    air = Air(engine)
    air.delivery.step(10)
    return air


def shown(device: Device) -> list[str]:
    return [message["id"] for message in device.shown]


def test_a_device_is_sent_the_alerts_of_its_user_and_no_others(engine: Engine, air: Air) -> None:
    (alice, phone), (bob, watch) = somebody(engine, "Alice"), somebody(engine, "Bob")
    air.delivery.step(10)
    tell(engine, alice, "a1", "a2")
    tell(engine, bob, "b1")
    tell(engine, alice, "held", alert=False)
    devices = {alice: Device(), bob: Device()}
    air.settle(alice, phone, devices[alice])
    air.settle(bob, watch, devices[bob])
    assert [shown(device) for device in devices.values()] == [["a1", "a2"], ["b1"]]
    assert set(air.sent) == {f"notices/{alice}/{phone}", f"notices/{bob}/{watch}"}


@pytest.mark.parametrize(
    ("body", "goes"),
    [
        ({"change": "opened", "alert": True}, True),
        ({"change": "reminded", "alert": True}, True),
        ({"change": "updated", "alert": False, "alerted": "2014"}, False),
        ({"change": "updated", "alert": False, "alerted": "2014", "amended": {}}, True),
        ({"change": "updated", "alert": False, "alerted": None, "amended": {}}, False),
        ({"change": "closed", "alert": False, "alerted": "2014"}, True),
        ({"change": "acknowledged", "alert": False, "alerted": "2014"}, True),
        ({"change": "closed", "alert": False, "alerted": None}, False),
        ({"change": "opened"}, False),
    ],
)
def test_devices_are_sent_alerts_and_what_takes_them_away(body: dict[str, Any], goes: bool) -> None:
    assert for_devices(body) is goes


@pytest.mark.parametrize("rights", [("context",), ("sensors",)])
def test_a_token_without_the_right_is_sent_nothing(
    engine: Engine, air: Air, rights: tuple[str, ...]
) -> None:
    alice, _phone = somebody(engine, "Alice", *rights)
    air.delivery.step(10)
    tell(engine, alice, "a1")
    assert air.delivery.step(10) == 0


def test_who_does_not_want_it_by_mqtt_is_not_sent_it_and_not_afterwards_either(
    engine: Engine, air: Air
) -> None:
    alice, phone = somebody(engine, "Alice")
    wish(engine, alice, channels={"mqtt": False})
    air.delivery.step(10)
    tell(engine, alice, "a1")
    assert air.delivery.step(10) == 0
    wish(engine, alice)
    air.delivery.step(10)
    tell(engine, alice, "a2")
    device = Device()
    air.settle(alice, phone, device)
    assert shown(device) == ["a2"]


def test_a_device_that_never_answers_costs_one_window_and_delays_nobody(
    engine: Engine, air: Air
) -> None:
    (alice, phone), (bob, watch) = somebody(engine, "Alice"), somebody(engine, "Bob")
    air.delivery.step(10)
    device = Device()
    for part in range(4):
        names = [f"{part}-{n}" for n in range(WINDOW)]
        tell(engine, alice, *names)
        tell(engine, bob, *names)
        while air.delivery.step(1000):
            air.hand_over(bob, watch, device)
    assert len(air.sent[f"notices/{alice}/{phone}"]) == WINDOW
    assert len(device.shown) == 4 * WINDOW
    assert air.delivery.behind == 1


def test_who_has_much_to_come_is_not_served_before_others_again_and_again(
    engine: Engine, air: Air
) -> None:
    people = [somebody(engine, name) for name in ("Alice", "Bob", "Carol")]
    devices = {user: Device() for user, _ in people}
    air.delivery.step(10)
    for user, _phone in people:
        tell(engine, user, *map(str, range(3 * WINDOW)))
    for _ in range(3):
        air.delivery.step(1)
        for user, phone in people:
            air.hand_over(user, phone, devices[user])
    assert [len(device.shown) for device in devices.values()] == [WINDOW] * 3


def test_a_device_that_was_told_nothing_for_long_is_not_sent_to_the_list_for_it(
    engine: Engine, air: Air
) -> None:
    (alice, phone), (bob, _watch) = somebody(engine, "Alice"), somebody(engine, "Bob")
    air.delivery.step(10)
    device = Device()
    tell(engine, alice, "a1")
    air.settle(alice, phone, device)
    tell(engine, bob, *map(str, range(20)))
    air.delivery.step(10)
    with engine.begin() as connection:
        connection.execute(delete(OutboxRow).where(OutboxRow.id < 20))
    tell(engine, alice, "a2")
    air.settle(alice, phone, device)
    assert (device.resets, shown(device)) == (0, ["a1", "a2"])


def test_what_was_under_way_when_the_broker_died_is_sent_again(engine: Engine, air: Air) -> None:
    alice, phone = somebody(engine, "Alice")
    air.delivery.step(10)
    tell(engine, alice, "a1", "a2", "a3")
    device = Device()
    air.delivery.step(10)
    air.hand_over(alice, phone, device, most=1)
    air.sent.clear()
    air.delivery.reconnected()
    air.delivery.step(10)
    air.hand_over(alice, phone, device)
    assert shown(device) == ["a1", "a2", "a3"]
    assert device.repeated == 0


def test_a_device_that_missed_something_notices_it_and_asks(engine: Engine, air: Air) -> None:
    alice, phone = somebody(engine, "Alice")
    air.delivery.step(10)
    device = Device()
    tell(engine, alice, "a1")
    air.settle(alice, phone, device)
    tell(engine, alice, "a2")
    air.delivery.step(10)
    air.sent.clear()
    tell(engine, alice, "a3")
    while air.delivery.step(10):
        air.hand_over(alice, phone, device)
    assert shown(device) == ["a1", "a2", "a3"]
    assert device.gaps == 1


def test_a_device_that_was_away_is_told_of_corrections_once(engine: Engine, air: Air) -> None:
    alice, phone = somebody(engine, "Alice")
    air.delivery.step(10)
    device = Device()
    tell(engine, alice, "a1", "a2")
    air.settle(alice, phone, device)
    amended, taken = {"was": {"criticality": 4}, "because": []}, [{"what": "withdrawn"}]
    told = {"alert": False, "alerted": "2014"}
    tell(engine, alice, "a1", change="updated", amended=amended, **told)
    tell(engine, alice, "a2", change="closed", taken_back=taken, **told)
    air.delivery.step(10)
    air.sent.clear()  # nobody was there
    for _ in range(2):
        air.new()
        air.settle(alice, phone, device)
    assert [(one["id"], one["change"]) for one in device.shown] == [
        ("a1", "opened"), ("a2", "opened"), ("a1", "updated"), ("a2", "closed"),
    ]  # fmt: skip
    assert device.shown[2]["amended"] == amended
    assert device.shown[3]["taken_back"] == taken


def test_a_device_that_was_away_too_long_is_told_so(engine: Engine, air: Air) -> None:
    alice, phone = somebody(engine, "Alice")
    air.delivery.step(10)
    device = Device()
    tell(engine, alice, "a1")
    air.settle(alice, phone, device)
    tell(engine, alice, "a2", "a3", "a4")
    with engine.begin() as connection:
        newest = connection.scalar(select(func.max(OutboxRow.id)))
        connection.execute(delete(OutboxRow).where(OutboxRow.id < newest))
    air.new()
    air.settle(alice, phone, device)
    assert (device.resets, shown(device)) == (1, ["a1"])
    tell(engine, alice, "a5")
    air.settle(alice, phone, device)
    assert (device.resets, shown(device)) == (1, ["a1", "a5"])


def test_an_id_that_was_never_given_is_answered_with_a_reset(engine: Engine, air: Air) -> None:
    """The device knows another database, or says what comes to its mind."""
    alice, phone = somebody(engine, "Alice")
    air.delivery.step(10)
    device = Device(last=10**12)
    air.settle(alice, phone, device)
    assert device.resets == 1
    tell(engine, alice, "a1")
    air.settle(alice, phone, device)
    assert shown(device) == ["a1"]


def test_a_new_device_is_not_sent_to_the_list_while_others_are_caught_up_with(
    engine: Engine, air: Air, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(delivery, "PAGE", 2)
    (alice, phone), device, other = somebody(engine, "Alice"), Device(), Device()
    air.delivery.step(10)
    tell(engine, alice, *"abcdefgh")
    bob, watch = somebody(engine, "Bob")
    air.delivery.step(10)
    tell(engine, bob, "b1")
    air.settle(bob, watch, other)
    air.settle(alice, phone, device)
    assert (shown(device), shown(other)) == ([*"abcdefgh"], ["b1"])
    assert device.resets == other.resets == 0


@pytest.mark.parametrize(
    "payload",
    [
        b"",
        b"[]",
        b"{}",
        b'{"seen": -1}',
        b'{"seen": true}',
        b'{"seen": 1e3}',
        b'{"seen": "1"}',
        b'{"seen": 99999999999999999999}',
    ],
)
def test_what_says_nothing_is_not_heard(payload: bytes) -> None:
    assert Said.of(payload) is None


def test_nobody_speaks_for_the_device_of_another(engine: Engine, air: Air) -> None:
    (alice, phone), (bob, _watch) = somebody(engine, "Alice"), somebody(engine, "Bob")
    air.delivery.step(10)
    tell(engine, alice, "a1")
    air.delivery.step(10)
    air.delivery.hear(bob, phone, orjson.dumps({"seen": 1}))
    air.delivery.step(10)
    with engine.connect() as connection:
        query = select(ReceiverRow.seen).where(ReceiverRow.device == phone)
        assert connection.scalar(query) == 0


def test_a_device_that_always_asks_again_is_answered_once_a_second(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("citywise.backend.notices.receivers.AGAIN_EVERY_S", 1.0)
    receiver = Receiver.at("d", "u", 0)
    turned = 0
    for tick in range(40):
        receiver.hear(Said(0, again=True))
        receiver.is_pending = False
        receiver.turn_back(tick / 10)
        turned += receiver.is_pending
    assert turned == 4


def test_nothing_new_is_sent_before_what_is_to_be_sent_again(
    monkeypatch: pytest.MonkeyPatch, engine: Engine, air: Air
) -> None:
    """Else a device that went back to an earlier state would take the new for the next."""
    alice, phone = somebody(engine, "Alice")
    air.delivery.step(10)
    device = Device()
    tell(engine, alice, "a1", "a2", "a3")
    air.settle(alice, phone, device)
    monkeypatch.setattr("citywise.backend.notices.receivers.AGAIN_EVERY_S", 1e9)
    air.settle(alice, phone, device)
    device.last, device.shown = device.shown[0]["announced"], device.shown[:1]
    air.delivery.hear(alice, phone, device.begin())
    tell(engine, alice, "a4")
    assert air.delivery.step(10) == 0


def test_devices_whose_token_is_gone_are_forgotten(engine: Engine, air: Air) -> None:
    alice, _phone = somebody(engine, "Alice")
    somebody(engine, "Bob")
    air.delivery.step(10)
    with engine.begin() as connection:
        connection.execute(update(AccountRow).where(AccountRow.id == alice).values(disabled_ms=1))
        connection.execute(delete(TokenRow).where(TokenRow.account != alice))
    tell(engine, alice, "a1")
    assert air.delivery.step(10) == 0
    assert air.delivery.receivers == 0
    with engine.connect() as connection:
        assert connection.scalar(select(func.count()).select_from(ReceiverRow)) == 0


HAPPENINGS = (
    "tell;tell;tell many;step;step;hand over;hand over one;lose;broker dies;notifier dies;"
    "device forgets what it showed last;connect"
)
happenings = st.lists(st.sampled_from(HAPPENINGS.split(";")), max_size=40)


@settings(
    max_examples=15,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
@given(happenings)
def test_whatever_is_lost_every_alert_is_shown_once_and_in_order(
    engine: Engine, happens: list[str]
) -> None:
    """Of a device that has had its first one: before that it cannot know what it misses."""
    with engine.begin() as connection:
        for table in (OutboxRow, ReceiverRow, TokenRow, WishesRow, AccountRow):
            connection.execute(delete(table))
        connection.execute(text("DELETE FROM sqlite_sequence"))
    (alice, phone), device, air = somebody(engine, "Alice"), Device(), Air(engine)
    air.delivery.step(10)
    told = ["0"]
    tell(engine, alice, *told)
    air.settle(alice, phone, device)
    for what in happens:
        if what.startswith("tell"):
            names = [str(len(told) + n) for n in range(1 if what == "tell" else 2 * WINDOW)]
            tell(engine, alice, *names)
            told += names
        elif what == "step":
            air.delivery.step(150)
        elif what.startswith("hand over"):
            air.hand_over(alice, phone, device, 1 if what.endswith("one") else 1000)
        elif what == "connect":
            air.delivery.hear(alice, phone, device.begin())
        elif what.startswith("device forgets"):
            if len(device.shown) > 1:
                device.shown.pop()
                device.last = device.shown[-1]["announced"]
        else:
            air.sent.clear()
            if what == "broker dies":
                air.delivery.reconnected()
            elif what == "notifier dies":
                air.new()
                air.delivery.step(1)
    air.settle(alice, phone, device)
    assert shown(device) == told
    assert device.resets == 0
