-- Returns the counts of this window and of the one before it, and how far into it now lies.
local function counter_view(q, st)
  local index = floor(now / q.window)
  local elapsed = now - index * q.window
  if not st then
    return 0, 0, elapsed, false
  end
  if st.at > now then
    return st.current, st.previous, elapsed, true
  end
  local passed = index - floor(st.at / q.window)
  if passed == 0 then
    return st.current, st.previous, elapsed, false
  elseif passed == 1 then
    return 0, st.current, elapsed, false
  end
  return 0, 0, elapsed, false
end

-- Returns the units that weigh, rounded down.
local function counter_used(q, current, previous, elapsed)
  if previous == 0 then
    return current
  end
  return current + (muldiv(q.window - elapsed, previous, q.window))
end

local function decide_counter(q, st, cost)
  local current, previous, elapsed = counter_view(q, st)
  if cost > q.limit - counter_used(q, current, previous, elapsed) then
    return false
  end
  return true, { at = now, current = current + cost, previous = previous }
end
