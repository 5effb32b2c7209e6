"""The server of metrics of ``canvass watch``, which Prometheus asks."""

from __future__ import annotations

import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from canvass.cli.output import CommandError, complain


def serve(metrics: Callable[[], str], port: int) -> ThreadingHTTPServer:
    """Serve metrics on the loopback interface, in a thread of its own.

    Parameters
    ----------
    metrics
        Gives the text of the metrics, at each request.
    port
        The port; 0 takes a free one, and stderr has its number.

    Raises
    ------
    CommandError
        If the port is taken.
    """
    from canvass.explanation.metrics import CONTENT_TYPE

    class Handler(BaseHTTPRequestHandler):
        """Answers ``GET /metrics``."""

        def do_GET(self) -> None:
            """Send the metrics."""
            found = self.path in ("/", "/metrics")
            body = metrics().encode() if found else b"canvass: only /metrics is here\n"
            self.send_response(200 if found else 404)
            self.send_header("Content-Type", CONTENT_TYPE)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            """Log nothing."""

    try:
        server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
    except OSError as error:
        raise CommandError(f"--metrics {port}: {error.strerror}; 0 takes a free port") from None
    threading.Thread(target=server.serve_forever, daemon=True).start()
    complain(f"metrics on http://127.0.0.1:{server.server_address[1]}/metrics")
    return server
