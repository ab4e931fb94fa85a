#!/usr/bin/env python3
"""A sample worker: takes a lock in Redis, renews it, beats, releases it. Python's standard library only.

It does what a careful service does with a lock in Redis, so that the compose file's exporter watches something real:

  take      SET key token NX PX lease
  renew     compare the token and PEXPIRE, in one script; by itself, or by a separate process (--renewer separate) that
            goes on renewing when this one stands still: the failure that dlock_exporter exists to show
  beat      SET heartbeat counter, by the same loop that works, so that the beat stops when the work does
  release   compare the token and DEL, in one script

SIGTERM and SIGINT release the lock and end it. The token is a credential: it is never printed.
`dlock_drill worker` does the same and more, without Python. It must not grow into a lock library; use a kept one in a
service of your own.
"""

import argparse
import os
import signal
import socket
import sys
import time
import uuid

RENEW = "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('PEXPIRE', KEYS[1], ARGV[2]) else return 0 end"
RELEASE = "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) else return 0 end"


class Unavailable(Exception):
    """Redis did not answer, or answered with an error."""


class Redis:
    """One connection, rebuilt when it breaks. Knows as much of the protocol as this worker needs."""

    def __init__(self, host, port, timeout=1.0):
        self.address, self.timeout = (host, port), timeout
        self.stream = None

    def call(self, *words):
        try:
            if self.stream is None:
                connection = self.connect()
                self.stream = connection.makefile("rwb")
                connection.close()  # the stream keeps the descriptor
            parts = [str(word).encode() for word in words]
            request = b"*%d\r\n" % len(parts) + b"".join(b"$%d\r\n%s\r\n" % (len(p), p) for p in parts)
            self.stream.write(request)
            self.stream.flush()
            return self.reply()
        except (OSError, ValueError) as error:
            self.close()
            raise Unavailable(str(error)) from error

    def connect(self):
        path, port = self.address
        if port is not None:
            return socket.create_connection(self.address, self.timeout)
        connection = socket.socket(socket.AF_UNIX)
        connection.settimeout(self.timeout)
        connection.connect(path)
        return connection

    def reply(self):
        line = self.stream.readline()
        if not line.endswith(b"\r\n"):
            raise OSError("the connection was closed")
        kind, rest = line[:1], line[1:-2]
        if kind == b"-":
            raise Unavailable(rest.decode(errors="replace"))
        if kind == b"+":
            return rest.decode(errors="replace")
        if kind == b":":
            return int(rest)
        if kind == b"$":
            return None if int(rest) < 0 else self.stream.read(int(rest) + 2)[:-2]
        raise OSError("a reply of a kind that this worker does not know")

    def close(self):
        stream, self.stream = self.stream, None
        if stream is not None:
            try:
                stream.close()
            except OSError:
                pass


class Stop:
    """Whether a stop signal came. The handler only notes it, so that no exchange with Redis is cut in half."""

    def __init__(self):
        self.asked = False
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self.note)

    def note(self, _number, _frame):
        self.asked = True

    def within(self, seconds):
        """Sleeps that long, in short pieces; True as soon as a stop signal came."""
        end = time.monotonic() + seconds
        while not self.asked:
            left = end - time.monotonic()
            if left <= 0:
                break
            time.sleep(min(left, 0.05))
        return self.asked


class Worker:
    def __init__(self, options):
        self.options = options
        self.stop = Stop()
        self.redis = Redis(options.host, options.port)
        self.beats = int(time.time())  # so that a restarted worker does not repeat an old value
        self.next_beat = 0.0
        self.renewals = 0
        self.longest_gap = 0.0

    def say(self, text):
        print(f"{self.options.name}: {text}", flush=True)

    def new_token(self):
        return self.options.token.format(
            name=self.options.name, host=socket.gethostname(), pid=os.getpid(), uuid=uuid.uuid4().hex
        )

    def lease_ms(self):
        return int(self.options.lease * 1000)

    def run(self):
        cycles = 0
        while not self.options.cycles or cycles < self.options.cycles:
            token = self.take()
            if token is None:
                break
            stopped = self.hold(token)
            cycles += 1
            if stopped or (cycles != self.options.cycles and self.idle(self.options.pause)):
                break
        self.say(f"ended renewals={self.renewals} longest_gap_ms={self.longest_gap * 1000:.0f}")

    def take(self):
        """The token of the lock now held, or None when told to stop."""
        while True:
            token = self.new_token()  # a new one each time: a lost reply must not make two tenures look like one
            try:
                if self.redis.call("SET", self.options.lock, token, "NX", "PX", self.lease_ms()) == "OK":
                    self.say(f"took {self.options.lock}")
                    return token
            except Unavailable as error:
                self.say(f"cannot take {self.options.lock}: {error}")
            if self.idle(0.1):
                return None

    def hold(self, token):
        """Works, renews and beats until the work is done or the lock is lost. True when told to stop."""
        renewer = self.start_renewer(token) if self.options.renewer == "separate" else None
        begun = renewed = time.monotonic()
        every = self.options.renew_every if renewer is None else 0
        stopped = False
        while not stopped:
            now = time.monotonic()
            if self.options.work and now >= begun + self.options.work:
                break
            if every and now >= renewed + every:
                answer = self.renew(self.redis, token)
                if answer == 0:
                    self.say(f"lost {self.options.lock}")
                    return False
                if answer == 1:
                    self.longest_gap = max(self.longest_gap, time.monotonic() - renewed)
                    renewed = now
                elif self.stop.within(0.1):
                    stopped = True
                    continue
            self.beat_if_due()
            due = [now + 1.0]
            if every:
                due.append(renewed + every)
            if self.options.beat_every:
                due.append(self.next_beat)
            if self.options.work:
                due.append(begun + self.options.work)
            stopped = self.stop.within(min(due) - time.monotonic())
        if renewer is not None:
            os.kill(renewer, signal.SIGTERM)
            os.waitpid(renewer, 0)
        self.release(token)
        return stopped

    def renew(self, redis, token):
        """1 renewed, 0 not ours any more, None not known."""
        try:
            answer = redis.call("EVAL", RENEW, 1, self.options.lock, token, self.lease_ms())
            self.renewals += answer
            return answer
        except Unavailable as error:
            self.say(f"cannot renew {self.options.lock}: {error}")
            return None

    def start_renewer(self, token):
        """A process that only renews, and does not notice when the worker stands still."""
        child = os.fork()
        if child:
            return child
        self.stop = Stop()
        redis = Redis(self.options.host, self.options.port)
        while not self.stop.within(self.options.renew_every):
            if self.renew(redis, token) == 0:
                break
        os._exit(0)

    def release(self, token):
        for _ in range(3):
            try:
                kept = self.redis.call("EVAL", RELEASE, 1, self.options.lock, token) == 1
                self.say(f"released {self.options.lock}" if kept else f"had lost {self.options.lock}")
                return
            except Unavailable as error:
                self.say(f"cannot release {self.options.lock}: {error}")

    def idle(self, seconds):
        """Waits without the lock, and beats. True when told to stop."""
        end = time.monotonic() + seconds
        while True:
            self.beat_if_due()
            left = end - time.monotonic()
            if left <= 0:
                return self.stop.within(0)
            if self.stop.within(min(left, self.options.beat_every or left)):
                return True

    def beat_if_due(self):
        now = time.monotonic()
        if not self.options.beat_every or now < self.next_beat:
            return
        self.next_beat = now + self.options.beat_every
        self.beats += 1
        try:
            self.redis.call("SET", self.options.heartbeat or f"hb:{self.options.name}", self.beats)
        except Unavailable as error:
            self.say(f"cannot beat: {error}")


def arguments():
    parser = argparse.ArgumentParser(description="A sample worker that takes, renews and releases a lock in Redis.")
    parser.add_argument("--redis", default="127.0.0.1:6379", metavar="HOST:PORT", help="or /PATH of its socket")
    parser.add_argument("--name", required=True, help="the worker's name")
    parser.add_argument("--lock", required=True, help="the lock's key")
    parser.add_argument("--lease", type=float, default=6.0, metavar="SECONDS")
    parser.add_argument("--renew-every", type=float, default=2.0, metavar="SECONDS", help="0: never")
    parser.add_argument("--renewer", choices=["self", "separate"], default="self", help="who renews")
    parser.add_argument("--work", type=float, default=0.0, metavar="SECONDS", help="0: until told to stop")
    parser.add_argument("--pause", type=float, default=1.0, metavar="SECONDS", help="between two tenures")
    parser.add_argument("--cycles", type=int, default=0, help="tenures before it ends by itself; 0: no limit")
    parser.add_argument("--heartbeat", metavar="KEY", help="default hb:NAME")
    parser.add_argument("--beat-every", type=float, default=1.0, metavar="SECONDS", help="0: never")
    parser.add_argument("--token", default="{name}:{host}:{pid}:{uuid}", help="made of {name} {host} {pid} {uuid}")
    parser.add_argument("--pid-file", help="written at the start, removed at the end")
    options = parser.parse_args()
    if options.redis.startswith("/"):
        options.host, options.port = options.redis, None
    else:
        options.host, _, port = options.redis.removeprefix("redis://").rstrip("/").rpartition(":")
        options.port = int(port)
    if options.renewer == "separate" and not options.renew_every:
        parser.error("--renewer separate needs --renew-every above 0")
    return options


def main():
    options = arguments()
    if options.pid_file:
        with open(options.pid_file + ".new", "w", encoding="ascii") as file:
            file.write(f"{os.getpid()}\n")
        os.replace(options.pid_file + ".new", options.pid_file)
    try:
        Worker(options).run()
    finally:
        if options.pid_file:
            os.unlink(options.pid_file)
    return 0


if __name__ == "__main__":
    sys.exit(main())
