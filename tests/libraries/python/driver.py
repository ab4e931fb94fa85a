"""Holds locks with libraries of PyPI. driver.py HOST:PORT; the lines that it answers are told in tests/libraries.rs."""

import sys
import threading
import time

import redis


class Renewed:
    """A lock that its application renews, as the library's manual says."""

    def __init__(self, every, renew):
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self.run, args=(every, renew), daemon=True)
        self.thread.start()

    def run(self, every, renew):
        while not self.ended.wait(every):
            try:
                renew()
            except Exception as e:  # it lapsed: the application lost it
                print(f"not renewed: {e!r}", file=sys.stderr)
                return

    def end(self):
        self.ended.set()
        self.thread.join()


def redis_py(client, name, lease):
    lock = client.lock(name, timeout=lease, thread_local=False)
    assert lock.acquire(blocking=False)
    renewed = Renewed(lease / 3, lock.reacquire)

    def release():
        renewed.end()
        lock.release()

    return lock.local.token, release


CASES = {"redis-py": redis_py}


def main():
    host, port = sys.argv[1].rsplit(":", 1)
    client = redis.Redis(host=host, port=int(port))
    held = {}
    answers, sys.stdout = sys.stdout, sys.stderr
    for line in sys.stdin:
        words = line.split()
        name = words[2] if words[0] == "acquire" else words[-1]
        try:
            if words[0] == "quit":
                break
            elif words[0] == "acquire":
                token, held[name] = CASES[words[1]](client, name, int(words[3]) / 1000)
                tokens = token if isinstance(token, list) else [token]
                print(f"held {name} {','.join(t.hex() for t in tokens if t) or '-'}", file=answers, flush=True)
            else:
                held.pop(name)()
                print(f"released {name}", file=answers, flush=True)
        except Exception as e:
            print(f"failed {name} {e!r}", file=answers, flush=True)


main()
