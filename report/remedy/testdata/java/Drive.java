import java.io.IOException;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Function;
import redis.clients.jedis.JedisPooled;

/** Tries each snippet on a Redis in memory. */
class Drive {
    static void check(boolean what, Object seen) {
        if (!what) {
            throw new AssertionError(seen);
        }
    }

    static void within(long n, long low, long high) {
        check(n >= low && n <= high, n + " is not " + low + " to " + high);
    }

    static void fails(Class<?> error, Callable<?> call) {
        try {
            call.call();
        } catch (Exception e) {
            check(error.isInstance(e), e);
            return;
        }
        throw new AssertionError("no " + error);
    }

    /** Counts loads, each of which takes a while. */
    static Function<String, String> counting(AtomicInteger n, long takes) {
        return key -> {
            n.incrementAndGet();
            pause(takes);
            return "value of " + key;
        };
    }

    static void pause(long millis) {
        try {
            Thread.sleep(millis);
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    static final Function<String, String> BROKEN = key -> {
        throw new IllegalStateException(key);
    };

    static void fifty(ExecutorService pool, Callable<String> get) throws Exception {
        var got = new ArrayList<Future<String>>();
        for (int i = 0; i < 50; i++) {
            got.add(pool.submit(get));
        }
        for (var f : got) {
            check(f.get().equals("value of k"), f.get());
        }
    }

    public static void main(String[] args) throws Exception {
        var pool = Executors.newCachedThreadPool();
        ttlJitter();
        coalesce(pool);
        lock(pool);
        serveStale(pool);
        earlyRefresh();
        warmUp();
        negativeCache();
        backoff();
        runOnce();
        pool.shutdown();
        System.out.println("ok");
    }

    static void ttlJitter() {
        var redis = new JedisPooled();
        for (int i = 0; i < 200; i++) {
            TtlJitter.put(redis, "k" + i, "v");
        }
        redis.ttl.values().forEach(ttl -> within(ttl, 85, 115));
        check(new HashSet<>(redis.ttl.values()).size() > 15, redis.ttl);
    }

    static void coalesce(ExecutorService pool) throws Exception {
        var n = new AtomicInteger();
        fifty(pool, () -> Coalesce.get("k", counting(n, 300), pool));
        check(n.get() == 1, n);
        fails(CompletionException.class, () -> Coalesce.get("k", BROKEN, pool));
        check(Coalesce.get("k", counting(n, 0), pool).equals("value of k") && Coalesce.flights.isEmpty(), Coalesce.flights);
    }

    static void lock(ExecutorService pool) throws Exception {
        var redis = new JedisPooled();
        var n = new AtomicInteger();
        fifty(pool, () -> Lock.get(redis, "k", counting(n, 200)));
        check(n.get() == 1 && redis.ttl.get("lock:k") == 5 && !redis.values.containsKey("lock:k"), redis.values);
        within(redis.ttl.get("k"), 85, 115);
        var got = Lock.get(redis, "k2", key -> {
            check(redis.values.get("lock:k2").length() == 36, redis.values);
            redis.values.put("lock:k2", "another's");
            return "v";
        });
        check(got.equals("v") && redis.values.get("lock:k2").equals("another's"), redis.values);
        fails(IllegalStateException.class, () -> Lock.get(redis, "k3", BROKEN));
        check(!redis.values.containsKey("lock:k3"), redis.values);
    }

    static void serveStale(ExecutorService pool) {
        var redis = new JedisPooled();
        var n = new AtomicInteger();
        check(ServeStale.get(redis, "k", counting(n, 0), pool).equals("value of k"), redis.values);
        within(redis.ttl.get("k"), 95, 125);
        redis.values.put("k", (System.currentTimeMillis() - 1) + " old value");
        n.set(0);
        var load = counting(n, 300);
        for (int i = 0; i < 50; i++) {
            check(ServeStale.get(redis, "k", load, pool).equals("old value"), i);
        }
        for (int i = 0; i < 500 && ServeStale.get(redis, "k", load, pool).equals("old value"); i++) {
            pause(10);
        }
        check(ServeStale.get(redis, "k", load, pool).equals("value of k") && n.get() == 1 && redis.ttl.get("refresh:k") == 5, n);
    }

    static void earlyRefresh() {
        var redis = new JedisPooled();
        int early = 0;
        for (int i = 0; i < 1000; i++) { // one load's time before the expiry about 37 % refresh
            redis.values.put("k", (System.currentTimeMillis() + 60_000) + " 60000 an old value");
            var got = EarlyRefresh.get(redis, "k", key -> "new");
            early += got.equals("new") ? 1 : 0;
            check(got.equals("new") || got.equals("an old value"), got);
        }
        within(early, 300, 440);
        redis.values.put("k", (System.currentTimeMillis() + 60_000) + " 1 old");
        check(EarlyRefresh.get(redis, "k", key -> "new").equals("old"), redis.values);
        check(EarlyRefresh.get(redis, "k2", key -> "new").equals("new") && redis.ttl.get("k2") == 100, redis.ttl);
    }

    static void warmUp() throws Exception {
        var redis = new JedisPooled();
        redis.values.put("there", "already");
        WarmUp.warm(redis, List.of("a", "bad", "there", "b"), key -> key.equals("bad") ? BROKEN.apply(key) : key);
        check(redis.values.equals(Map.of("there", "already", "a", "a", "b", "b")), redis.values);
        within(redis.ttl.get("a"), 85, 115);
    }

    static void negativeCache() {
        var redis = new JedisPooled();
        var asked = new AtomicInteger();
        for (int i = 0; i < 5; i++) {
            var got = NegativeCache.get(redis, "none", key -> {
                asked.incrementAndGet();
                return Optional.empty();
            });
            check(got.isEmpty(), got);
        }
        check(asked.get() == 1, asked);
        within(redis.ttl.get("none"), 45, 75);
        fails(IllegalStateException.class, () -> NegativeCache.get(redis, "bad", key -> Optional.of(BROKEN.apply(key))));
        check(!redis.values.containsKey("bad"), redis.values);
        check(NegativeCache.get(redis, "k", key -> Optional.of("v")).equals(Optional.of("v")), redis.values);
        within(redis.ttl.get("k"), 85, 115);
    }

    static void backoff() throws Exception {
        var n = new AtomicInteger();
        var got = Backoff.retry(() -> {
            if (n.incrementAndGet() < 3) {
                throw new IOException("down");
            }
            return "done";
        });
        check(got.equals("done") && n.get() == 3, n);
        n.set(0);
        fails(IOException.class, () -> Backoff.retry(() -> {
            n.incrementAndGet();
            throw new IOException("down");
        }));
        check(n.get() == 4, n);
        fails(IllegalStateException.class, () -> Backoff.retry(() -> BROKEN.apply("k")));
    }

    static void runOnce() {
        var redis = new JedisPooled();
        var runs = new ArrayList<String>();
        for (int i = 0; i < 3; i++) {
            var host = "host" + i;
            RunOnce.once(redis, "job", host, () -> runs.add(host));
        }
        check(runs.equals(List.of("host0")) && redis.ttl.get("claim:job") == 54, runs);
        redis.down = true;
        RunOnce.once(redis, "job", "host9", () -> runs.add("down"));
        check(runs.equals(List.of("host0", "down")), runs);
    }
}
