//! An engine that does as it is told.
