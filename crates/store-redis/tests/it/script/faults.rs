//! Faults put into the script, each of which a short run has to find: what finds none of these proves nothing.

use tidegate_redis_kit::Server;
use tidegate_store_redis::testing::differential;

use super::scripted;

/// Slips of the pen in places of every kind, each a text that stands in the script once and what is written instead.
const FAULTS: [(&str, &str); 31] = [
    // Single checks.
    (
        "if count + cost > q.limit then\n    return false\n  end\n  return q.kind",
        "if count + cost >= q.limit then\n    return false\n  end\n  return q.kind",
    ),
    (
        "if whole < cost then\n    return false\n  end\n  return mark",
        "if whole <= cost then\n    return false\n  end\n  return mark",
    ),
    ("if not ends or ends <= now then", "if not ends or ends < now then"),
    ("mark = mark + units * q.q", "mark = now"),
    ("if units < 0 then", "if units < -1 then"),
    (
        "cell.current, cell.dirty, cell.parsed = st and { q = q, st = st }, changed[index], true",
        "cell.current, cell.dirty, cell.parsed = st and { q = q, st = st }, false, true",
    ),
    // Fixed windows.
    (
        "if count + cost > q.limit then\n    return false\n  end\n  return true",
        "if count + cost >= q.limit then\n    return false\n  end\n  return true",
    ),
    ("return floor(now / q.window) * q.window + q.window", "return ceil(now / q.window) * q.window"),
    ("if not st or st.ends <= now or st.count == 0 then", "if not st or st.ends < now or st.count == 0 then"),
    ("ends = q.kind == HIT and ends or latest,", "ends = latest,"),
    // Buckets.
    (
        "if whole < cost then\n    return false\n  end\n  return true",
        "if whole <= cost then\n    return false\n  end\n  return true",
    ),
    ("if whole + cost > q.limit + 1 then", "if whole + cost > q.limit then"),
    ("if ahead * q.q - rest > delay then", "if ahead * q.q - rest >= delay then"),
    ("local back = ceil(rest / q.p)", "local back = floor(rest / q.p)"),
    (
        "return { whole = whole, micros = max(now - rest, 0), sub = 0 }",
        "return { whole = whole, micros = now, sub = 0 }",
    ),
    // Logs and counters.
    ("if at + q.window > now then", "if at + q.window >= now then"),
    ("if newest >= now then", "if newest > now then"),
    ("muldiv(q.window - elapsed, previous, q.window)", "muldiv(q.window - elapsed - 1, previous, q.window)"),
    ("elseif passed == 1 then", "elseif passed == 2 then"),
    ("sums[i], used, first = sum, used - sum, place + 1", "sums[i], used, first = sum, used, place + 1"),
    // Lockouts.
    ("if count == q.limit then", "if count > q.limit then"),
    ("return st.locked > 0 and st.locked or st.ends", "return st.ends"),
    // Wide products.
    ("local sum = rest * 64 + part * digits[i]", "local sum = rest * 64 + part * digits[i] + 1"),
    ("if product < 9007199254740992 then", "if product < 9007199254740992 * 4096 then"),
    // The calendar.
    ("(day + 3) % 7", "(day + 4) % 7"),
    ("floor((month * 153 + 2) / 5)", "floor((month * 153 + 1) / 5)"),
    // Refunds.
    ("if charge.units <= flowed then", "if charge.units < flowed then"),
    // Plans.
    ("(remaining(q, left)) <= (remaining(q, carried))", "(remaining(q, left)) < (remaining(q, carried))"),
    ("local shift = max(from.window - to.window, 0)", "local shift = 0"),
    // Batches.
    ("admitted = admitted and (passes or check.shadow)", "admitted = admitted and passes"),
    ("if admitted and not peek then", "if admitted then"),
];

/// A differential that lets a fault pass.
#[test]
fn every_fault_in_the_script_is_found() {
    let server = Server::start(&[]);
    let missed: Vec<&str> = FAULTS
        .iter()
        .filter(|fault| differential(&scripted(&server, &[**fault]), 1, 100_000).is_ok())
        .map(|(from, _)| *from)
        .collect();
    assert!(missed.is_empty(), "nobody noticed the fault in {missed:#?}");
}
