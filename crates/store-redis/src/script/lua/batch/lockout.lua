-- Returns when all is forgotten if nothing else happens.
local function free_at(st)
  return st.locked > 0 and st.locked or st.ends
end

-- Returns what counts now, and whether the state ends after any that begins now.
local function lock_view(q, st)
  local latest_end, latest_lock = now + q.window, now + q.lock
  if not st or st.count == 0 or free_at(st) <= now then
    return { ends = latest_end, count = 0, early = 0, locked = 0 }, false
  end
  local redated = st.ends > latest_end or st.locked > latest_lock
  return {
    ends = min(st.ends, latest_end),
    count = st.count,
    early = st.early,
    locked = min(st.locked, latest_lock),
  }, redated
end

local function decide_lock(q, st, cost)
  local lock = lock_view(q, st)
  local count = lock.count + cost
  if lock.locked > 0 or count > q.limit then
    return false
  end
  lock.count = count
  if count == q.limit then
    lock.locked = now + q.lock
  end
  return true, lock
end
