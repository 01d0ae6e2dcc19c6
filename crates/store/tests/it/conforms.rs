//! The conformance suite, over every store this crate has.

/// The naive store itself: what the others are held against keeps the same rules.
mod naive {
    use tidegate_store::conformance::Naive;
    use tidegate_store::conformance_tests;

    conformance_tests!(Naive::default);
}

/// The memory store with all its locks.
mod memory {
    use tidegate_store::{MemoryOptions, MemoryStore, conformance_tests};

    conformance_tests!(|| MemoryStore::with_secret(MemoryOptions::default(), [7; 16]));
}

/// The memory store with a single lock, where everything meets.
mod memory_with_one_lock {
    use tidegate_store::{MemoryOptions, MemoryStore, conformance_tests};

    conformance_tests!(|| MemoryStore::with_secret(
        MemoryOptions { max_keys: 4_000, ..MemoryOptions::default() },
        [8; 16]
    ));
}

/// A store behind one that may fail, but does not, and behind a pointer that does not say which it is.
mod wrapped {
    use std::sync::Arc;

    use tidegate_store::faulty::Faulty;
    use tidegate_store::{MemoryOptions, MemoryStore, Store, conformance_tests};

    conformance_tests!(|| {
        let memory = MemoryStore::with_secret(MemoryOptions::default(), [9; 16]);
        let store: Arc<dyn Store> = Arc::new(Faulty::new(memory));
        store
    });
}
