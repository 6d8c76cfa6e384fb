"""What people in a meeting can do right now, concluded by C-ASP from what their devices tell.

Thesis, Figure 7.10: event detection and user reasoner; docs/meeting-manager-abilities.md.
"""

from citywise.apps.meeting_mgr.capabilities.evaluating import Capabilities
from citywise.apps.meeting_mgr.capabilities.situation import Change, Concluded, Situation

__all__ = ["Capabilities", "Change", "Concluded", "Situation"]
