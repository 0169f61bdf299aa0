"""The peers of bench/queue, each at full durability (synchronous=FULL), counted like ours: put, take and acknowledge."""
import os, sys, threading, time

place, span, producers = sys.argv[1], float(sys.argv[2]), int(sys.argv[3])
BODY = "about a hundred bytes, which is what a message or a small row of the product has, more or less"


def measure(what, n_threads, make):
    counts, failures = [0] * n_threads, []
    until = time.monotonic() + span

    def work(n):
        try:
            once = make(n)
            while time.monotonic() < until:
                once()
                counts[n] += 1
        except Exception as failure:  # a peer that cannot do this many at once is told, not hidden
            failures.append(failure)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(n_threads)]
    started = time.monotonic()
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    rate = sum(counts) / (time.monotonic() - started)
    note = f"  ({len(failures)} threads failed: {failures[0]})" if failures else ""
    print(f"{what:<44} {rate:>12.0f}{note}", flush=True)


def litequeue(path):
    from litequeue import LiteQueue

    def make(_):
        queue = LiteQueue(path, timeout=30)
        queue.conn.execute("PRAGMA synchronous=FULL")

        def once():
            queue.put(BODY)
            message = queue.pop()
            if message is not None:
                queue.done(message.message_id)

        return once

    return make


def huey(path):
    from huey.storage import SqliteStorage

    storage = SqliteStorage(filename=path, fsync=True)

    def once():
        storage.enqueue(BODY.encode())
        storage.dequeue()  # takes and removes in one step: there is no acknowledgement

    return lambda _: once


def persist_queue(path):
    import persistqueue

    queue = persistqueue.SQLiteAckQueue(path, multithreading=True)
    for connection in (queue._conn, getattr(queue, "_putter", None), getattr(queue, "_getter", None)):
        if connection is not None:
            connection.execute("PRAGMA synchronous=FULL")

    def once():
        queue.put(BODY)
        queue.ack(queue.get())

    return lambda _: once


for name, peer in (("litequeue", litequeue), ("huey (no acknowledgement)", huey), ("persist-queue", persist_queue)):
    for n_threads in (1, producers):
        path = os.path.join(place, f"{name.split()[0]}-{n_threads}")
        try:
            measure(f"{name}, {n_threads} at once", n_threads, peer(path))
        except ImportError:
            print(f"{name}: not installed")
