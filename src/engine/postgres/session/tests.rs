//! Answers of servers that are none.
