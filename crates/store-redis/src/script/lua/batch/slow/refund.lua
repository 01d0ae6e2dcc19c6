  -- Takes a charge out of the first-hit window that holds it; nil where it cannot be told to.
  local function give_back(held, hit, window)
    local count = held.count - hit.units
    if count < 0 then
      return nil
    end
    local set_at = max(held.ends - window, 0)
    local put_off = { ends = now + window, count = count, early = count }
    if held.early == 0 then
      if hit.closes ~= held.ends then
        return nil
      end
      return hit.opened and put_off or { ends = held.ends, count = count, early = 0 }
    end
    if hit.closes > held.ends or hit.closes <= set_at then
      return nil
    end
    local early = hit.closes < held.ends or hit.charged_at <= set_at
    if not early then
      return { ends = held.ends, count = count, early = min(held.early, count) }
    end
    local rest = max(held.early - hit.units, 0)
    if rest == 0 then
      return put_off
    end
    return { ends = held.ends, count = count, early = min(rest, count) }
  end

  local function refund_window(q, st, charge)
    if st.ends <= now then
      return nil
    elseif q.kind == HIT then
      return charge.place == 'hit' and give_back(st, charge, q.window) or nil
    elseif charge.place ~= 'clock' or charge.closes ~= st.ends or st.count < charge.units then
      return nil
    end
    return { ends = st.ends, count = st.count - charge.units, early = 0 }
  end

  local function refund_counter(q, st, charge)
    if st.at > now then
      return nil
    end
    local held, last = floor(charge.charged_at / q.window), floor(st.at / q.window)
    if held == last and st.current >= charge.units then
      return { at = st.at, current = st.current - charge.units, previous = st.previous }
    elseif held + 1 == last and st.previous >= charge.units then
      return { at = st.at, current = st.current, previous = st.previous - charge.units }
    end
    return nil
  end

  local function refund_token(q, st, charge)
    local flowed, part = muldiv(max(now - charge.charged_at, 0), q.p, q.q)
    if charge.units <= flowed then
      return nil
    end
    local whole, rest = credit(q, st)
    whole, rest = whole + charge.units - flowed, rest - part
    if rest < 0 then
      whole, rest = whole - 1, rest + q.q
    end
    if whole >= q.limit then
      whole, rest = q.limit, 0
    end
    return level_at(q, whole, rest)
  end

  local function refund_leaky(q, st, charge)
    if charge.place ~= 'tail' or not same_tail(q, charge.tail, st) then
      return nil
    end
    local whole, rest, redated = backlog(q, st)
    if redated then
      return nil
    end
    whole = max(whole - charge.units, 0)
    return whole == 0 and { whole = 0, micros = now, sub = 0 } or level_at(q, whole, rest)
  end

  local function refund_lock(q, st, charge)
    local holds = free_at(st) > now
    local before = st.early > 0 and charge.charged_at + q.window + q.lock <= st.ends
    if charge.place ~= 'attempt' or not holds or before then
      return nil
    end
    local window = give_back(st, charge, q.window)
    if not window then
      return nil
    elseif window.ends > now then
      return { ends = window.ends, count = window.count, early = window.early, locked = 0 }
    end
    return { ends = window.ends, count = 0, early = 0, locked = 0 }
  end

  -- Returns the state without a charge; nil where nothing is given back.
  slow.refund = function(q, st, charge)
    local kind = q.kind
    if kind <= MONTH then
      return refund_window(q, st, charge)
    elseif kind == LOG then
      return slow.log_take(st, charge.charged_at, charge.units)
    elseif kind == COUNTER then
      return refund_counter(q, st, charge)
    elseif kind <= TOKEN_P then
      return refund_token(q, st, charge)
    elseif kind <= LEAKY_P then
      return refund_leaky(q, st, charge)
    end
    return refund_lock(q, st, charge)
  end
