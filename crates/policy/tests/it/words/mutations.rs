//! Limits that are changed under their sentence.

use super::{Line, lines, outcome, split};
use tidegate_policy::words::{Reading, read};

/// The units of time of a policy file.
const UNITS: [&str; 5] = ["ms", "s", "m", "h", "d"];

/// Guards the one promise of the words: numbers that are changed and a sentence that is not no longer agree.
#[test]
fn no_number_unit_or_key_changes_under_a_sentence_that_agreed() {
    let (mut wrong, mut tried) = (Vec::new(), 0);
    for file in super::AGREEING {
        for line in lines(file).into_iter().filter(|line| line.outcome == "agrees") {
            let before = line.limit().unwrap();
            for changed in changes(&line) {
                // Some changes leave the domain, and some write the same limit in another way.
                let Ok(limit) = changed.limit() else { continue };
                let same = limit.terms.quota == before.terms.quota && limit.key == before.key;
                if same
                    && limit.unit == before.unit
                    && limit.cost == before.cost
                    && limit.count == before.count
                {
                    continue;
                }
                tried += 1;
                let reading = read(&line.sentence, &limit.meaning(&limit.terms));
                if matches!(reading, Reading::Agrees { .. }) {
                    let Line { quota, key, members, .. } = changed;
                    wrong.push(format!("{quota} | {key} {members:?}\n    {}", line.sentence));
                }
                let (_, why) = outcome(&reading);
                assert!(matches!(reading, Reading::Agrees { .. }) || !why.is_empty(), "{}", line.sentence);
            }
        }
    }
    assert!(tried >= 3_000, "only {tried} changes were tried");
    assert!(wrong.is_empty(), "{} of {tried} changes:\n{}", wrong.len(), wrong.join("\n"));
}

fn changes(line: &Line) -> Vec<Line> {
    let mut all = Vec::new();
    let quota = |quota: String| Line { quota, ..line.clone() };
    all.extend(numbers(&line.quota).into_iter().map(quota));
    let key = |key: String| Line { key, ..line.clone() };
    all.extend(keys(&line.key).into_iter().map(key));
    for (index, (member, value)) in line.members.iter().enumerate() {
        // A unit is the name of what requests count, and under its name they may cost what they like.
        let has_unit = line.members.iter().any(|(member, _)| member == "unit");
        if member != "unit" && !(member == "cost" && has_unit) {
            let mut without = line.clone();
            without.members.remove(index);
            all.push(without);
        }
        if member == "unit" {
            let mut other = line.clone();
            other.members[index].1 = format!("mega{value}");
            all.push(other);
        }
        if member == "cost" && value.parse::<u32>().is_ok() {
            let mut other = line.clone();
            other.members[index].1 = format!("{value}1");
            all.push(other);
        }
    }
    if !line.members.iter().any(|(member, _)| member == "unit") {
        let mut other = line.clone();
        other.members.push(("unit".to_owned(), "cents".to_owned()));
        all.push(other);
    }
    all
}

/// Returns the quota with each number changed a little and a lot, and each unit of time into every other.
fn numbers(quota: &str) -> Vec<String> {
    let mut all = Vec::new();
    let mut at = 0;
    while let Some(found) = quota[at..].find(|char: char| char.is_ascii_digit()) {
        let start = at + found;
        let digits = quota[start..].find(|char: char| !char.is_ascii_digit()).unwrap();
        let unit = quota[start + digits..].find(|char: char| !char.is_ascii_alphabetic()).unwrap();
        let (number, rest) = (&quota[start..start + digits], &quota[start + digits..]);
        let count: u64 = number.parse().unwrap();
        for other in [count + 1, count.saturating_sub(1), count * 2, count * 10, count * 1000, count / 10] {
            all.push(format!("{}{other}{rest}", &quota[..start]));
        }
        if unit > 0 {
            let after = &rest[unit..];
            all.extend(UNITS.iter().map(|unit| format!("{}{number}{unit}{after}", &quota[..start])));
        }
        at = start + digits + unit;
    }
    for (word, others) in [("day", ["week", "month"]), ("week", ["day", "month"]), ("month", ["day", "week"])]
    {
        if quota.contains(&format!("window: {word}")) {
            all.extend(others.iter().map(|other| quota.replace(word, other)));
        }
    }
    all
}

/// Returns the key with each part changed, left out, and one added.
fn keys(key: &str) -> Vec<String> {
    let parts = split(key);
    let mut all = vec![];
    for index in 0..parts.len() {
        let mut other = parts.clone();
        "zebra".clone_into(&mut other[index]);
        all.push(other.join(","));
        other.remove(index);
        all.push(other.join(","));
    }
    if key == "global" {
        all.push("account".to_owned());
    } else {
        all.push(format!("{key},zebra"));
        all.push("global".to_owned());
    }
    all
}
