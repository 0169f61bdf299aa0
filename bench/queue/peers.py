"""One peer of bench/queue at full durability (synchronous=FULL): put, take and acknowledge, for as many seconds as each
line of the input says, from as many threads. Answers with how many there were, and in how many seconds."""
import sys, threading, time

name, path, n_threads = sys.argv[1], sys.argv[2], int(sys.argv[3])
BODY = "about a hundred bytes, which is what a message or a small row of the product has, more or less"


def litequeue():
    from litequeue import LiteQueue

    def make():
        queue = LiteQueue(path, timeout=30)
        queue.conn.execute("PRAGMA synchronous=FULL")

        def once():
            queue.put(BODY)
            message = queue.pop()
            if message is not None:
                queue.done(message.message_id)

        return once

    return make


def huey():
    from huey.storage import SqliteStorage

    storage = SqliteStorage(filename=path, fsync=True)

    def once():
        storage.enqueue(BODY.encode())
        storage.dequeue()  # takes and removes in one step: there is no acknowledgement

    return lambda: once


def persist_queue():
    import persistqueue

    queue = persistqueue.SQLiteAckQueue(path, multithreading=True)
    for connection in (queue._conn, getattr(queue, "_putter", None), getattr(queue, "_getter", None)):
        if connection is not None:
            connection.execute("PRAGMA synchronous=FULL")

    def once():
        queue.put(BODY)
        queue.ack(queue.get())

    return lambda: once


class Producer(threading.Thread):
    """Lives through all turns: a connection to SQLite belongs to the thread that opened it."""

    def __init__(self, make):
        super().__init__(daemon=True)
        self.make, self.go, self.done, self.count, self.until = make, threading.Event(), threading.Event(), 0, 0.0
        self.failure = None

    def run(self):
        try:
            once = self.make()
            while self.go.wait():
                self.go.clear()
                while self.count == 0 or time.monotonic() < self.until:
                    once()
                    self.count += 1
                self.done.set()
        except Exception as failure:  # told, not hidden
            self.failure = failure
            self.done.set()

    def turn(self, until):
        self.count, self.until = 0, until
        self.done.clear()
        self.go.set()


make = {"litequeue": litequeue, "huey": huey, "persist-queue": persist_queue}[name]()
producers = [Producer(make) for _ in range(n_threads)]
for producer in producers:
    producer.start()
for line in sys.stdin:
    started = time.monotonic()
    for producer in producers:
        producer.turn(started + float(line))
    for producer in producers:
        producer.done.wait()
        if producer.failure is not None:
            sys.exit(f"{name}: {producer.failure!r}")
    print(sum(producer.count for producer in producers), time.monotonic() - started, flush=True)
