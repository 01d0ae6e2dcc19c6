//! How much of the processor was used: by a thread of ours, and by another process.

use std::time::Duration;

/// Returns the processor's time that this thread has used.
pub(crate) fn own_thread() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.try_into().unwrap_or(0), time.tv_nsec.try_into().unwrap_or(0))
}

/// Returns how long this thread could have run and had no processor, as far as the system tells: Linux does.
pub(crate) fn own_waiting() -> Duration {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let waited = text.split_ascii_whitespace().nth(1).and_then(|nanos| nanos.parse().ok());
    Duration::from_nanos(waited.unwrap_or(0))
}

/// Returns the processor's time that a process has used, all of its threads together.
///
/// # Errors
/// In words with a remedy, when there is none of that number, or the system does not tell.
pub fn of_process(pid: u32) -> Result<Duration, String> {
    let path = format!("/proc/{pid}/stat");
    let text = std::fs::read_to_string(&path).map_err(|error| {
        format!(
            "--pid {pid}: {path}: {error}; name a process that runs on this machine, which has to be Linux"
        )
    })?;
    ticks(&text)
        .and_then(|ticks| ticks.checked_mul(1_000_000)?.checked_div(rustix::param::clock_ticks_per_second()))
        .map(Duration::from_micros)
        .ok_or_else(|| format!("--pid {pid}: {path} is not what Linux writes there"))
}

/// Reads the ticks in user and system mode. A process's name may hold anything, and ends with the last bracket.
fn ticks(stat: &str) -> Option<u64> {
    let (_, fields) = stat.rsplit_once(')')?;
    let mut fields = fields.split_ascii_whitespace().skip(11);
    let mut next = || fields.next()?.parse::<u64>().ok();
    next()?.checked_add(next()?)
}

/// Returns how many processors this process may use.
pub fn processors() -> u32 {
    let all = std::thread::available_parallelism().map_or(1, std::num::NonZeroUsize::get);
    u32::try_from(all).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_brackets_and_blanks_hides_no_ticks() {
        let stat = "7 (a) b (c)) S 1 7 7 0 -1 4194560 1 0 0 0 150 50 0 0 20 0 1 0 1 1 1";
        assert_eq!(ticks(stat), Some(200));
        assert_eq!(ticks("7 (a) S 1"), None);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_process_that_is_not_there_is_named_with_the_flag() {
        assert!(of_process(std::process::id()).is_ok());
        let error = of_process(u32::MAX).unwrap_err();
        assert!(error.starts_with("--pid 4294967295: "), "{error}");
    }
}
