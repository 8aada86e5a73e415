//! `tls`: the certificates of a member, and its key.

use std::path::Path;

use super::report::{Object, Report, Spot};
use super::types::MemberConfig;
use electd_host::tls::{AVAILABLE, Files, can_name};

const KEYS: &[&str] = &["ca", "cert", "key"];

/// Reads `tls`, of the cluster or of a member.
pub(super) fn read<'t>(spot: &Spot<'t>, folder: &Path, report: &mut Report<'t>) -> Option<Files> {
    let object = Object::open(spot, KEYS, report)?;
    let mut path = |key, remedy| {
        let spot = object.require(key, remedy, report)?;
        report.path(spot, folder)
    };
    let ca = path("ca", "name the file of the authorities that sign the members' certificates");
    let cert = path("cert", "name the file of the member's certificate");
    let key = path("key", "name the file of the certificate's private key");
    let files = Files { ca: ca?, cert: cert?, key: key? };
    if !AVAILABLE {
        let remedy = "use one that has it, or remove the key: no connection is protected then";
        report.wrong(
            spot,
            "cannot be used: this electd was built without the feature `tls`",
            remedy,
        );
        return None;
    }
    Some(files)
}

/// The settings that all members must share, once those without `tls` of their own have the cluster's.
pub(super) fn check<'t>(members: &[MemberConfig], spot: &Spot<'t>, report: &mut Report<'t>) {
    let (with, without): (Vec<_>, Vec<_>) = members.iter().partition(|member| member.tls.is_some());
    if let (Some(with), Some(without)) = (with.first(), without.first()) {
        let what = format!("has {} with `tls` and {} without", with.name, without.name);
        report.wrong(spot, what, "give it to all members or to none: they refuse each other");
    }
    if let Some(unnamable) = with.iter().find(|member| !can_name(&member.name)) {
        let what = format!("has \"{}\", which no certificate can name", unnamable.name);
        report.wrong(
            spot,
            what,
            "with `tls`, call members as hosts are called, not by digits alone",
        );
    }
}

/// HTTPS shows the certificates of the members.
pub(super) fn check_admin<'t>(members: &[MemberConfig], spot: &Spot<'t>, report: &mut Report<'t>) {
    if let Some(without) = members.iter().find(|member| member.tls.is_none()) {
        let what = format!("is true, and {} has no `tls`", without.name);
        report.wrong(spot, what, "give the members `tls`: HTTPS shows their certificates");
    }
}
