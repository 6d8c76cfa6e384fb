"""Letters and messages leave a system that runs in earnest: the web process, the app's process."""

from __future__ import annotations

from pathlib import Path

import orjson
import pytest

from citywise.apps.meeting_mgr.settings import Meetings
from citywise.backend.settings import Mail, People, Settings
from tests.mail.mail_server import Box, served
from tests.meeting_mgr.hosted import BUSINESS
from tests.meeting_mgr.other_system import receiving
from tests.meeting_mgr.system import running


@pytest.mark.thorough
def test_a_host_invites_by_mail_and_has_another_system_told(tmp_path: Path) -> None:
    box = Box()
    with served(box) as port, receiving() as other:
        mail = Mail(host="127.0.0.1", port=port, security="none", sender="meetings@city.example")
        settings = Settings(
            data_dir=tmp_path,
            people=People(demo_user=True),
            mail=mail,
            meetings=Meetings(webhooks=(other.folder,)),
        )
        with running(tmp_path, settings) as city:
            hook = {"url": f"{other.folder}x", "secret": "a secret of sixteen and more"}
            status, meeting, _ = city.ask("POST", "/meetings", {**BUSINESS, "hook": hook})
            assert status == 201, meeting
            address = f"/meetings/{meeting['id']}"
            status, sent, _ = city.ask("POST", f"{address}/invitations", {})
            assert (status, len(sent["sent"])) == (200, 2)
            city.ask("POST", f"{address}/actions", {"do": "start"})
            assert other.arrived.wait(60), city.logs()
    assert [mail["To"].addresses[0].addr_spec for mail in box.mails] == [
        "alice@example.org",
        "bob@example.org",
    ]
    told = orjson.loads(other.taken[0].body)
    assert (told["event"], told["meeting"]["item"]["title"]) == ("started", "Semantic Web")
