//! Which alerts of examples/prometheus fire on what the nodes of one cluster give, if it lasts: promtool tests the rules
//! themselves (tests/cli/admin/metrics.rs).
//!
//! The few forms that these rules have are understood here; any other panics.

use super::seen::{Reached, rules};

/// The names of the alerts that fire, sorted.
pub fn firing(nodes: &[Reached]) -> Vec<String> {
    let rules = rules();
    let values = |key: &'static str| {
        rules.lines().filter_map(move |line| line.trim().split_once(key).map(|(_, rest)| rest))
    };
    let pairs = values("- alert: ").zip(values("expr: "));
    let mut all: Vec<String> =
        pairs.filter(|(_, expr)| holds(expr, nodes)).map(|(name, _)| name.to_owned()).collect();
    all.sort_unstable();
    all
}

/// Whether this expression gives anything for this cluster.
fn holds(expr: &str, nodes: &[Reached]) -> bool {
    if let Some((one, other)) = expr.split_once(" or ") {
        return holds(one, nodes) || holds(other, nodes);
    }
    if let Some((one, other)) = expr.split_once(" unless ") {
        let mut others = other.split(" unless ").map(|it| it.trim_start_matches("on (cluster) "));
        return holds(one, nodes) && !others.any(|other| holds(other, nodes));
    }
    if let Some((one, other)) = expr.split_once(" and ") {
        return holds(one, nodes) && holds(other, nodes);
    }
    let bare = expr.strip_prefix('(').and_then(|expr| expr.strip_suffix(')')).unwrap_or(expr);
    let mut words = bare.rsplitn(3, ' ');
    let (Some(number), Some(sign), Some(of)) = (words.next(), words.next(), words.next()) else {
        panic!("not understood: {expr}");
    };
    let bound: f64 = number.parse().unwrap_or_else(|_| panic!("not understood: {expr}"));
    let compares = |value: f64| match sign {
        ">" => value > bound,
        "==" => (value - bound).abs() < f64::EPSILON,
        _ => panic!("not understood: {expr}"),
    };
    let inner = |of: &str, begin: &str| {
        let inner = of.strip_prefix(begin)?.strip_suffix(')')?;
        Some(series(inner, nodes))
    };
    if let Some(all) = inner(of, "max by (cluster) (") {
        return all.into_iter().reduce(f64::max).is_some_and(compares);
    }
    if let Some(all) = inner(of, "sum by (cluster) (") {
        return !all.is_empty() && compares(all.iter().sum());
    }
    series(of, nodes).into_iter().any(compares)
}

/// The values of a metric, one for each node that gives it. A node that does not answer has only its `up`.
fn series(of: &str, nodes: &[Reached]) -> Vec<f64> {
    if of == "up{job=\"electd\"}" {
        return nodes.iter().map(|node| f64::from(u8::from(node.metrics.is_some()))).collect();
    }
    let (name, label) = of.split_once('{').unwrap_or((of, "}"));
    let label = label.trim_end_matches('}');
    let labels: Vec<String> = match label.split_once("=~") {
        Some((key, any)) => {
            any.trim_matches('"').split('|').map(|it| format!("{key}=\"{it}\"")).collect()
        }
        None => vec![label.to_owned()],
    };
    let is_it = |line: &&str| {
        let rest = line.strip_prefix(name).and_then(|rest| rest.strip_prefix('{'));
        rest.is_some_and(|rest| labels.iter().any(|label| rest.contains(label)))
    };
    let value = |line: &str| line.rsplit(' ').next()?.parse().ok();
    let pages = nodes.iter().filter_map(|node| node.metrics.as_deref());
    pages.flat_map(|page| page.lines().filter(is_it).filter_map(value)).collect()
}

#[test]
fn each_form_of_the_rules_is_understood() {
    let node = |text: &str| Reached {
        name: String::new(),
        log: vec![],
        metrics: (!text.is_empty()).then(|| text.to_owned()),
    };
    let of = |texts: &[&str]| firing(&texts.iter().map(|text| node(text)).collect::<Vec<_>>());
    let led = "electd_has_leader{node=\"a\"} 1\nelectd_is_leader{node=\"a\"} 1\n\
               electd_failures_tolerated{node=\"a\"} 1\nelectd_problems{node=\"a\",kind=\"peer_down\"} 0\n";
    assert_eq!(of(&[led]), [""; 0]);
    assert_eq!(of(&[led, led]), ["ElectdTwoLeaders"]);
    assert_eq!(of(&[led, ""]), ["ElectdMemberDown"]);
    assert_eq!(of(&["", ""]), ["ElectdMemberDown", "ElectdNoLeader"]);
    let missed = led.replace("\"peer_down\"} 0", "\"peer_down\"} 2");
    assert_eq!(of(&[&missed]), ["ElectdPeerDown"]);
    assert_eq!(of(&[&missed, ""]), ["ElectdMemberDown"]);
    let cut = "electd_problems{node=\"b\",kind=\"cut_off\"} 1\n";
    assert_eq!(of(&[&missed, cut]), ["ElectdCutOff"]);
    let tight = led.replace("tolerated{node=\"a\"} 1", "tolerated{node=\"a\"} 0");
    assert_eq!(of(&[&tight]), ["ElectdNoFailureTolerated"]);
    let two = format!("{tight}electd_failures_tolerated_at_most{{node=\"a\"}} 0\n");
    assert_eq!(of(&[&two]), [""; 0], "there never was more");
    assert_eq!(of(&[&tight, ""]), ["ElectdMemberDown"], "one cause, one alert");
    let full = format!("{tight}electd_problems{{node=\"a\",kind=\"storage\"}} 1\n");
    assert_eq!(of(&[&full]), ["ElectdStorage"]);
}
