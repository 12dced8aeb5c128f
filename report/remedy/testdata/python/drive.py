import json
import threading
import time

import backoff
import coalesce
import early_refresh
import lock
import negative_cache
import redis
import run_once
import serve_stale
import ttl_jitter
import warm_up


class Loads:
    """Counts loads, each of which takes a while."""

    def __init__(self, takes=0.0):
        self.n, self.takes = 0, takes

    def __call__(self, key):
        self.n += 1
        time.sleep(self.takes)
        return f"value of {key}"


def fifty(get):
    got = []
    threads = [threading.Thread(target=lambda: got.append(get())) for _ in range(50)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert got == ["value of k"] * 50, got


def fails(call, error):
    try:
        call()
    except error:
        return
    raise AssertionError(f"no {error}")


# ttl_jitter
r = redis.Redis()
for i in range(200):
    ttl_jitter.put(r, f"k{i}", "v")
assert all(85 <= t <= 115 for t in r.ttl.values()) and len(set(r.ttl.values())) > 15, r.ttl

# coalesce: one load for 50 callers, and a failure is everybody's and not kept
loads = Loads(0.3)
fifty(lambda: coalesce.get("k", loads))
assert loads.n == 1, loads.n


def broken(key):
    raise ValueError(key)


fails(lambda: coalesce.get("k", broken), ValueError)
assert coalesce.get("k", loads) == "value of k" and not coalesce._flights

# lock
r, loads = redis.Redis(), Loads(0.2)
fifty(lambda: lock.get(r, "k", loads))
assert loads.n == 1 and 85 <= r.ttl["k"] <= 115 and r.ttl["lock:k"] == 5, (loads.n, r.ttl)
assert "lock:k" not in r.values


def overtaken(key):
    assert len(r.values["lock:k2"]) == 32
    r.values["lock:k2"] = "another's"
    return "v"


assert lock.get(r, "k2", overtaken) == "v" and r.values["lock:k2"] == "another's"
fails(lambda: lock.get(r, "k3", broken), ValueError)
assert "lock:k3" not in r.values

# serve_stale
r, loads = redis.Redis(), Loads()
assert serve_stale.get(r, "k", loads) == "value of k" and 95 <= r.ttl["k"] <= 125
r.set("k", json.dumps({"value": "old", "fresh": time.time() - 1}))
loads = Loads(0.3)
assert [serve_stale.get(r, "k", loads) for _ in range(50)] == ["old"] * 50
for _ in range(500):
    if serve_stale.get(r, "k", loads) != "old":
        break
    time.sleep(0.01)
assert serve_stale.get(r, "k", loads) == "value of k" and loads.n == 1, loads.n
assert r.ttl["refresh:k"] == 5

# early_refresh: one load's time before the expiry about 37 % refresh
r, loads, early = redis.Redis(), Loads(), 0
for _ in range(1000):
    r.set("k", json.dumps({"value": "old", "expiry": time.time() + 60, "delta": 60}))
    early += early_refresh.get(r, "k", loads) != "old"
assert 300 < early < 440, early
r.set("k", json.dumps({"value": "old", "expiry": time.time() + 60, "delta": 0.001}))
assert early_refresh.get(r, "k", loads) == "old"
assert early_refresh.get(r, "k2", loads) == "value of k2" and r.ttl["k2"] == 100

# warm_up
r = redis.Redis()
r.set("there", "already")
warm_up.warm(r, ["a", "bad", "there", "b"], lambda key: key if key != "bad" else broken(key))
assert r.values == {"there": "already", "a": "a", "b": "b"} and 85 <= r.ttl["a"] <= 115, r.values

# negative_cache
r, asked = redis.Redis(), []
nothing = lambda key: asked.append(key)
assert [negative_cache.get(r, "none", nothing) for _ in range(5)] == [None] * 5
assert asked == ["none"] and 45 <= r.ttl["none"] <= 75
fails(lambda: negative_cache.get(r, "bad", broken), ValueError)
assert "bad" not in r.values
assert negative_cache.get(r, "k", Loads()) == "value of k" and 85 <= r.ttl["k"] <= 115

# backoff
attempts = []


def call(until):
    attempts.append(time.monotonic())
    if len(attempts) < until:
        raise TimeoutError
    return "done"


assert backoff.retry(lambda: call(3)) == "done" and len(attempts) == 3
attempts = []
fails(lambda: backoff.retry(lambda: call(99)), TimeoutError)
assert len(attempts) == 4
fails(lambda: backoff.retry(lambda: broken("k")), ValueError)

# run_once
r, runs = redis.Redis(), []
for i in range(3):
    run_once.once(r, "job", lambda: runs.append(i))
assert runs == [0] and r.ttl["claim:job"] == 54
r.down = True
run_once.once(r, "job", lambda: runs.append("down"))
assert runs == [0, "down"]
print("ok")
