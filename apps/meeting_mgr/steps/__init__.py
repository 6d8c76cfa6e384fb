"""What people do to a meeting: each step gives the meeting after it, or refuses; none does I/O."""
