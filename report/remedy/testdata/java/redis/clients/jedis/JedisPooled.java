package redis.clients.jedis;

import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import redis.clients.jedis.exceptions.JedisException;
import redis.clients.jedis.params.SetParams;

/** A Redis in memory, with the methods of Jedis that the snippets call. */
public class JedisPooled {
    static final String SCRIPT = "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end return 0";

    public final Map<String, String> values = new ConcurrentHashMap<>();
    public final Map<String, Long> ttl = new ConcurrentHashMap<>();
    public volatile boolean down;

    public String get(String key) {
        return values.get(key);
    }

    public synchronized String setex(String key, long seconds, String value) {
        return set(key, value, SetParams.setParams().ex(seconds));
    }

    public synchronized String set(String key, String value, SetParams params) {
        if (down) {
            throw new JedisException("down");
        }
        if (params.ex <= 0) {
            throw new AssertionError("ttl " + params.ex);
        }
        if (params.nx && values.containsKey(key)) {
            return null;
        }
        values.put(key, value);
        ttl.put(key, params.ex);
        return "OK";
    }

    public synchronized Object eval(String script, List<String> keys, List<String> args) {
        if (!script.equals(SCRIPT)) {
            throw new AssertionError(script);
        }
        return values.remove(keys.get(0), args.get(0)) ? 1L : 0L;
    }
}
