//! The ways in which a question is not answered.

/// Why, as a metric names it and as whoever asked reacts to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Kind {
    /// No answer by the deadline.
    Timeout,
    /// There is no connection.
    Unreachable,
    /// The connection went while an answer was awaited.
    Lost,
    /// Too many questions wait.
    QueueFull,
    /// The server does not know the script.
    NoScript,
    /// It reads its data from the disk.
    Loading,
    /// A script of somebody keeps it.
    Busy,
    /// It is full.
    OutOfMemory,
    /// It is not the primary.
    ReadOnly,
    /// It cannot write to its disk.
    Misconfigured,
    /// It has too few replicas to write.
    NoReplicas,
    /// The user may not do this.
    NotPermitted,
    /// Another node has the slot.
    Moved { host: String, port: u16 },
    /// Another node may have the key already.
    Ask { host: String, port: u16 },
    /// The keys of a slot under way are on two nodes.
    TryAgain,
    /// The cluster has no node for the slot.
    ClusterDown,
    /// The script failed.
    Script,
    /// The answer is none of the script's, or not what this program finds.
    Unreadable,
    /// Anything else.
    Other,
}

impl Kind {
    /// Every kind's name in a metric.
    pub(crate) const NAMES: [&'static str; 19] = [
        "timeout",
        "unreachable",
        "lost",
        "queue_full",
        "noscript",
        "loading",
        "busy",
        "oom",
        "readonly",
        "misconf",
        "noreplicas",
        "noperm",
        "moved",
        "ask",
        "tryagain",
        "clusterdown",
        "script",
        "unreadable",
        "other",
    ];

    /// Returns the place of the kind's name among [`Kind::NAMES`].
    pub(crate) fn index(&self) -> usize {
        match self {
            Self::Timeout => 0,
            Self::Unreachable => 1,
            Self::Lost => 2,
            Self::QueueFull => 3,
            Self::NoScript => 4,
            Self::Loading => 5,
            Self::Busy => 6,
            Self::OutOfMemory => 7,
            Self::ReadOnly => 8,
            Self::Misconfigured => 9,
            Self::NoReplicas => 10,
            Self::NotPermitted => 11,
            Self::Moved { .. } => 12,
            Self::Ask { .. } => 13,
            Self::TryAgain => 14,
            Self::ClusterDown => 15,
            Self::Script => 16,
            Self::Unreadable => 17,
            Self::Other => 18,
        }
    }

    /// Returns whether the connection is of no use any more.
    pub(crate) fn ends_connection(&self) -> bool {
        matches!(self, Self::Lost | Self::ReadOnly)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A name that is off by one tells an operator of another fault than there is.
    #[test]
    fn every_kind_has_its_name() {
        let (host, port) = (String::new(), 0);
        let kinds = [
            (Kind::Timeout, "timeout"),
            (Kind::Unreachable, "unreachable"),
            (Kind::Lost, "lost"),
            (Kind::QueueFull, "queue_full"),
            (Kind::NoScript, "noscript"),
            (Kind::Loading, "loading"),
            (Kind::Busy, "busy"),
            (Kind::OutOfMemory, "oom"),
            (Kind::ReadOnly, "readonly"),
            (Kind::Misconfigured, "misconf"),
            (Kind::NoReplicas, "noreplicas"),
            (Kind::NotPermitted, "noperm"),
            (Kind::Moved { host: host.clone(), port }, "moved"),
            (Kind::Ask { host, port }, "ask"),
            (Kind::TryAgain, "tryagain"),
            (Kind::ClusterDown, "clusterdown"),
            (Kind::Script, "script"),
            (Kind::Unreadable, "unreadable"),
            (Kind::Other, "other"),
        ];
        assert_eq!(kinds.len(), Kind::NAMES.len());
        for (kind, name) in kinds {
            assert_eq!(Kind::NAMES[kind.index()], name);
        }
    }
}
