-- Returns the end of the latest window that may hold `now`.
local function latest_end(q)
  local kind = q.kind
  if kind == CLOCK then
    return floor(now / q.window) * q.window + q.window
  elseif kind == HIT then
    return now + q.window
  end
  return batches.calendar_end(kind, now)
end
