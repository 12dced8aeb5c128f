# A Redis in memory, with the methods of redis-rb that the snippets call.
class Redis
  class BaseError < StandardError; end

  attr_reader :values, :ttl
  attr_accessor :down

  SCRIPT = 'if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("del", KEYS[1]) end return 0'

  def initialize
    @values, @ttl, @guard, @down = {}, {}, Mutex.new, false
  end

  def get(key)
    @guard.synchronize { @values[key] }
  end

  def set(key, value, ex: nil, nx: false)
    raise BaseError, "down" if @down
    raise "ttl #{ex}" unless ex.nil? || ex.is_a?(Integer) && ex.positive?
    @guard.synchronize do
      next false if nx && @values.key?(key)
      @values[key], @ttl[key] = value.to_s, ex
      nx ? true : "OK"
    end
  end

  def eval(script, keys:, argv:)
    raise script unless script == SCRIPT
    @guard.synchronize { @values.delete(keys[0]) if @values[keys[0]] == argv[0] }
  end
end
