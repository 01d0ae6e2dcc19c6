-- Returns the whole units that a rate brought since a level's mark and the rest in 1/q of one; nil when the mark lies
-- after now.
local function flow(q, st)
  local passed = now - st.micros
  if q.p == 1 then
    if passed < 0 then
      return nil
    end
    local units = floor(passed / q.q)
    return units, passed - units * q.q
  end
  return slow.flow(q, st, passed)
end

-- Returns the level `whole` whose last whole unit was full `rest`/q of a unit ago.
local function level_at(q, whole, rest)
  if q.p == 1 then
    return { whole = whole, micros = max(now - rest, 0), sub = 0 }
  end
  local back = ceil(rest / q.p)
  return { whole = whole, micros = max(now - back, 0), sub = back * q.p - rest }
end
