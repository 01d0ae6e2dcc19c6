//! The corpus: sentences as people write them.

use super::{lines, outcome};

/// Guards the grammar against sentences that people write and it does not read, and against those it takes for what the
/// limit does although they say something else.
#[test]
fn sentences_as_people_write_them_are_read_as_they_are_meant() {
    let mut wrong = Vec::new();
    for file in ["stranger.txt", "stranger_refused.txt", "ours.txt"] {
        for line in lines(file) {
            let reading = line.read();
            let (found, why) = outcome(&reading);
            if found != line.outcome {
                wrong.push(format!(
                    "{file}: {} | {}\n    {} is {found}: {why}",
                    line.quota, line.key, line.sentence
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{} sentences:\n{}", wrong.len(), wrong.join("\n"));
}

/// Guards the reading against its worst fault: to agree with a sentence that says something else to whoever reads it. Words
/// that mean nothing each for itself mean something together.
#[test]
fn sentences_that_only_sound_like_the_limit_do_not_agree() {
    let agreed: Vec<String> = lines("sly.txt")
        .iter()
        .filter(|line| outcome(&line.read()).0 == "agrees")
        .map(|line| format!("{} | {} | {}", line.quota, line.key, line.sentence))
        .collect();
    assert!(agreed.is_empty(), "{} sentences:\n{}", agreed.len(), agreed.join("\n"));
}
