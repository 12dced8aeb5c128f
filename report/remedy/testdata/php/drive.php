<?php

declare(strict_types=1);

require 'Redis.php';
foreach (glob(__DIR__ . '/*_*.php') as $file) {
    require $file;
}
require 'coalesce.php';
require 'lock.php';
require 'backoff.php';

function check(bool $what, mixed $seen = null): void
{
    if (!$what) {
        throw new LogicException('check failed: ' . json_encode($seen));
    }
}

function within(int $n, int $low, int $high): void
{
    check($n >= $low && $n <= $high, [$n, $low, $high]);
}

function fails(string $error, callable $call): void
{
    try {
        $call();
    } catch (Throwable $e) {
        check($e instanceof $error, (string) $e);
        return;
    }
    throw new LogicException("no $error");
}

/** Calls get in 20 processes at once and counts the loads. */
function twenty(callable $get): int
{
    $loads = tempnam(sys_get_temp_dir(), 'loads');
    $load = function (string $key) use ($loads): string {
        file_put_contents($loads, '.', FILE_APPEND);
        usleep(200_000);
        return "value of $key";
    };
    $children = [];
    for ($i = 0; $i < 20; $i++) {
        $pid = pcntl_fork();
        if ($pid === 0) {
            exit($get($load) === 'value of k' ? 0 : 1);
        }
        $children[] = $pid;
    }
    foreach ($children as $pid) {
        pcntl_waitpid($pid, $status);
        check(pcntl_wexitstatus($status) === 0, $status);
    }
    return filesize($loads);
}

$broken = fn (string $key) => throw new LogicException($key);

// ttl_jitter
$redis = new Redis();
$seen = [];
for ($i = 0; $i < 200; $i++) {
    ttl_jitter\put($redis, "k$i", 'v');
    within($redis->ttl("k$i"), 85, 115);
    $seen[$redis->ttl("k$i")] = true;
}
check(count($seen) > 15, $seen);

// coalesce
$redis = new Redis();
$n = twenty(fn (callable $load) => coalesce\get($redis, 'k', $load));
check($n === 1, $n);
within($redis->ttl('k'), 85, 115);
fails(LogicException::class, fn () => coalesce\get($redis, 'k2', $broken));
check(coalesce\get($redis, 'k2', fn () => 'v') === 'v');

// lock
$redis = new Redis();
$n = twenty(fn (callable $load) => lock\get($redis, 'k', $load));
check($n === 1, $n);
within($redis->ttl('k'), 85, 115);
check($redis->get('lock:k') === false);
$got = lock\get($redis, 'k2', function () use ($redis): string {
    check(strlen($redis->get('lock:k2')) === 32 && $redis->ttl('lock:k2') === 5);
    $redis->setex('lock:k2', 5, "another's");
    return 'v';
});
check($got === 'v' && $redis->get('lock:k2') === "another's");
fails(LogicException::class, fn () => lock\get($redis, 'k3', $broken));
check($redis->get('lock:k3') === false);

// early_refresh: one load's time before the expiry about 37 % refresh
$early = 0;
for ($i = 0; $i < 1000; $i++) {
    $redis->setex('e', 9, json_encode(['value' => 'old', 'expiry' => microtime(true) + 60, 'delta' => 60]));
    $early += early_refresh\get($redis, 'e', fn () => 'new') === 'new' ? 1 : 0;
}
within($early, 300, 440);
$redis->setex('e', 9, json_encode(['value' => 'old', 'expiry' => microtime(true) + 60, 'delta' => 0.001]));
check(early_refresh\get($redis, 'e', fn () => 'new') === 'old');
check(early_refresh\get($redis, 'e2', fn () => 'new') === 'new' && $redis->ttl('e2') === 100);

// warm_up
$redis = new Redis();
$redis->setex('there', 9, 'already');
warm_up\warm($redis, ['a', 'bad', 'there', 'b'], fn (string $key) => $key === 'bad' ? $broken($key) : $key);
check($redis->get('a') === 'a' && $redis->get('bad') === false && $redis->get('there') === 'already' && $redis->get('b') === 'b');
within($redis->ttl('a'), 85, 115);

// negative_cache
$asked = 0;
for ($i = 0; $i < 5; $i++) {
    check(negative_cache\get($redis, 'none', function () use (&$asked) {
        $asked++;
        return null;
    }) === null);
}
check($asked === 1, $asked);
within($redis->ttl('none'), 45, 75);
fails(LogicException::class, fn () => negative_cache\get($redis, 'bad', $broken));
check($redis->get('bad') === false);
check(negative_cache\get($redis, 'k', fn () => 'v') === 'v');
within($redis->ttl('k'), 85, 115);

// backoff
$n = 0;
$down = function (int $until) use (&$n): string {
    if (++$n < $until) {
        throw new RuntimeException('down');
    }
    return 'done';
};
check(backoff\retry(fn () => $down(3)) === 'done' && $n === 3, $n);
$n = 0;
fails(RuntimeException::class, fn () => backoff\retry(fn () => $down(99)));
check($n === 4, $n);
fails(LogicException::class, fn () => backoff\retry(fn () => $broken('k')));

// run_once
$runs = [];
for ($i = 0; $i < 3; $i++) {
    run_once\once($redis, 'job', function () use (&$runs, $i): void {
        $runs[] = $i;
    });
}
check($runs === [0] && $redis->ttl('claim:job') === 54, $runs);
$redis->down = true;
run_once\once($redis, 'job', function () use (&$runs): void {
    $runs[] = 'down';
});
check($runs === [0, 'down'], $runs);

// serve_stale: it refreshes when the request has ended
$redis = new Redis();
check(serve_stale\get($redis, 'k', fn () => 'v') === 'v');
within($redis->ttl('k'), 95, 125);
$redis->setex('k', 9, json_encode(['value' => 'old', 'fresh' => microtime(true) - 1]));
$n = 0;
for ($i = 0; $i < 50; $i++) {
    check(serve_stale\get($redis, 'k', function () use (&$n): string {
        $n++;
        return 'new';
    }) === 'old');
}
check($n === 0 && $redis->ttl('refresh:k') === 5, $n);
register_shutdown_function(function () use ($redis, &$n): void {
    check($n === 1 && json_decode($redis->get('k'), true)['value'] === 'new', $n);
    echo "ok\n";
});
