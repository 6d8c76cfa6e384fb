"""The database: SQLAlchemy models and Alembic migrations (SQLite, PostgreSQL)."""
