"""What host and participants see of a meeting, as JSON; no view holds a sensor's value."""

from apps.meeting_mgr.views.happened import CONTEXT as CONTEXT
from apps.meeting_mgr.views.happened import Page as Page
from apps.meeting_mgr.views.happened import happened as happened
from apps.meeting_mgr.views.happened import named as named
from apps.meeting_mgr.views.happened import page as page
from apps.meeting_mgr.views.hosting import brief as brief
from apps.meeting_mgr.views.hosting import host as host
from apps.meeting_mgr.views.partaking import before_joining as before_joining
from apps.meeting_mgr.views.partaking import participant as participant
from apps.meeting_mgr.views.shown import View as View
