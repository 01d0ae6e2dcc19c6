//! Families as the format writes them.

use std::fmt;
use std::time::Duration;

use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric as _, NoLabelSet};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use tidegate::{DURATION_BUCKETS, DurationsSeen, WaitsSeen};

pub(super) type Labels<'a> = Vec<(&'static str, &'a str)>;

/// Buckets by their ends in seconds, each with what is in it alone; what is beyond the last; and the sum in seconds.
pub(super) struct Histogram {
    buckets: Vec<(f64, u64)>,
    sum: Duration,
}

impl From<&DurationsSeen> for Histogram {
    fn from(seen: &DurationsSeen) -> Self {
        let ends = DURATION_BUCKETS.iter().map(|end| Duration::from_micros(*end).as_secs_f64());
        // Without a single one there are no counts at all.
        let counts = seen.counts.iter().copied().chain(std::iter::repeat(0));
        Self { buckets: ends.chain([f64::INFINITY]).zip(counts).collect(), sum: seen.sum }
    }
}

impl From<&WaitsSeen> for Histogram {
    fn from(seen: &WaitsSeen) -> Self {
        let buckets = seen.buckets.iter().map(|(end, count)| (end.as_secs_f64(), *count));
        Self { buckets: buckets.chain([(f64::INFINITY, seen.beyond)]).collect(), sum: seen.sum }
    }
}

pub(super) fn histogram(
    to: &mut DescriptorEncoder<'_>,
    (name, help): (&str, &str),
    values: impl Into<Histogram>,
) -> Result<(), fmt::Error> {
    let Histogram { buckets, sum } = values.into();
    let count = buckets.iter().map(|(_, count)| count).sum();
    let mut family = to.encode_descriptor(name, help, None, MetricType::Histogram)?;
    family.encode_histogram::<NoLabelSet>(sum.as_secs_f64(), count, &buckets, None)
}

pub(super) fn counters<'a>(
    to: &mut DescriptorEncoder<'_>,
    (name, help): (&str, &str),
    values: impl IntoIterator<Item = (Labels<'a>, u64)>,
) -> Result<(), fmt::Error> {
    let mut family = to.encode_descriptor(name, help, None, MetricType::Counter)?;
    for (labels, value) in values {
        if labels.is_empty() {
            family.encode_counter::<NoLabelSet, _, u64>(&value, None)?;
        } else {
            ConstCounter::new(value).encode(family.encode_family(&labels)?)?;
        }
    }
    Ok(())
}

pub(super) fn gauge(
    to: &mut DescriptorEncoder<'_>,
    (name, help): (&str, &str),
    value: u64,
) -> Result<(), fmt::Error> {
    ConstGauge::new(value).encode(to.encode_descriptor(name, help, None, MetricType::Gauge)?)
}

pub(super) fn gauges<'a>(
    to: &mut DescriptorEncoder<'_>,
    (name, help): (&str, &str),
    values: impl IntoIterator<Item = (Labels<'a>, u64)>,
) -> Result<(), fmt::Error> {
    let mut family = to.encode_descriptor(name, help, None, MetricType::Gauge)?;
    for (labels, value) in values {
        ConstGauge::new(value).encode(family.encode_family(&labels)?)?;
    }
    Ok(())
}

pub(super) fn info<const N: usize>(
    to: &mut DescriptorEncoder<'_>,
    (name, help): (&str, &str),
    labels: &[(&'static str, &str); N],
) -> Result<(), fmt::Error> {
    to.encode_descriptor(name, help, None, MetricType::Info)?.encode_info(&labels.as_slice())
}
