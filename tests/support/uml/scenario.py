#!/usr/bin/env python3
"""scenario.py OUT BINARY: what happens in the machine of tests/uml.rs. Does things, and writes down what it did and what
the exporter's /metrics said before and after. It judges nothing: that is the test's.

Leaves in OUT: NAME.prom (a scrape), facts.json (what the kernel, the server and the workers say), exporter.log.
"""

import fcntl
import json
import os
import socket
import struct
import subprocess
import sys
import threading
import time
import urllib.request

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", "..", ".."))
sys.path.insert(0, os.path.join(ROOT, "deploy", "container"))
sys.dont_write_bytecode = True

from worker import Redis, Unavailable  # noqa: E402

OUT, BINARY = sys.argv[1:3]
GROUPS = "/sys/fs/cgroup"
METRICS = "http://127.0.0.1:9000/metrics"
POLL = 0.3
FROZEN = 3.0
STEP = 40
FACTS = {}

LOCKS = ["memory", "quota", "ice", "clock"]
HOLDER = "'^(?P<worker>[^:]+):(?P<host>[^:]+):(?P<pid>[0-9]+):'"
CONFIG = """
poll_interval: 300ms
stores:
  main:
    url: redis://127.0.0.1:7000
    locks:
%s
workers:
  sample:
    match: '[a-z]+-[0-9]+'
    process: { pid_from_holder: true }
""" % "\n".join(f"      - {{ name: {lock}, key: 'lock:{lock}', holder: {HOLDER} }}" for lock in LOCKS)


def prepare():
    """A network and a name."""
    with socket.socket() as any_socket:
        request = struct.pack("16sH14x", b"lo", 0x41)  # up, running
        fcntl.ioctl(any_socket, 0x8914, request)  # SIOCSIFFLAGS
    socket.sethostname("inside")
    write(f"{GROUPS}/cgroup.subtree_control", "+memory +cpu")


def write(path, text):
    with open(path, "w", encoding="ascii") as file:
        file.write(text)


def read(path):
    with open(path, encoding="ascii") as file:
        return file.read()


def keyed(path):
    return {key: int(value) for key, value in (line.split() for line in read(path).splitlines())}


def until(what, condition, deadline=20.0):
    end = time.monotonic() + deadline
    while True:
        try:
            value = condition()
        except (OSError, Unavailable):
            value = None
        if value:
            return value
        if time.monotonic() > end:
            raise TimeoutError(f"not within {deadline} s: {what}")
        time.sleep(0.05)


def start(*words, log, group=None):
    """A process, in a cgroup of its own from its first instant if one is named."""
    if group:
        directory = f"{GROUPS}/{group}"
        os.makedirs(directory, exist_ok=True)
        words = ("sh", "-c", 'echo $$ >"$0" && exec "$@"', f"{directory}/cgroup.procs", *words)
    with open(log, "ab") as file:
        return subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=file, stderr=file)


def worker(name, lease=30.0):
    lock = name.split("-")[0]
    words = ["--redis", "127.0.0.1:7000", "--name", name, "--lock", f"lock:{lock}", "--renew-every", "0.5"]
    script = os.path.join(ROOT, "deploy", "container", "worker.py")
    return start("python3", script, *words, "--lease", str(lease), log=f"{OUT}/{name}.log", group=lock)


def metrics():
    with urllib.request.urlopen(METRICS, timeout=5) as answer:
        return answer.read().decode()


def polls(text):
    lines = [line for line in text.splitlines() if line.startswith("dlock_exporter_polls_total{")]
    by_poller = {}
    for line in lines:
        name, value = line.rsplit(" ", 1)
        by_poller[name] = float(value)
    return by_poller


def scrape(name):
    """A scrape after every poller has begun and ended a poll since now: three ends of each."""
    before = polls(metrics())

    def all_polled():
        now = polls(metrics())
        return now and all(now.get(k, 0) >= v + 3 for k, v in before.items())

    until("every poller polls", all_polled)
    write(f"{OUT}/{name}.prom", metrics())


class Holder(threading.Thread):
    """Renews a lock all the time and counts what it did."""

    def __init__(self):
        super().__init__(daemon=True)
        self.redis = Redis("127.0.0.1", 7000)
        self.token = f"clock-1:inside:{os.getpid()}:x"
        self.redis.call("SET", "lock:clock", self.token, "PX", 90000)
        self.renewed = self.lost = 0

    def run(self):
        while True:
            time.sleep(0.5)
            if self.redis.call("PEXPIRE", "lock:clock", 90000) == 1:
                self.renewed += 1
            else:
                self.lost += 1

    def facts(self):
        return {"renewed": self.renewed, "lost": self.lost}


def out_of_memory():
    group = f"{GROUPS}/memory"
    write(f"{group}/memory.max", str(64 << 20))
    scrape("memory-before")
    before = keyed(f"{group}/memory.events")["oom_kill"]
    hog = "open('/proc/self/oom_score_adj', 'w').write('1000'); x = b'x' * (300 << 20)"
    start("python3", "-c", hog, log=f"{OUT}/hog.log", group="memory").wait()
    until("the kernel kills", lambda: keyed(f"{group}/memory.events")["oom_kill"] > before)
    scrape("memory-after")
    FACTS["memory"] = {
        "kills": keyed(f"{group}/memory.events")["oom_kill"] - before,
        "limit": int(read(f"{group}/memory.max")),
        "current": int(read(f"{group}/memory.current")),
    }


def quota():
    group = f"{GROUPS}/quota"
    write(f"{group}/cpu.max", "20000 100000")
    scrape("quota-before")
    before = keyed(f"{group}/cpu.stat")
    spin = start("python3", "-c", "while True: pass", log=f"{OUT}/spin.log", group="quota")
    wanted = before["nr_throttled"] + 20
    until("the kernel throttles", lambda: keyed(f"{group}/cpu.stat")["nr_throttled"] >= wanted)
    spin.kill()
    spin.wait()
    # The quota stays; what is left in the group is far below it.
    scrape("quota-after")
    after = keyed(f"{group}/cpu.stat")
    FACTS["quota"] = {key: after[key] - before[key] for key in ("nr_throttled", "throttled_usec")}


def freeze():
    group = f"{GROUPS}/ice"
    scrape("ice-before")
    begun = time.monotonic()
    write(f"{group}/cgroup.freeze", "1")
    until("it is frozen", lambda: "frozen 1" in read(f"{group}/cgroup.events"))
    frozen = time.monotonic()
    while time.monotonic() < frozen + FROZEN:
        scrape("ice-frozen")
    least = time.monotonic() - frozen
    write(f"{group}/cgroup.freeze", "0")
    until("it is thawed", lambda: "frozen 0" in read(f"{group}/cgroup.events"))
    FACTS["ice"] = {"least": least, "most": time.monotonic() - begun}
    scrape("ice-after")


def clock(holder):
    scrape("clock-before")
    facts = {"before": holder.facts()}
    for name, seconds in (("forward", STEP), ("backward", -STEP)):
        monotonic, wall = time.monotonic(), time.time()
        time.clock_settime(time.CLOCK_REALTIME, wall + seconds)
        facts[name] = {"step": time.time() - wall - (time.monotonic() - monotonic)}
        made = holder.renewed
        until("renewals after the step", lambda made=made: holder.renewed >= made + 4)
        scrape(f"clock-{name}")
        facts[name].update(holder.facts())
    FACTS["clock"] = facts


def main():
    prepare()
    server = ["redis-server", "--port", "7000", "--save", "", "--appendonly", "no", "--dir", "/run"]
    start(*server, log=f"{OUT}/redis.log")
    until("Redis answers", lambda: Redis("127.0.0.1", 7000).call("PING") == "PONG")
    workers = [worker(name) for name in ("memory-1", "quota-1", "ice-1")]
    holder = Holder()
    holder.start()
    write("/run/dlock.yml", CONFIG)
    listen = ["--web.listen-address", "127.0.0.1:9000", "--log.level", "debug"]
    exporter = start(BINARY, "--config.file", "/run/dlock.yml", *listen, log=f"{OUT}/exporter.log")
    until("the exporter sees all four", lambda: metrics().count("dlock_worker_alive{") >= 4)
    FACTS["has_pressure"] = os.path.exists("/proc/pressure")
    FACTS["kernel"] = os.uname().release
    scrape("settled")
    out_of_memory()
    quota()
    freeze()
    clock(holder)
    FACTS["ended"] = [process.args[-1] for process in [exporter, *workers] if process.poll() is not None]
    write(f"{OUT}/facts.json", json.dumps(FACTS))


if __name__ == "__main__":
    main()
