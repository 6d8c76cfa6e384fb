"""Each sentence of docs/meeting-manager-abilities.md, with somebody whose devices tell values."""

from __future__ import annotations

import pytest

from citywise.apps.meeting_mgr.capabilities import Capabilities, Change
from citywise.apps.meeting_mgr.model import CAPABILITIES, Capability, Rules, Sensor, Threshold
from tests.meeting_mgr.somebody import Somebody, fine
from tests.meeting_mgr.time_lines import JOINED_MS

ALL = set(CAPABILITIES)


def test_somebody_whom_nothing_hinders_can_do_all() -> None:
    assert Somebody().at(0, fine()).can() == ALL


@pytest.mark.parametrize(
    ("sensor", "value", "lost", "reason"),
    [
        ("noise", 85, {"speak", "listen", "share"}, "noise"),
        ("light", 100, {"read"}, "light"),
        ("proximity", 0, {"read", "chat"}, "proximity"),
        ("motion", 9, {"read", "chat"}, "motion"),
        ("speed", 50, {"read", "chat", "share"}, "driving"),
        ("visible", 0, {"read", "chat"}, "hidden"),
        ("battery", 3, {"share"}, "battery"),
        ("network", 0.05, {"speak", "listen", "share"}, "network"),
        ("distance", 900, set(), ""),
    ],
)
def test_a_sensor_out_of_its_range_takes_what_it_affects(
    sensor: Sensor, value: float, lost: set[Capability], reason: str
) -> None:
    person = Somebody().at(0, fine(**{sensor: value}))
    assert person.can() == ALL - lost
    assert {person.why(capability) for capability in lost} == ({("off", reason)} if lost else set())


def test_a_value_on_a_bound_is_out_of_range() -> None:
    assert Somebody().at(0, fine(noise=80)).sensor("noise").state == "out"
    assert Somebody().at(0, fine(noise=79.99)).sensor("noise").state == "in"
    assert Somebody().at(0, fine(light=150)).sensor("light").state == "out"


def test_a_sensor_without_threshold_is_never_out_of_range() -> None:
    rules = Rules(thresholds={"noise": Threshold()})
    person = Somebody(rules=rules).at(0, fine(noise=10**12, light=-(10**12)))
    assert person.can() == ALL


def test_once_out_a_value_must_be_inside_by_more_than_the_hysteresis() -> None:
    person = Somebody(dwell_s=0).at(0, fine(noise=81))
    assert person.at(1, {"noise": 79}).sensor("noise").state == "out"
    assert person.at(2, {"noise": 75}).sensor("noise").state == "out"
    assert person.at(3, {"noise": 74.9}).sensor("noise").state == "in"
    assert person.at(4, {"noise": 79}).sensor("noise").state == "in"
    low = Somebody(dwell_s=0).at(0, fine(light=100))
    assert low.at(1, {"light": 180}).sensor("light").state == "out"
    assert low.at(2, {"light": 181}).sensor("light").state == "in"


def test_of_somebody_of_whom_nothing_is_known_nothing_is_concluded() -> None:
    """`not in_range` of Listing 7.3 would take every capability."""
    person = Somebody().at(0)
    assert {person.why(capability) for capability in CAPABILITIES} == {("unknown", "silent")}
    nobody = Somebody(sharing=frozenset()).at(0)
    assert {nobody.why(capability) for capability in CAPABILITIES} == {("unknown", "not_shared")}
    assert nobody.due() is None


def test_a_sensor_of_which_nothing_is_heard_is_silent_since_it_was_last_heard() -> None:
    person = Somebody(silent_s=15).at(0, fine()).at(5, {"network": 20})
    assert person.due() == 15
    assert person.at(14.999).sensor("noise").state == "in"
    assert person.at(15).sensor("noise").state == "silent"
    assert person.sensor("noise").since_ms == JOINED_MS
    assert person.sensor("network").state == "in"
    assert person.why("speak") == ("unknown", "silent")
    assert person.due() == 20


def test_the_first_value_after_silence_is_judged_by_the_plain_bounds() -> None:
    person = Somebody(dwell_s=0).at(0, fine(noise=85)).at(15)
    assert person.at(16, {"noise": 79}).sensor("noise").state == "in"


def test_a_sensor_out_of_its_range_outweighs_a_silent_one() -> None:
    person = Somebody().at(0, {"noise": 85})
    assert person.why("speak") == ("off", "noise")
    assert person.why("read") == ("unknown", "silent")


def test_what_is_not_shared_counts_for_nothing_and_need_not_be_there() -> None:
    person = Somebody(sharing=frozenset({"network"})).at(0, fine(noise=85))
    assert person.why("speak") == ("on",)
    assert person.why("read") == ("unknown", "not_shared")
    assert person.sensor("noise").state == "not_shared"


def test_reasons_come_in_one_order() -> None:
    person = Somebody().at(0, fine(network=0, visible=0, speed=50, noise=85, battery=1))
    assert person.why("share") == ("off", "noise", "driving", "battery", "network")


def test_the_first_state_is_no_change_to_wait_for() -> None:
    person = Somebody(dwell_s=10).at(0).at(0.5, fine())
    assert person.can() == ALL
    assert person.at(1, {"noise": 85}).why("speak") == ("off", "noise")


def test_after_a_change_an_ability_stays_for_the_dwell_time() -> None:
    person = Somebody(dwell_s=10, silent_s=600).at(0, fine()).at(1, {"noise": 85})
    assert person.at(2, {"noise": 50}).why("speak") == ("off", "noise")
    assert person.sensor("noise").state == "in"
    assert person.due() == 11
    assert person.at(10.999).why("speak") == ("off", "noise")
    assert person.at(11).why("speak") == ("on",)
    assert person.since("speak") == 11


def test_a_cause_that_is_gone_before_the_dwell_time_is_over_changes_nothing() -> None:
    person = Somebody(dwell_s=10, silent_s=600).at(0, fine()).at(1, {"noise": 85})
    person.at(2, {"noise": 50}).at(3, {"noise": 85})
    assert person.at(11).why("speak") == ("off", "noise")
    assert person.since("speak") == 1
    assert person.due() == 600


def test_silence_is_a_change_that_waits_as_well() -> None:
    person = Somebody(dwell_s=60, silent_s=5).at(0, fine()).at(1, {"noise": 85})
    assert person.at(7, {"network": 20}).sensor("noise").state == "silent"
    assert person.why("speak") == ("off", "noise")
    assert person.at(61, {"network": 20}).why("speak") == ("unknown", "silent")
    assert person.at(62, {"noise": 50, "network": 20}).why("speak") == ("unknown", "silent")
    assert person.due() == 67
    person.at(66, {"noise": 50, "network": 20})
    assert person.at(121, {"noise": 50, "network": 20}).why("speak") == ("on",)
    assert person.at(122, {"noise": 85, "network": 20}).why("speak") == ("on",)


def test_a_change_is_at_once_when_the_dwell_time_is_over() -> None:
    person = Somebody(dwell_s=10).at(0, fine()).at(1, {"noise": 85}).at(11, {"noise": 85})
    assert person.at(12, {"noise": 50}).why("speak") == ("on",)


def test_thresholds_count_from_the_moment_they_are_changed() -> None:
    person = Somebody().at(0, fine(noise=70))
    lower = Rules(thresholds={"noise": Threshold(upper=60)})
    assert person.at(0.5, rules=lower).why("speak") == ("off", "noise")


def test_the_dwell_time_counts_as_it_is_now() -> None:
    person = Somebody(dwell_s=600).at(0, fine()).at(1, {"noise": 85})
    assert person.at(2, {"noise": 50}).why("speak") == ("off", "noise")
    assert person.at(3, rules=Rules(dwell_s=2)).why("speak") == ("on",)


def test_a_sensor_that_is_no_longer_shared_loses_its_say_at_once() -> None:
    """Consent that is withdrawn does not wait for the dwell time."""
    person = Somebody(dwell_s=600).at(0, fine()).at(1, {"noise": 85})
    person.at(2, sharing=person.now.sharing - {"noise"})
    assert person.why("speak") == ("on",)
    assert person.sensor("noise").state == "not_shared"
    assert set(person.state.changed_ms) == set()


def test_a_sensor_that_is_newly_shared_has_its_say_at_once() -> None:
    person = Somebody(sharing=frozenset()).at(0).at(5, sharing=frozenset({"noise"}))
    assert person.why("speak") == ("unknown", "silent")
    assert person.at(5.5, {"noise": 85}).why("speak") == ("off", "noise")


@pytest.mark.parametrize(("told", "how"), [({"noise": 50}, ("on",)), ({}, ("unknown", "silent"))])
def test_a_sensor_that_is_newly_shared_ends_the_dwell_time_of_what_it_affects(
    told: dict[Sensor, float], how: tuple[str, ...]
) -> None:
    person = Somebody(dwell_s=600, sharing=frozenset({"network"})).at(0, {"network": 20})
    person.at(1, {"network": 0}).at(2, {"network": 20})
    assert person.why("speak") == ("off", "network")
    both: frozenset[Sensor] = frozenset({"network", "noise"})
    assert person.at(3, told, sharing=both).why("speak") == how


def test_the_hosts_word_outranks_sensors_and_sensitive_items() -> None:
    words = {"speak": "on", "read": "off"}
    public = {"item_is_sensitive": True, "says": "public"}
    person = Somebody().at(0, fine(noise=85), overrides=words, **public)
    assert person.why("speak") == ("on",)
    assert person.why("read") == ("off", "override")
    assert person.why("share") == ("off", "sensitive")
    assert person.why("listen") == ("off", "noise")
    assert person.at(1, overrides={}).why("read") == ("on",)


def test_on_a_sensitive_item_in_public_nobody_speaks_or_shares() -> None:
    person = Somebody().at(0, fine(), says="public").at(1, item_is_sensitive=True)
    assert person.can() == {"listen", "read", "chat"}
    assert person.why("speak") == ("off", "sensitive")
    assert person.at(1.1, item_is_sensitive=False).can() == ALL
    assert person.at(1.2, item_is_sensitive=True, says="private").can() == ALL


def test_surroundings_are_what_the_person_says() -> None:
    person = Somebody().at(0, fine(noise=85), says="private")
    assert person.state.surroundings == "private"
    assert person.at(1, {"distance": 5}, says="public").state.surroundings == "public"


def test_surroundings_are_as_unknown_as_before_when_what_suggested_them_is_over() -> None:
    person = Somebody().at(0, fine(noise=85))
    assert person.at(1, {"noise": 50}).state.surroundings == "unknown"
    assert person.at(2, says="private").at(3, says="unknown").state.surroundings == "unknown"


@pytest.mark.parametrize(
    ("told", "where"),
    [
        ({}, "unknown"),
        ({"noise": 85}, "public"),
        ({"noise": 85, "speed": 50}, "private"),
        ({"noise": 85, "distance": 5}, "private"),
        ({"distance": 5}, "private"),
    ],
)
def test_surroundings_are_inferred_where_nobody_says(told: dict[Sensor, float], where: str) -> None:
    assert Somebody().at(0, fine(**told)).state.surroundings == where


def test_presence_is_the_distance_to_the_room_and_stays_for_the_dwell_time() -> None:
    person = Somebody(dwell_s=10).at(0, fine(distance=49))
    assert person.state.presence == "room"
    assert person.at(1, {"distance": 51}).state.presence == "remote"
    assert person.at(2, {"distance": 20}).state.presence == "remote"
    assert person.at(11).state.presence == "room"
    assert person.state.presence_since_ms == JOINED_MS + 11_000
    assert person.at(12, sharing=frozenset({"noise"})).state.presence == "unknown"


def test_states_begin_when_they_change_and_stay_when_only_reasons_do() -> None:
    person = Somebody().at(0, fine()).at(3, {"noise": 85}).at(5, {"network": 0})
    assert person.why("speak") == ("off", "noise", "network")
    assert (person.since("speak"), person.since("read")) == (3, 0)


def test_changes_are_what_counts_and_the_presence() -> None:
    person = Somebody().at(0, fine()).at(1, {"light": 10, "distance": 5})
    assert person.concluded.changes == (
        Change("read", "on", "off", ("light",)),
        Change("presence", "remote", "room"),
    )
    assert person.concluded.is_news


def test_the_same_again_is_no_news() -> None:
    person = Somebody().at(0, fine()).at(1, fine(noise=60))
    assert not person.concluded.is_news
    assert person.concluded.changes == ()
    assert person.due() == 16


def test_a_service_that_has_just_begun_keeps_what_was_concluded_until_it_has_heard() -> None:
    person = Somebody(dwell_s=0, silent_s=5).at(0, fine(noise=85))
    person.at(60, observed={}, listening_ms=JOINED_MS + 59_000)
    assert person.why("speak") == ("off", "noise")
    assert not person.concluded.is_news
    assert person.due() == 64
    assert person.at(61, {"noise": 79}).why("speak") == ("off", "noise")
    assert person.at(64).why("read") == ("unknown", "silent")


def test_a_clock_that_was_set_back_breaks_nothing() -> None:
    person = Somebody().at(100, fine()).at(101, {"noise": 85})
    assert person.at(50, fine()).why("speak") == ("off", "noise")


def test_nobody_is_no_question() -> None:
    assert Capabilities().evaluate(JOINED_MS, []) == {}


def test_the_motivating_scenario() -> None:
    """Thesis, Figure 7.17: Bob in a noisy place can read and type; who drives can neither, until
    they come into the room; a sensitive item is not spoken of in the noisy place."""
    noisy, driver = Somebody().at(0, fine()), Somebody().at(0, fine(speed=70, distance=9000))
    assert driver.can() == {"speak", "listen"}
    assert noisy.at(1, {"noise": 88}).can() == {"read", "chat"}
    assert noisy.state.surroundings == "public"
    noisy.at(2, item_is_sensitive=True)
    assert noisy.why("speak") == ("off", "sensitive")
    assert noisy.why("listen") == ("off", "noise")
    driver.at(3, {"speed": 0, "distance": 10})
    assert driver.can() == ALL
    assert (driver.state.presence, driver.state.surroundings) == ("room", "private")
