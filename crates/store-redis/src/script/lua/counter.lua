-- Plain counters that other programs count as well: INCR, and an end that the first write sets. They are no states of ours:
-- a number in digits that goes at its end, which is all this script knows of them.
--
-- Each question is three arguments: what, units, and the window in milliseconds (of what is given back, the instant at
-- which the charged one ends). Each answer is the count and the milliseconds left, the count false where the value is no number.
local MOST = 9007199254740991
local time = redis.call('TIME')
local now = math.floor(time[1] * 1000 + time[2] / 1000)
local reply = { time[1], time[2] }
-- What went wrong and is no key's fault: it ends the call.
local failed

-- Returns whether an error is the key's own, whose value is no integer that Redis counts with.
local function is_foreign(answer)
  return string.find(answer.err, 'not an integer', 1, true) or string.find(answer.err, 'WRONGTYPE', 1, true)
end

-- Returns the count of a key and what is left of its window, which is a whole one where it has no end; nil where it is no
-- integer.
local function held(key, window)
  local raw = redis.pcall('GET', key)
  if not raw then
    return 0, -2
  end
  if type(raw) == 'table' then
    failed = not is_foreign(raw) and raw
    return nil, 0
  end
  if not (string.find(raw, '^%-?[1-9]%d*$') or raw == '0') or #raw > 20 then
    return nil, 0
  end
  local left = redis.call('PTTL', key)
  return tonumber(raw), left < 0 and window or left
end

-- Counts, as INCR and EXPIRE do. A key without an end is one whose other program stopped between the two: it gets one.
local function count(key, units, window)
  local number = redis.pcall('INCRBY', key, units)
  if type(number) == 'table' then
    if string.find(number.err, 'overflow', 1, true) then
      -- It stays where it is, and is above every limit.
      number = MOST
    else
      failed = not is_foreign(number) and number
      return nil, 0
    end
  end
  local left = redis.call('PTTL', key)
  if left < 0 then
    redis.call('PEXPIRE', key, window)
    left = window
  end
  return number, left
end

-- Takes units back out of the window they were charged to, and never below nothing.
local function give_back(key, units, ends)
  local number, left = held(key, 0)
  if number and number > 0 and left > 0 and math.abs(now + left + 1 - ends) <= 2 then
    redis.call('DECRBY', key, math.min(units, number))
  end
  return 0, 0
end

local function clamp(number)
  return number and math.max(-MOST, math.min(MOST, number))
end

for index, key in ipairs(KEYS) do
  local at = index * 3 - 2
  local what, units, span = ARGV[at], tonumber(ARGV[at + 1]), tonumber(ARGV[at + 2])
  local number, left
  if what == 'count' then
    number, left = count(key, units, span)
  elseif what == 'look' then
    number, left = held(key, span)
  elseif what == 'give' then
    number, left = give_back(key, units, span)
  else
    redis.call('DEL', key)
    number, left = 0, 0
  end
  if failed then
    return failed
  end
  reply[#reply + 1] = number and string.format('%.0f', clamp(number)) or false
  reply[#reply + 1] = left
end
return reply
