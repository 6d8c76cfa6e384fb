"""Notices: attention, what users answer, reminders, and delivery to devices."""
