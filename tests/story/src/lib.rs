//! `#[story]` marks a test with processes, in place of `#[test]`: `support/pulse.rs` decides how it is
//! run.

use proc_macro::{Delimiter, Group, TokenStream, TokenTree};

/// Makes a test of a function without arguments.
#[proc_macro_attribute]
pub fn story(_: TokenStream, function: TokenStream) -> TokenStream {
    let mut tokens: Vec<TokenTree> = function.into_iter().collect();
    let body = TokenStream::from_iter(tokens.pop()); // what stands last
    let mut told = parsed("crate::support::pulse::tell");
    let story = TokenStream::from_iter([parsed("||"), body]);
    told.extend([TokenTree::from(Group::new(Delimiter::Parenthesis, story))]);
    tokens.push(Group::new(Delimiter::Brace, told).into());
    parsed("#[test]").into_iter().chain(tokens).collect()
}

fn parsed(code: &str) -> TokenStream {
    code.parse().expect("it is Rust")
}
