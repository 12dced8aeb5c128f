'use strict';
const assert = require('node:assert/strict');
const Redis = require('./redis.js');

const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const within = (n, low, high) => assert.ok(n >= low && n <= high, `${n} is not ${low} to ${high}`);

// Counts loads, each of which takes a while.
function counting(takes = 0) {
  const load = async (key) => {
    load.n++;
    await sleep(takes);
    return `value of ${key}`;
  };
  load.n = 0;
  return load;
}

const broken = async () => { throw new RangeError('broken'); };

async function fifty(get) {
  const got = await Promise.all(Array.from({ length: 50 }, get));
  assert.deepEqual(got, Array(50).fill('value of k'));
}

async function main() {
  { // ttl_jitter
    const put = require('./ttl_jitter.js'), redis = new Redis();
    for (let i = 0; i < 200; i++) await put(redis, `k${i}`, 'v');
    for (const ttl of redis.ttl.values()) within(ttl, 85, 115);
    assert.ok(new Set(redis.ttl.values()).size > 15);
  }
  { // coalesce: one load for 50 callers, and a failure is everybody's and not kept
    const get = require('./coalesce.js'), load = counting(50);
    await fifty(() => get('k', load));
    assert.equal(load.n, 1);
    await assert.rejects(get('k', broken), RangeError);
    await assert.rejects(get('k', () => { throw new RangeError('at once'); }), RangeError);
    assert.equal(await get('k', load), 'value of k');
  }
  { // lock
    const get = require('./lock.js'), redis = new Redis(), load = counting(200);
    await fifty(() => get(redis, 'k', load));
    assert.equal(load.n, 1);
    within(redis.ttl.get('k'), 85, 115);
    assert.equal(redis.ttl.get('lock:k'), 5);
    assert.ok(!redis.values.has('lock:k'));
    const overtaken = async () => {
      assert.equal(redis.values.get('lock:k2').length, 36);
      redis.values.set('lock:k2', "another's");
      return 'v';
    };
    assert.equal(await get(redis, 'k2', overtaken), 'v');
    assert.equal(redis.values.get('lock:k2'), "another's");
    await assert.rejects(get(redis, 'k3', broken), RangeError);
    assert.ok(!redis.values.has('lock:k3'));
  }
  { // serve_stale
    const get = require('./serve_stale.js'), redis = new Redis();
    assert.equal(await get(redis, 'k', counting()), 'value of k');
    within(redis.ttl.get('k'), 95, 125);
    redis.values.set('k', JSON.stringify({ value: 'old', fresh: Date.now() - 1 }));
    const load = counting(100);
    for (let i = 0; i < 50; i++) assert.equal(await get(redis, 'k', load), 'old');
    for (let i = 0; i < 500 && (await get(redis, 'k', load)) === 'old'; i++) await sleep(10);
    assert.equal(await get(redis, 'k', load), 'value of k');
    assert.equal(load.n, 1);
    assert.equal(redis.ttl.get('refresh:k'), 5);
  }
  { // early_refresh: one load's time before the expiry about 37 % refresh
    const get = require('./early_refresh.js'), redis = new Redis(), load = async () => 'new';
    const entry = (delta) => redis.values.set('k', JSON.stringify({ value: 'old', expiry: Date.now() + 60_000, delta }));
    let early = 0;
    for (let i = 0; i < 1000; i++) {
      entry(60_000);
      if ((await get(redis, 'k', load)) !== 'old') early++;
    }
    within(early, 300, 440);
    entry(1);
    assert.equal(await get(redis, 'k', load), 'old');
    assert.equal(await get(redis, 'k2', load), 'new');
    assert.equal(redis.ttl.get('k2'), 100);
  }
  { // warm_up
    const warm = require('./warm_up.js'), redis = new Redis();
    redis.values.set('there', 'already');
    await warm(redis, ['a', 'bad', 'there', 'b'], async (key) => (key === 'bad' ? broken() : key));
    assert.deepEqual([...redis.values], [['there', 'already'], ['a', 'a'], ['b', 'b']]);
    within(redis.ttl.get('a'), 85, 115);
  }
  { // negative_cache
    const get = require('./negative_cache.js'), redis = new Redis();
    let asked = 0;
    for (let i = 0; i < 5; i++) assert.equal(await get(redis, 'none', async () => { asked++; return null; }), null);
    assert.equal(asked, 1);
    within(redis.ttl.get('none'), 45, 75);
    await assert.rejects(get(redis, 'bad', broken), RangeError);
    assert.ok(!redis.values.has('bad'));
    assert.equal(await get(redis, 'k', counting()), 'value of k');
    within(redis.ttl.get('k'), 85, 115);
  }
  { // backoff
    const retry = require('./backoff.js');
    let n = 0;
    assert.equal(await retry(async () => (++n < 3 ? broken() : 'done')), 'done');
    assert.equal(n, 3);
    n = 0;
    await assert.rejects(retry(async () => { n++; return broken(); }), RangeError);
    assert.equal(n, 4);
  }
  { // run_once
    const once = require('./run_once.js'), redis = new Redis(), runs = [];
    for (let i = 0; i < 3; i++) await once(redis, 'job', async () => { runs.push(i); });
    assert.deepEqual(runs, [0]);
    assert.equal(redis.ttl.get('claim:job'), 54);
    for (const down of ['refused', 'silent']) {
      redis.down = down;
      await once(redis, 'job', async () => { runs.push(down); });
    }
    assert.deepEqual(runs, [0, 'refused', 'silent']);
  }
  console.log('ok');
}

main();
