//! One call of the counters' script: questions about some counters, and its reply read.

use redis::{Cmd, Value};
use tidegate_algorithms::Timestamp;
use tidegate_store::StoreError;

use super::{Tally, Told, What};
use crate::script::Script;

const SOURCE: &str = include_str!("../script/lua/counter.lua");

/// Returns the counters' script.
pub(crate) fn counter_script() -> Script {
    Script::of(SOURCE)
}

/// A call of the script.
#[derive(Debug)]
pub(crate) struct CounterCall<'o> {
    tallies: Vec<&'o Tally>,
}

impl<'o> CounterCall<'o> {
    pub(crate) fn new(tallies: Vec<&'o Tally>) -> Self {
        Self { tallies }
    }

    /// Returns the command.
    pub(crate) fn evalsha(&self, sha1: &str) -> Cmd {
        let mut cmd = redis::cmd("EVALSHA");
        cmd.arg(sha1).arg(self.tallies.len());
        for tally in &self.tallies {
            cmd.arg(tally.name.as_slice());
        }
        for tally in &self.tallies {
            let (what, units, span) = match tally.what {
                What::Count { units, window } => ("count", units, window),
                What::Look { window } => ("look", 0, window),
                What::Give { units, ends } => ("give", units, ends),
                What::Forget => ("forget", 0, 0),
            };
            cmd.arg(what).arg(units).arg(span);
        }
        cmd
    }

    /// Reads the reply: what each counter told, an error for one that is no counter.
    ///
    /// # Errors
    /// When it is no reply of the script; what was counted is unknown then.
    pub(crate) fn read(&self, reply: &Value) -> Result<Vec<Result<Told, StoreError>>, StoreError> {
        let unreadable = || {
            StoreError::rejected("the counters' script answered what is no answer of its").perhaps_counted()
        };
        let Value::Array(parts) = reply else { return Err(unreadable()) };
        let [seconds, micros, told @ ..] = parts.as_slice() else { return Err(unreadable()) };
        let at = number(seconds).zip(number(micros)).and_then(|(seconds, micros)| {
            Timestamp::from_micros(u64::try_from(seconds.checked_mul(1_000_000)?.checked_add(micros)?).ok()?)
        });
        let (Some(at), (pairs, [])) = (at, told.as_chunks::<2>()) else { return Err(unreadable()) };
        if pairs.len() != self.tallies.len() {
            return Err(unreadable());
        }
        let told = self.tallies.iter().zip(pairs).map(|(tally, [count, left])| {
            let left = number(left).ok_or_else(unreadable)?;
            if *count == Value::Nil {
                return Err(no_counter(&tally.name));
            }
            let count = number(count).ok_or_else(unreadable)?;
            Ok(Told { at, count, left: u64::try_from(left).ok() })
        });
        Ok(told.collect())
    }
}

fn number(value: &Value) -> Option<i64> {
    match value {
        Value::Int(number) => Some(*number),
        Value::BulkString(digits) => std::str::from_utf8(digits).ok()?.parse().ok(),
        _ => None,
    }
}

/// A key's name holds whom it counts: it is told in the log of whoever runs both programs, and cut.
fn no_counter(name: &[u8]) -> StoreError {
    let text = String::from_utf8_lossy(name);
    let shown: String = text.chars().take(80).flat_map(char::escape_debug).collect();
    StoreError::rejected(format!(
        "the value of the shared counter {shown} is no whole number, so that nobody can count there; who wrote it? \
         `DEL` removes it"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(parts: Vec<Value>) -> Result<Vec<Result<Told, StoreError>>, StoreError> {
        let tally = Tally { name: b"a".to_vec(), what: What::Look { window: 5 } };
        CounterCall::new(vec![&tally]).read(&Value::Array(parts))
    }

    fn text(text: &str) -> Value {
        Value::BulkString(text.as_bytes().to_vec())
    }

    /// What is not the script's would be taken for a count.
    #[test]
    fn only_a_reply_of_the_script_is_read() {
        let told = read(vec![text("1"), text("500"), text("7"), Value::Int(20)]).unwrap();
        let told = told[0].as_ref().unwrap();
        assert_eq!((told.at.as_micros(), told.count, told.left), (1_000_500, 7, Some(20)));
        assert!(read(vec![text("1"), text("5"), Value::Nil, Value::Int(0)]).unwrap()[0].is_err());
        for parts in [
            vec![],
            vec![text("1"), text("5")],
            vec![text("1"), text("5"), text("7")],
            vec![text("x"), text("5"), text("7"), Value::Int(20)],
            vec![text("1"), text("5"), text("7"), Value::Int(20), text("7"), Value::Int(20)],
        ] {
            assert!(read(parts.clone()).unwrap_err().may_have_counted(), "{parts:?}");
        }
    }
}
