"""Run it with `pytest` in the app's folder, once the folder is trusted."""

from pathlib import Path

from citywise.backend.app import trial


def test_a_note_is_kept_and_counted() -> None:
    with trial(Path(__file__).parents[1]) as client:
        assert "0 people" in client.get("/python").text
        answer = client.put("/api/v1/python/note", json={"note": "quiet today"})
        assert answer.json == {"note": "quiet today"}
        assert "1 people" in client.get("/python").text
        assert "1 har skrevet" in client.get("/python", headers={"Accept-Language": "da"}).text
