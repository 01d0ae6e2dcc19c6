-- Returns the credit of a bucket: whole units, the rest, and whether the state is dated after now.
local function credit(q, st)
  if not st then
    return q.limit, 0, false
  end
  local units, rest = flow(q, st)
  if not units then
    return min(st.whole, q.limit), 0, true
  end
  local whole = st.whole + units
  if whole >= q.limit then
    return q.limit, 0, false
  end
  return whole, rest, false
end

local function decide_token(q, st, cost)
  local whole, rest = credit(q, st)
  if whole < cost then
    return false
  end
  return true, level_at(q, whole - cost, rest)
end
