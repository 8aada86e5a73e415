//! The flight recorder: the last inputs of a member and the outputs of each turn, so that the core of this binary, or of
//! another one, can be asked later whether it does the same.
//!
//! | file | room |
//! |---|---|
//! | `tape` | what the election thread writes down, in bounded memory |
//! | `document` | the file of a recording, with what `GET /trace` shows |
//! | `replay` | runs the inputs again, and compares |
//!
//! A flight consists of segments. Each begins with the whole state of the core, and goes on with turns: the time, the
//! input, the outputs. So it replays from any segment on, and the oldest is dropped when there is no more room.
//!
//! There is no secret in it. The core has none of this node: tokens and keys are not in it, and of the secret that would
//! certify the death of this node it knows the hash alone. The certificates of dead incarnations are kept with what
//! proves them: that left its host when it came to the core, it proves nothing but what is true for ever, and without
//! it no replay could judge the certificate. Of tasks there is a checksum in place of their content.

pub mod document;
pub mod replay;
pub mod tape;
