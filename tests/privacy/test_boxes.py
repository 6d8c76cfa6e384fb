"""What is in a box opens for its purpose alone, and as long as its user's key is there."""

from __future__ import annotations

from pathlib import Path

import pytest

from citywise.backend.ingest.keyring import Keyring
from citywise.backend.privacy.boxes import BoxError, Boxes


@pytest.fixture
def boxes(tmp_path: Path) -> Boxes:
    return Boxes(tmp_path / "keys", "trip")


def test_boxes_give_back_what_was_put_into_them(boxes: Boxes) -> None:
    closed = boxes.close([("u-anna", b"home"), ("u-bob", b"work"), ("u-anna", b"")])
    assert boxes.open(closed) == [b"home", b"work", b""]
    assert "home" not in str(closed)
    assert boxes.close([]) == []


def test_a_box_does_not_open_for_another_purpose(boxes: Boxes, tmp_path: Path) -> None:
    closed = boxes.close([("u-anna", b"home")])
    assert Boxes(tmp_path / "keys", "meeting").open(closed) == [None]


def test_who_forgets_a_user_forgets_their_boxes_and_no_others(boxes: Boxes, tmp_path: Path) -> None:
    closed = boxes.close([("u-anna", b"home"), ("u-bob", b"work")])
    assert Keyring(tmp_path / "keys").forget("u-anna")
    assert Boxes(tmp_path / "keys", "trip").open(closed) == [None, b"work"]


def test_without_a_key_nothing_is_sealed(boxes: Boxes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Keyring, "make", lambda _ring, _users: {})
    with pytest.raises(BoxError, match="destroyed"):
        boxes.close([("u-anna", b"home")])
