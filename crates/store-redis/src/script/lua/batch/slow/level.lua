  slow.flow = function(q, st, passed)
    if passed < 0 or (passed == 0 and st.sub > 0) then
      return nil
    end
    local units, rest = muldiv(passed, q.p, q.q)
    rest = rest - st.sub
    if rest < 0 then
      local back = ceil(-rest / q.q)
      units, rest = units - back, rest + back * q.q
    end
    return units, rest
  end

  -- Returns the first whole microsecond at which `units` have flowed since a level's mark.
  local function level_after(q, st, units)
    local micros, rest = muldiv(q.q, units, q.p)
    return st.micros + micros + ceil((st.sub + rest) / q.p)
  end

  -- Returns whether two queues end at the same instant.
  local function same_tail(q, one, other)
    if one.whole > other.whole then
      one, other = other, one
    end
    local micros, rest = muldiv(q.q, other.whole - one.whole, q.p)
    local over = one.sub - other.sub - rest
    local apart = one.micros - other.micros
    return (over == 0 and apart == micros) or (over == -q.p and apart - 1 == micros)
  end
