"""A Redis in memory, with the methods of redis-py that the snippets call."""
import threading


class RedisError(Exception):
    pass


class Redis:
    def __init__(self):
        self.values, self.ttl, self.guard, self.down = {}, {}, threading.Lock(), False

    def get(self, name):
        with self.guard:
            return self.values.get(name)

    def set(self, name, value, ex=None, nx=False):
        assert ex is None or isinstance(ex, int) and ex > 0, ex
        if self.down:
            raise RedisError("down")
        with self.guard:
            if nx and name in self.values:
                return None
            self.values[name], self.ttl[name] = value if isinstance(value, (str, bytes)) else str(value), ex
            return True

    def eval(self, script, numkeys, key, token):
        want = 'if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("del", KEYS[1]) end return 0'
        assert script == want and numkeys == 1, script
        with self.guard:
            if self.values.get(key) != token:
                return 0
            del self.values[key]
            return 1
