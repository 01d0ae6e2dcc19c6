-- A log is what is stored (`text`, entries of eleven bytes from `base` on, `n` of them) and behind it the entries of this
-- call (`m` of the shared arrays `at` and `units`); `total` counts all.
local ENTRY = 11

local function log_entry(log, i)
  if i < log.n then
    return unpack('>I7I4', log.text, log.base + i * ENTRY)
  end
  return log.at[i - log.n + 1], log.units[i - log.n + 1]
end

-- Marks an entry that the program has to see by itself, or whose sum it needs; those of this call it knows.
local function log_touch(log, i)
  if i >= 0 and i < log.n then
    log.seen[i + (log.base - log.seen.base) / ENTRY] = true
  end
end

-- Returns the entries that have left and the units that have not, and whether the newest is dated after now.
local function log_view(q, log)
  local count = log.n + log.m
  local gone, used = 0, log.total
  while gone < count do
    local at, units = log_entry(log, gone)
    if at + q.window > now then
      break
    end
    gone, used = gone + 1, used - units
  end
  return gone, used, count > 0 and log_entry(log, count - 1) > now
end

-- Touches the entry with which the wait for `over` units ends.
local function log_touch_wait(log, gone, over)
  for i = gone, log.n + log.m - 1 do
    local _, units = log_entry(log, i)
    over = over - units
    if over <= 0 then
      return log_touch(log, i)
    end
  end
end

-- Touches what the numbers of an untouched log are made of; returns what `log_view` does.
local function log_look(q, log)
  local gone, used, redated = log_view(q, log)
  log_touch(log, gone)
  log_touch(log, log.n + log.m - 1)
  log_touch_wait(log, gone, used + 1 - q.limit)
  return gone, used, redated
end

-- Returns the log with units of now behind it.
local function log_push(log, units)
  local count = log.n + log.m
  local pushed = {
    text = log.text, base = log.base, n = log.n, m = log.m + 1, at = log.at, units = log.units,
    total = log.total + units, seen = log.seen,
  }
  if count > 0 then
    local newest, held = log_entry(log, count - 1)
    if newest >= now then
      -- Whoever is undone still reads the shared arrays.
      return slow.log_merge(log, pushed, newest, held + units)
    end
  end
  pushed.at[pushed.m], pushed.units[pushed.m] = now, units
  return pushed
end

local function decide_log(q, log, cost)
  local gone, used, redated = 0, 0, false
  if log then
    gone, used, redated = log_look(q, log)
  end
  if used + cost > q.limit then
    if log then
      log_touch_wait(log, gone, used + cost - q.limit)
    end
    return false
  end
  if redated then
    log.seen.whole = true
    log = slow.log_redate(log)
  end
  log = log or { text = '', base = 1, n = 0, m = 0, at = {}, units = {}, total = 0, seen = { base = 1 } }
  return true, log_push(gone > 0 and slow.log_forget(log, gone) or log, cost)
end
