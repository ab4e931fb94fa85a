#!/usr/bin/env python3
"""The receiving end of Alertmanager's webhooks for the demo: prints each notification as one would like to read it at
three in the morning. Python's standard library only.

The last word of the path says whom it stands for: /pager, /ticket. One line for each alert says what it is, where, and
whether it fires or is over; the lines below it say what is known, and where to read what to do.
It must not keep or send anything on; it listens on the loopback.
"""

import argparse
import json
import sys
import textwrap
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


def where(labels):
    """The thing that an alert is about: main/orders, worker orders-1, main at 10.0.0.5:6379."""
    parts = []
    if "store" in labels:
        parts.append("/".join(labels[name] for name in ("store", "lock") if name in labels))
    if "addr" in labels:
        parts.append(f"at {labels['addr']}")
    for name in ("worker", "clock", "instance"):
        if name in labels:
            parts.append(f"{name} {labels[name]}")
    return ", ".join(parts) or "everywhere"


def lines(kind, alert):
    labels, notes = alert["labels"], alert.get("annotations", {})
    fires = alert["status"] == "firing"
    head = kind.upper() if fires else "RESOLVED"
    yield f"{time.strftime('%H:%M:%S')}  {head}  {labels.get('alertname', '?')}  {where(labels)}"
    if fires:
        for name in ("summary", "description"):
            if notes.get(name):
                yield from textwrap.wrap(notes[name], 108, initial_indent=" " * 10, subsequent_indent=" " * 10)
        if notes.get("runbook_url"):
            yield f"          what to do: {notes['runbook_url']}"


class Receiver(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        try:
            alerts = json.loads(body)["alerts"]
            text = "\n".join(line for alert in alerts for line in lines(self.path.rpartition("/")[2], alert))
        except (ValueError, KeyError, TypeError) as error:
            self.send_error(400, f"not a notification of Alertmanager: {error}")
            return
        print(text, flush=True)
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        """The notifications are the log."""


def main():
    parser = argparse.ArgumentParser(description="Prints what Alertmanager's webhooks send.")
    parser.add_argument("--port", type=int, required=True)
    with ThreadingHTTPServer(("127.0.0.1", parser.parse_args().port), Receiver) as server:
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            pass
    return 0


if __name__ == "__main__":
    sys.exit(main())
