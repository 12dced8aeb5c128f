package redis.clients.jedis.params;

/** The options of SET that the snippets use. */
public class SetParams {
    public boolean nx;
    public long ex;

    public static SetParams setParams() {
        return new SetParams();
    }

    public SetParams nx() {
        nx = true;
        return this;
    }

    public SetParams ex(long seconds) {
        ex = seconds;
        return this;
    }
}
