-- Returns what counts now, when it ceases to, and whether the state ends later than any window of now.
local function window_view(q, st)
  local latest = latest_end(q)
  if not st or st.ends <= now or st.count == 0 then
    return 0, latest, false, latest, 0
  end
  return st.count, min(st.ends, latest), st.ends > latest, latest, st.early
end

local function decide_window(q, st, cost)
  local count, ends, _, latest, early = window_view(q, st)
  if count + cost > q.limit then
    return false
  end
  return true, { ends = q.kind == HIT and ends or latest, count = count + cost, early = early }
end
