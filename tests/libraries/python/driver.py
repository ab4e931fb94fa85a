"""Holds locks with libraries of PyPI. driver.py HOST:PORT; the lines that it answers are told in tests/libraries.rs.

Where a library renews by itself, it does; where its manual leaves that to the application, a thread here does it.
"""

import asyncio
import logging
import sys
import threading
import uuid

import django.conf
import redis
import redis.asyncio
import redis_lock
from celery import Celery, beat
from django.core.cache import cache
from pottery import Redlock
from redbeat import RedBeatScheduler


class Renewed:
    """A lock that its application renews until it is told to end, or the lock is lost."""

    def __init__(self, every, renew):
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self.run, args=(every, renew), daemon=True)
        self.thread.start()

    def run(self, every, renew):
        while not self.ended.wait(every):
            try:
                renew()
            except Exception as e:  # it lapsed: the application has lost it
                print(f"not renewed: {e!r}", file=sys.stderr)
                return

    def end(self):
        self.ended.set()
        self.thread.join()


class Libraries:
    def __init__(self, host, port):
        self.url = f"redis://{host}:{port}/0"
        self.client = redis.Redis(host=host, port=port)
        self.loop = asyncio.new_event_loop()
        threading.Thread(target=self.loop.run_forever, daemon=True).start()
        caches = {"default": {"BACKEND": "django_redis.cache.RedisCache", "LOCATION": self.url}}
        django.conf.settings.configure(CACHES=caches)

    def redis_py(self, name, lease):
        """Reacquired: the lease is set anew."""
        return self.renewed(self.client.lock(name, timeout=lease, thread_local=False), lease)

    def renewed(self, lock, lease):
        assert lock.acquire()
        renewed = Renewed(lease / 3, lock.reacquire)

        def release():
            renewed.end()
            lock.release()

        return lock.local.token, release

    def redis_py_extend(self, name, lease):
        """Extended by what has passed, in the only thread that knows the token: `thread_local`."""
        token, ended, every = [], threading.Event(), lease / 3
        held, failure = threading.Event(), []

        def work():
            lock = self.client.lock(name, timeout=lease)
            assert lock.acquire(blocking=True, blocking_timeout=5)
            token.append(lock.local.token)
            held.set()
            try:
                while not ended.wait(every):
                    lock.extend(every)
                lock.release()
            except redis.exceptions.LockError as e:
                failure.append(e)

        thread = threading.Thread(target=work, daemon=True)
        thread.start()
        assert held.wait(10)

        def release():
            ended.set()
            thread.join()
            if failure:
                raise failure[0]

        return token[0], release

    def redis_py_for_ever(self, name, _lease):
        """Without a timeout, as by default."""
        lock = self.client.lock(name)
        assert lock.acquire()
        return lock.local.token, lock.release

    def redis_py_async(self, name, lease):
        """The lock of asyncio, extended to a whole lease."""

        def wait(coroutine):
            return asyncio.run_coroutine_threadsafe(coroutine, self.loop).result(10)

        async def take():
            client = redis.asyncio.from_url(self.url)
            lock = client.lock(name, timeout=lease, thread_local=False)
            assert await lock.acquire()
            return lock, asyncio.ensure_future(renew(lock))

        async def renew(lock):
            while True:
                await asyncio.sleep(lease / 3)
                await lock.extend(lease, replace_ttl=True)

        lock, task = wait(take())

        async def let_go():
            task.cancel()
            await lock.release()

        return lock.local.token, lambda: wait(let_go())

    def python_redis_lock(self, name, lease):
        """With `auto_renewal`, a thread of the library's."""
        lock = redis_lock.Lock(self.client, name, expire=round(lease), auto_renewal=True)
        assert lock.acquire()
        return lock.id.encode(), lock.release

    def python_redis_lock_id(self, name, lease):
        """With a name of the application's, and the waiting list that a release leaves for a second."""
        lock = redis_lock.Lock(self.client, name, expire=round(lease), id=f"driver@{uuid.uuid4()}")
        assert lock.acquire(timeout=5)
        return lock.id.encode(), lock.release

    def pottery(self, name, lease):
        """Redlock with one server."""
        lock = Redlock(key=name, masters={self.client}, auto_release_time=lease, num_extensions=10**6)
        assert lock.acquire()
        renewed = Renewed(lease / 3, lock.extend)

        def release():
            renewed.end()
            lock.release()

        return lock._uuid.encode(), release

    def redbeat(self, _name, lease):
        """Celery's beat with its scheduler, and one entry that is never due."""
        app = Celery("driver")
        app.conf.update(
            redbeat_redis_url=self.url,
            redbeat_lock_timeout=round(lease),
            beat_schedule={"daily": {"task": "nothing", "schedule": 86400.0}},
        )
        service = beat.Service(app, max_interval=lease / 3, scheduler_cls=RedBeatScheduler)
        threading.Thread(target=service.start, daemon=True).start()
        waited = threading.Event()
        while not service.scheduler.lock:
            waited.wait(0.02)
        return self.client.get("redbeat::lock"), lambda: service.stop(wait=True)

    def django_lock(self, name, lease):
        """`cache.lock`."""
        return self.renewed(cache.lock(name, timeout=lease, thread_local=False), lease)

    def django_add(self, name, lease):
        """`cache.add`, the lock that is in so many tutorials: the value is pickled."""
        owner = f"driver:{uuid.uuid4()}"
        assert cache.add(name, owner, timeout=lease)

        def release():
            assert cache.get(name) == owner
            cache.delete(name)

        return owner.encode(), release


def main():
    logging.basicConfig(level=logging.WARNING)
    answers, sys.stdout = sys.stdout, sys.stderr
    host, port = sys.argv[1].rsplit(":", 1)
    libraries = Libraries(host, int(port))
    held = {}

    def answer(line):
        print(line, file=answers, flush=True)

    for line in sys.stdin:
        command, *words = line.split()
        if command == "quit":
            break
        name = words[-2] if command == "acquire" else words[-1]
        try:
            if command == "acquire":
                take = getattr(libraries, words[0].replace("-", "_"))
                token, held[name] = take(name, int(words[2]) / 1000)
                answer(f"held {name} {token.hex()}")
            else:
                held.pop(name)()
                answer(f"released {name}")
        except Exception as e:
            logging.exception(line)
            answer(f"failed {name} {e!r}")


main()
