"""Compresses what leaves as text, where it says nothing of anybody."""

from __future__ import annotations

from flask import Flask, Response
from flask_compress import Compress

LEAST_BYTES = 500
"""Smaller bodies fit into one packet whatever is done to them."""
TYPES = (
    "application/geo+json",
    "application/json",
    "application/manifest+json",
    "application/problem+json",
    "image/svg+xml",
    "text/css",
    "text/html",
    "text/javascript",
)


def install(app: Flask) -> None:
    """Compress answers by Brotli, Zstandard, gzip or deflate, as the browser takes them.

    To be installed first, so that it sees an answer last. Event streams are left alone, and so are
    answers that no cache may keep: what is personal, beside what others can make somebody send,
    would show in the length (BREACH).
    """
    app.config["COMPRESS_REGISTER"] = False
    app.config["COMPRESS_MIMETYPES"] = TYPES
    app.config["COMPRESS_MIN_SIZE"] = LEAST_BYTES
    app.config["COMPRESS_BR_LEVEL"] = 5  # about the time of gzip's 6, and a sixth smaller
    app.config["COMPRESS_ALGORITHM"] = ["br", "zstd", "gzip", "deflate"]
    app.config["COMPRESS_ALGORITHM_STREAMING"] = ["br", "zstd", "deflate"]
    compress = Compress()
    compress.init_app(app)

    @app.after_request
    def _compressed(response: Response) -> Response:
        if response.cache_control.no_store:
            return response
        return compress.after_request(response)
