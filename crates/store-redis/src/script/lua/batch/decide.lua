-- Returns whether a cost of at least one is admitted, and the state that it leaves.
local function decide(q, st, cost, delay)
  local kind = q.kind
  if kind == TOKEN or kind == TOKEN_P then
    return decide_token(q, st, cost)
  elseif kind <= MONTH then
    return decide_window(q, st, cost)
  elseif kind == COUNTER then
    return decide_counter(q, st, cost)
  elseif kind == LOG then
    return decide_log(q, st, cost)
  elseif kind == LOCKOUT then
    return decide_lock(q, st, cost)
  end
  return decide_leaky(q, st, cost, delay)
end
slow.decide = decide

-- Returns the instant from which a state cannot be told from a fresh one, the last there is at most.
local function keep_until(q, st)
  local kind = q.kind
  if kind == TOKEN then
    return st.whole < q.limit and min(st.micros + (q.limit - st.whole) * q.q, LAST) or 0
  elseif kind <= MONTH then
    return st.count > 0 and min(st.ends, LAST) or 0
  end
  return min(slow.keep_until(q, st), LAST)
end
