-- Returns the work ahead, `whole` - `rest`/q units, and whether the state is dated after now.
local function backlog(q, st)
  if not st then
    return 0, 0, false
  end
  local units, rest = flow(q, st)
  if not units then
    return st.whole, 0, true
  end
  if units >= st.whole then
    return 0, 0, false
  end
  return st.whole - units, rest, false
end

-- A cost waits behind what is ahead and its own units but the last; `delay` is nil for a caller who bears any.
local function decide_leaky(q, st, cost, delay)
  local whole, rest = backlog(q, st)
  if whole + cost > q.limit + 1 then
    return false
  end
  if delay then
    local ahead = whole + cost - 1
    if q.p == 1 then
      -- Past 2^53 the product is rounded, and larger than any delay all the same.
      if ahead * q.q - rest > delay then
        return false
      end
    else
      local micros, over = muldiv(q.q, ahead, q.p)
      if micros + ceil((over - rest) / q.p) > delay then
        return false
      end
    end
  end
  return true, level_at(q, whole + cost, rest)
end
