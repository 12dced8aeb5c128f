'use strict';
// A Redis in memory, with the methods of ioredis that the snippets call.
const SCRIPT = `if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end return 0`;

module.exports = class Redis {
  values = new Map();
  ttl = new Map();
  down = '';

  async get(key) {
    return this.values.get(key) ?? null;
  }

  async set(key, value, mode, seconds, nx) {
    if (this.down === 'refused') throw new Error('ECONNREFUSED');
    if (this.down === 'silent') await new Promise(() => {});
    if (mode !== 'EX' || !Number.isInteger(seconds) || seconds <= 0) throw new Error(`${mode} ${seconds}`);
    if (nx !== undefined && nx !== 'NX') throw new Error(nx);
    if (nx && this.values.has(key)) return null;
    this.values.set(key, String(value));
    this.ttl.set(key, seconds);
    return 'OK';
  }

  async eval(script, count, key, token) {
    if (script !== SCRIPT || count !== 1) throw new Error(script);
    if (this.values.get(key) !== token) return 0;
    this.values.delete(key);
    return 1;
  }
};
