package redis.clients.jedis.exceptions;

/** What Jedis throws when Redis does not answer. */
public class JedisException extends RuntimeException {
    private static final long serialVersionUID = 1;

    public JedisException(String message) {
        super(message);
    }
}
