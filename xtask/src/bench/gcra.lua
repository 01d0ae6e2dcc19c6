-- The generic cell rate algorithm as one writes it by hand, to measure against: one key, one decision a call. The state is
-- the theoretical arrival time in whole microseconds, as a decimal integer.
--
-- KEYS[1]  the key
-- ARGV[1]  microseconds until a unit is back
-- ARGV[2]  units at once
-- ARGV[3]  units asked for
local clock = redis.call('TIME')
local now = clock[1] * 1000000 + clock[2]
local per, most, cost = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local arrival = tonumber(redis.call('GET', KEYS[1]) or now)
if arrival < now then
  arrival = now
end
local next_arrival = arrival + per * cost
local wait = next_arrival - per * most - now
if wait > 0 then
  return { 0, wait }
end
redis.call('SET', KEYS[1], next_arrival, 'PX', math.ceil((next_arrival - now) / 1000))
return { 1, 0 }
