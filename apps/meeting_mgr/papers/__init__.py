"""What a meeting gives people to keep: invitations, letters, minutes; and calendars taken in."""
