"""What host and participants see of a meeting, as JSON; no view holds a sensor's value."""

from citywise.apps.meeting_mgr.views.happened import CONTEXT as CONTEXT
from citywise.apps.meeting_mgr.views.happened import Page as Page
from citywise.apps.meeting_mgr.views.happened import happened as happened
from citywise.apps.meeting_mgr.views.happened import named as named
from citywise.apps.meeting_mgr.views.happened import page as page
from citywise.apps.meeting_mgr.views.hosting import agenda as agenda
from citywise.apps.meeting_mgr.views.hosting import brief as brief
from citywise.apps.meeting_mgr.views.hosting import host as host
from citywise.apps.meeting_mgr.views.partaking import before_joining as before_joining
from citywise.apps.meeting_mgr.views.partaking import participant as participant
from citywise.apps.meeting_mgr.views.shown import View as View
