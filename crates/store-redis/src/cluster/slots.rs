//! Which node has which slot, as the cluster tells it.

use redis::Value;

/// A node's host and port.
pub(crate) type Node = (String, u16);

/// The primaries of a cluster with their slots.
#[derive(Debug, Clone, Default)]
pub(crate) struct Slots {
    /// Ranges, both ends within, in ascending order.
    ranges: Vec<(u16, u16, Node)>,
}

impl Slots {
    /// Reads what `CLUSTER SLOTS` answers; a node that does not know its own host is at `asked`. `None` for no such answer.
    pub(crate) fn read(reply: &Value, asked: &str) -> Option<Self> {
        let Value::Array(entries) = reply else { return None };
        let mut ranges = Vec::with_capacity(entries.len());
        for entry in entries {
            let Value::Array(parts) = entry else { return None };
            let [Value::Int(first), Value::Int(last), Value::Array(primary), ..] = parts.as_slice() else {
                return None;
            };
            let [host, Value::Int(port), ..] = primary.as_slice() else { return None };
            let host = match host {
                Value::BulkString(host) if !host.is_empty() && host != b"?" => {
                    String::from_utf8(host.clone()).ok()?
                }
                Value::SimpleString(host) if !host.is_empty() && host != "?" => host.clone(),
                _ => asked.to_owned(),
            };
            let number = |number: i64| u16::try_from(number).ok();
            ranges.push((number(*first)?, number(*last)?, (host, number(*port)?)));
        }
        ranges.sort_unstable();
        Some(Self { ranges })
    }

    /// Returns the primary that has a slot.
    pub(crate) fn node(&self, slot: u16) -> Option<&Node> {
        let next = self.ranges.partition_point(|(first, ..)| *first <= slot);
        let (_, last, node) = self.ranges.get(next.checked_sub(1)?)?;
        (slot <= *last).then_some(node)
    }

    /// Returns every primary, each once.
    pub(crate) fn nodes(&self) -> Vec<&Node> {
        let mut nodes: Vec<&Node> = self.ranges.iter().map(|(.., node)| node).collect();
        nodes.sort_unstable();
        nodes.dedup();
        nodes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(first: i64, last: i64, host: &str, port: i64) -> Value {
        let node = vec![Value::BulkString(host.into()), Value::Int(port), Value::BulkString("id".into())];
        Value::Array(vec![Value::Int(first), Value::Int(last), Value::Array(node)])
    }

    #[test]
    fn a_slot_is_found_in_its_range_and_nowhere_else() {
        let reply = Value::Array(vec![
            range(100, 200, "b", 2),
            range(0, 99, "", 1),
            range(300, 16_382, "b", 2),
            range(16_383, 16_383, "?", 1),
        ]);
        let slots = Slots::read(&reply, "asked").unwrap();
        assert_eq!(slots.node(0), Some(&("asked".to_owned(), 1)));
        assert_eq!(slots.node(99), Some(&("asked".to_owned(), 1)));
        assert_eq!(slots.node(100), Some(&("b".to_owned(), 2)));
        assert_eq!(slots.node(250), None);
        assert_eq!(slots.node(16_382), Some(&("b".to_owned(), 2)));
        assert_eq!(slots.node(16_383), Some(&("asked".to_owned(), 1)), "a host that is not known");
        assert_eq!(slots.nodes().len(), 2);
        assert!(Slots::read(&Value::Okay, "asked").is_none());
    }
}
