//! Each rule of a type holds however a value arrives: as JSON and as YAML.

use serde::Serialize;
use serde::de::DeserializeOwned;
use silas_core::check::{Check, Expectation};
use silas_core::decimal::Decimal;
use silas_core::evidence::Evidence;
use silas_core::relpath::RelPath;
use silas_core::roots::Place;
use silas_core::work::{Budget, Definition, WorkItem};
use silas_core::{CardId, Digest, InstallationId, KeyId, Timestamp, WorkItemId};
use std::fmt::Debug;

/// JSON is YAML, so one text is read by both.
#[track_caller]
fn accepted<T: DeserializeOwned + Serialize + PartialEq + Debug>(text: &str) -> T {
    let from_json: T = serde_json::from_str(text).unwrap();
    let from_yaml: T = serde_saphyr::from_str(text).unwrap();
    assert_eq!(from_json, from_yaml, "{text}");
    let again: T = serde_json::from_str(&serde_json::to_string(&from_json).unwrap()).unwrap();
    assert_eq!(from_json, again, "{text}");
    from_json
}

#[track_caller]
fn refused<T: DeserializeOwned + Debug>(text: &str) {
    assert!(serde_json::from_str::<T>(text).is_err(), "as JSON: {text}");
    assert!(serde_saphyr::from_str::<T>(text).is_err(), "as YAML: {text}");
}

#[test]
fn expectations() {
    for one in [
        r#"{"exit_code":0}"#,
        r#"{"exit_code":-1,"equals":null}"#,
        r#"{"equals":""}"#,
        r#"{"contains":"x"}"#,
        r#"{"regex":"^a$"}"#,
        r#"{"output_lt":"0.50"}"#,
        r#"{"output_gt":"-3"}"#,
        r#"{"file_exists":"out/a..b"}"#,
        r#"{"not_empty":true}"#,
    ] {
        accepted::<Expectation>(one);
    }
    for other in [
        "{}",
        r#"{"exit_code":null}"#,
        r#"{"exit_code":0,"equals":"x"}"#,
        r#"{"exit_code":0,"not_empty":false}"#,
        r#"{"not_empty":false}"#,
        r#"{"exit_code":2147483648}"#,
        r#"{"exit_code":"zero"}"#,
        r#"{"output_lt":"1e5"}"#,
        r#"{"output_lt":""}"#,
        r#"{"regex":"("}"#,
        r#"{"regex":"a(?!b)"}"#,
        r#"{"file_exists":""}"#,
        r#"{"file_exists":"../x"}"#,
        r#"{"file_exists":"a/.."}"#,
        r#"{"exit_cod":0}"#,
        r#"{"exit_code":0,"exit_code":0}"#,
        r#""exit_code""#,
    ] {
        refused::<Expectation>(other);
    }
    assert_eq!(
        serde_json::to_string(&accepted::<Expectation>(r#"{"output_lt":"0.50"}"#)).unwrap(),
        r#"{"output_lt":"0.5"}"#
    );
}

#[test]
fn a_threshold_written_as_a_yaml_number_is_exact() {
    let read: Expectation = serde_saphyr::from_str("output_lt: 0.1000000000000000055511151231").unwrap();
    assert_eq!(read, Expectation::OutputLt(Decimal::parse("0.1000000000000000055511151231").unwrap()));
    assert!(serde_json::from_str::<Expectation>(r#"{"output_lt":0.5}"#).is_err(), "a JSON number went through a float");
}

#[test]
fn budgets() {
    let whole =
        r#"{"max_tokens":1,"max_cost_microusd":2,"max_wall_time_seconds":3,"max_attempts":4,"max_planner_calls":5}"#;
    accepted::<Budget>(whole);
    for (from, to) in [
        ("\"max_tokens\":1", "\"max_tokens\":-1"),
        ("\"max_tokens\":1", "\"max_tokens\":1.5"),
        ("\"max_tokens\":1", "\"max_tokens\":null"),
        ("\"max_tokens\":1,", ""),
        ("\"max_attempts\":4", "\"max_attempts\":4294967296"),
        ("\"max_cost_microusd\":2", "\"max_cost_usd\":2"),
        ("{", "{\"max_everything\":1,"),
    ] {
        refused::<Budget>(&whole.replacen(from, to, 1));
    }
}

#[test]
fn ids() {
    accepted::<WorkItemId>(r#""task-1""#);
    accepted::<CardId>(r#""card-a-B-9""#);
    for other in [r#""card-1""#, r#""task-""#, r#""task- 1""#, r#""task-1/..""#, r#""""#, "{}", "[]"] {
        refused::<WorkItemId>(other);
    }
    refused::<InstallationId>(r#""task-1""#);
    refused::<KeyId>(r#""token-1""#);
    refused::<Digest>(r#""ABCD""#);
    assert!(serde_json::from_str::<WorkItemId>("1").is_err());
}

#[test]
fn times_decimals_and_paths() {
    accepted::<Timestamp>(r#""2026-11-15T20:42:25.000000Z""#);
    for other in [r#""2026-11-15T20:42:25Z""#, r#""2026-02-30T00:00:00.000000Z""#, r#""2026-11-15""#, "{}", "[0]"] {
        refused::<Timestamp>(other);
    }
    assert!(serde_json::from_str::<Timestamp>("0").is_err());

    accepted::<Decimal>(r#""-12.50""#);
    for other in [r#""1e5""#, r#""+1""#, r#""""#, r#"".5""#, r#""0x1""#, "{}"] {
        refused::<Decimal>(other);
    }
    accepted::<RelPath>(r#""src/\\\\a\\xff""#);
    for other in [r#""/etc""#, r#""../a""#, r#""a//b""#, r#""a\\x61""#, r#""\\q""#, r#""""#, r#""a\u0000b""#, "{}"] {
        refused::<RelPath>(other);
    }
}

#[test]
fn what_is_not_known_is_not_dropped() {
    refused::<Place>(r#"{"path":"/a","device":"1","inode":"2","more":1}"#);
    refused::<Place>(r#"{"path":"/a","device":"1"}"#);
    refused::<Check>(r#"{"name":"a","run":"b","expect":{"exit_code":0},"timeout":1,"network":false,"user":"root"}"#);
    refused::<Check>(r#"{"name":"a","run":"b","timeout":1,"network":false}"#);
    refused::<Evidence>("{}");
    let item = silas_core::plan::parse(b"---\nid: task-1\ntype: task\ntitle: t\n---\n").unwrap();
    let mut json = serde_json::to_value(&item).unwrap();
    accepted::<WorkItem>(&json.to_string());
    json["approved"] = true.into();
    refused::<WorkItem>(&json.to_string());
    refused::<Definition>(&json.to_string());
}
