<?php

declare(strict_types=1);

class RedisException extends RuntimeException
{
}

/** A Redis in files, so that processes share it, with the methods of phpredis that the snippets call. */
class Redis
{
    private const SCRIPT = 'if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("del", KEYS[1]) end return 0';

    public bool $down = false;
    private string $dir;

    public function __construct()
    {
        $this->dir = sys_get_temp_dir() . '/redis-' . bin2hex(random_bytes(8));
        mkdir($this->dir);
    }

    private function file(string $key): string
    {
        return $this->dir . '/' . bin2hex($key);
    }

    public function get(string $key): string|false
    {
        return file_exists($this->file($key)) ? unserialize(file_get_contents($this->file($key)))[0] : false;
    }

    public function ttl(string $key): int
    {
        return unserialize(file_get_contents($this->file($key)))[1];
    }

    public function setex(string $key, int $ttl, string $value): bool
    {
        return $this->set($key, $value, ['ex' => $ttl]);
    }

    public function set(string $key, mixed $value, array $options = []): bool
    {
        if ($this->down) {
            throw new RedisException('down');
        }
        if (array_diff(array_keys($options), ['ex']) !== (in_array('nx', $options, true) ? [0] : []) || $options['ex'] <= 0) {
            throw new LogicException(json_encode($options));
        }
        $written = tempnam($this->dir, 'new');
        file_put_contents($written, serialize([(string) $value, $options['ex']]));
        if (!in_array('nx', $options, true)) {
            return rename($written, $this->file($key));
        }
        $ok = @link($written, $this->file($key));
        unlink($written);
        return $ok;
    }

    public function eval(string $script, array $args, int $keys): int
    {
        if ($script !== self::SCRIPT || $keys !== 1) {
            throw new LogicException($script);
        }
        return $this->get($args[0]) === $args[1] && unlink($this->file($args[0])) ? 1 : 0;
    }
}
