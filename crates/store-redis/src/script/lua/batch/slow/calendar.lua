  local DAY_MICROS, CYCLE_TO_EPOCH, MARCH_2100 = 86400000000, 671, 47541

  -- Returns the first day of a month that is counted from March in a year counted from 1968, as if 2100 had a leap day.
  local function month_begins(year, month)
    return floor(year * 1461 / 4) + floor((month * 153 + 2) / 5)
  end

  local function next_month(day)
    day = day + CYCLE_TO_EPOCH + (day >= MARCH_2100 and 1 or 0)
    local year = floor((day * 4 + 3) / 1461)
    local month = floor(((day - floor(year * 1461 / 4)) * 5 + 2) / 153)
    local begins = month == 11 and month_begins(year + 1, 0) or month_begins(year, month + 1)
    return begins - CYCLE_TO_EPOCH - (begins > MARCH_2100 + CYCLE_TO_EPOCH and 1 or 0)
  end

  -- Returns the end of the day, week or month that holds an instant.
  slow.calendar_end = function(kind, micros)
    local day = floor(micros / DAY_MICROS)
    if kind == DAY then
      return (day + 1) * DAY_MICROS
    elseif kind == WEEK then
      return (day + 7 - (day + 3) % 7) * DAY_MICROS
    end
    return next_month(day) * DAY_MICROS
  end
