require "json"
require_relative "redis"

# Each snippet lives in a module of its own.
def snippet(name)
  Module.new.tap { |m| m.module_eval(File.read(File.join(__dir__, "#{name}.rb")), name) }.then do |m|
    Object.new.extend(m)
  end
end

def check(what, seen = nil)
  raise "#{seen.inspect} at #{caller_locations(1, 1)[0].lineno}" unless what
end

def fails(error)
  yield
rescue error
  nil
else
  raise "no #{error} at #{caller_locations(1, 1)[0].lineno}"
end

class Loads
  attr_reader :n

  def initialize(takes = 0)
    @n, @takes = 0, takes
  end

  def to_proc
    lambda do |key|
      @n += 1
      sleep(@takes) if @takes.positive?
      "value of #{key}"
    end
  end
end

def fifty
  got = Array.new(50) { Thread.new { yield } }.map(&:value)
  check(got == ["value of k"] * 50, got)
end

# ttl_jitter
redis = Redis.new
s = snippet("ttl_jitter")
200.times { |i| s.put(redis, "k#{i}", "v") }
check(redis.ttl.values.all? { |t| t.between?(85, 115) } && redis.ttl.values.uniq.size > 15, redis.ttl)

# coalesce: one load for 50 callers, and a failure is everybody's and not kept
s, loads = snippet("coalesce"), Loads.new(0.3)
fifty { s.get("k", &loads) }
check(loads.n == 1, loads.n)
fails(IndexError) { s.get("k") { raise IndexError } }
check(s.get("k", &loads) == "value of k")

# lock
s, redis, loads = snippet("lock"), Redis.new, Loads.new(0.2)
fifty { s.get(redis, "k", &loads) }
check(loads.n == 1 && redis.ttl["k"].between?(85, 115) && redis.ttl["lock:k"] == 5, [loads.n, redis.ttl])
check(!redis.values.key?("lock:k"))
got = s.get(redis, "k2") do
  check(redis.values["lock:k2"].size == 32)
  redis.values["lock:k2"] = "another's"
  "v"
end
check(got == "v" && redis.values["lock:k2"] == "another's", redis.values)
fails(IndexError) { s.get(redis, "k3") { raise IndexError } }
check(!redis.values.key?("lock:k3"))

# serve_stale
s, redis, loads = snippet("serve_stale"), Redis.new, Loads.new
check(s.get(redis, "k", &loads) == "value of k" && redis.ttl["k"].between?(95, 125), redis.ttl)
redis.set("k", JSON.generate(value: "old", fresh: Time.now.to_f - 1))
loads = Loads.new(0.3)
check(Array.new(50) { s.get(redis, "k", &loads) } == ["old"] * 50)
500.times { s.get(redis, "k", &loads) == "old" ? sleep(0.01) : break }
check(s.get(redis, "k", &loads) == "value of k" && loads.n == 1 && redis.ttl["refresh:k"] == 5, loads.n)

# early_refresh: one load's time before the expiry about 37 % refresh
s, redis, loads = snippet("early_refresh"), Redis.new, Loads.new
early = Array.new(1000) do
  redis.set("k", JSON.generate(value: "old", expiry: Time.now.to_f + 60, delta: 60))
  s.get(redis, "k", &loads)
end.count { |v| v != "old" }
check(early.between?(300, 440), early)
redis.set("k", JSON.generate(value: "old", expiry: Time.now.to_f + 60, delta: 0.001))
check(s.get(redis, "k", &loads) == "old")
check(s.get(redis, "k2", &loads) == "value of k2" && redis.ttl["k2"] == 100)

# warm_up
s, redis = snippet("warm_up"), Redis.new
redis.set("there", "already")
s.warm(redis, %w[a bad there b]) { |key| key == "bad" ? raise("no") : key }
check(redis.values == { "there" => "already", "a" => "a", "b" => "b" } && redis.ttl["a"].between?(85, 115), redis.values)

# negative_cache
s, redis, asked = snippet("negative_cache"), Redis.new, 0
check(Array.new(5) { s.get(redis, "none") { asked += 1; nil } } == [nil] * 5)
check(asked == 1 && redis.ttl["none"].between?(45, 75), asked)
fails(IndexError) { s.get(redis, "bad") { raise IndexError } }
check(!redis.values.key?("bad"))
check(s.get(redis, "k", &Loads.new) == "value of k" && redis.ttl["k"].between?(85, 115))

# backoff
s, n = snippet("backoff"), 0
check(s.retrying { (n += 1) < 3 ? raise(Errno::ECONNREFUSED) : "done" } == "done" && n == 3, n)
n = 0
fails(Errno::ECONNREFUSED) { s.retrying { n += 1; raise Errno::ECONNREFUSED } }
check(n == 4, n)
fails(IndexError) { s.retrying { raise IndexError } }

# run_once
s, redis, runs = snippet("run_once"), Redis.new, []
3.times { |i| s.once(redis, "job") { runs << i } }
check(runs == [0] && redis.ttl["claim:job"] == 54, runs)
redis.down = true
s.once(redis, "job") { runs << "down" }
check(runs == [0, "down"], runs)
puts "ok"
