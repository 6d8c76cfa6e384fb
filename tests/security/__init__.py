"""What nobody may do: the OWASP API Security Top 10 (2023) and what it leaves out."""
