"""Holds locks by the commands that libraries of other languages send: recipes.toml. driver.py HOST:PORT; the lines that it
answers are told in tests/libraries.rs. It speaks RESP itself, so that nothing comes between.

In a recipe: <key>, <token>, <name>; <ms>, <ms:3> (three times that), <s> (whole seconds); <now>, <until> (of the lease, both
in milliseconds), <now_s> (in seconds, with a fraction); and in a token <uuid4>, <hex:n> (digits), <base64:n>, <bytes:n>
(bytes), <mixed:n> (letters and digits), <host>, <pid>.
"""

import base64
import os
import random
import re
import socket
import string
import sys
import threading
import time
import tomllib
import uuid
from pathlib import Path

RECIPES = tomllib.loads(Path(__file__).with_name("recipes.toml").read_text())


class Connection:
    """One connection, for one command at a time."""

    def __init__(self, host, port):
        self.socket = socket.create_connection((host, port))
        self.file = self.socket.makefile("rb")
        self.lock = threading.Lock()

    def send(self, words):
        parts = b"".join(b"$%d\r\n%s\r\n" % (len(w), w) for w in words)
        self.socket.sendall(b"*%d\r\n%s" % (len(words), parts))
        return self.read()

    def read(self):
        kind, rest = (line := self.file.readline())[:1], line[1:-2]
        match kind:
            case b"+":
                return rest
            case b"-":
                raise RuntimeError(rest.decode())
            case b":":
                return int(rest)
            case b"$":
                return None if rest == b"-1" else self.file.read(int(rest) + 2)[:-2]
            case b"*":
                return None if rest == b"-1" else [self.read() for _ in range(int(rest))]
        raise RuntimeError(f"not an answer: {line!r}")


class Owner:
    """One owner of a lock."""

    def __init__(self, connection, recipe, name, lease):
        self.connection, self.recipe, self.name, self.lease = connection, recipe, name.encode(), lease
        self.token = b""
        self.token = self.filled(recipe["token"])
        self.ended = threading.Event()
        self.do("acquire")
        self.thread = threading.Thread(target=self.keep, daemon=True)
        self.thread.start()

    def filled(self, text):
        now = time.time()

        def word(match):
            what, _, number = match[1].decode().partition(":")
            n = int(number or 1)
            values = {
                "key": lambda: self.filled(self.recipe["key"]),
                "token": lambda: self.token,
                "name": lambda: self.name,
                "ms": lambda: self.lease * n,
                "s": lambda: -(-self.lease // 1000),
                "now": lambda: int(now * 1000),
                "until": lambda: int(now * 1000) + self.lease,
                "now_s": lambda: now,
                "uuid4": uuid.uuid4,
                "hex": lambda: os.urandom(n).hex()[:n],
                "base64": lambda: base64.b64encode(os.urandom(n)),
                "bytes": lambda: b"\xff" + os.urandom(n - 1),  # certainly no text
                "mixed": lambda: mixed(n),
                "host": socket.gethostname,
                "pid": os.getpid,
            }
            value = values[what]()
            return value if isinstance(value, bytes) else str(value).encode()

        return re.sub(rb"<([a-z0-9_]+(?::\d+)?)>", word, text.encode())

    def command(self, line):
        """Words are split before they are filled in: a document is one word, and has no blanks."""
        words = [self.filled(w) for w in line.split(" ")]
        answer = self.connection.send(words)
        if words[0] in (b"SET", b"SETNX") and answer not in (b"OK", b"QUEUED", 1):
            raise RuntimeError(f"somebody else has it: {answer!r}")
        return answer

    def do(self, part):
        with self.connection.lock:
            for step in self.recipe[part]:
                if isinstance(step, str):
                    self.command(step)
                    continue
                self.connection.send([b"MULTI"])
                for line in step:
                    self.command(line)
                if self.connection.send([b"EXEC"]) is None:
                    raise RuntimeError("somebody else wrote it meanwhile")

    def owns(self):
        question, *answer = self.recipe["owns"]
        with self.connection.lock:
            told = self.command(question)
        told = str(told).encode() if isinstance(told, int) else told
        return told == self.filled(answer[0]) if answer else told is not None

    def keep(self):
        if "renew" not in self.recipe:
            return
        while not self.ended.wait(self.lease / 1000 * self.recipe.get("every", 1 / 3)):
            if not self.owns():
                print(f"{self.name.decode()}: lost", file=sys.stderr)
                return
            self.do("renew")

    def end(self):
        self.ended.set()
        self.thread.join()

    def release(self):
        self.end()
        self.do("release")


def mixed(n):
    """Letters and digits by chance, as mixed as chance mostly has them."""
    while True:
        text = "".join(random.choices(string.ascii_letters + string.digits, k=n))
        if sum(a.isdigit() != b.isdigit() or a.isupper() != b.isupper() for a, b in zip(text, text[1:])) > n / 3:
            return text


def main():
    host, port = sys.argv[1].rsplit(":", 1)
    connection = Connection(host, int(port))
    held = {}
    for line in sys.stdin:
        words = line.split()
        name = words[2] if words[0] == "acquire" else words[-1]
        try:
            if words[0] == "quit":
                break
            elif words[0] == "acquire":
                recipe = RECIPES[words[1]]
                # A member of a sorted set may have outlived its time there, and is renewed as if nothing had been.
                if not (name in held and all(o.owns() for o in held[name])):
                    for lost in held.pop(name, []):
                        lost.end()
                    owners = range(recipe.get("owners", 1))
                    held[name] = [Owner(connection, recipe, name, int(words[3])) for _ in owners]
                # A token without anything by chance is a name, and no secret.
                tokens = [o.token.hex() for o in held[name] if "<" in recipe["token"]]
                print(f"held {name} {','.join(tokens) or '-'}", flush=True)
            else:
                for owner in held.pop(name):
                    owner.release()
                print(f"released {name}", flush=True)
        except Exception as e:
            print(f"failed {name} {e!r}", flush=True)


main()
