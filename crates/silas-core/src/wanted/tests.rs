//! Which plan would have been enough.

use super::*;
use crate::plan;

const PLAN: &str = "---
id: task-1
type: task
title: Fetch
steps:
  - run: curl -O https://tides.example/zones.csv
  - run: ./build
verify:
  - name: built
    run: make check
    expect: {exit_code: 0}
  - name: online
    run: make online
    expect: {exit_code: 0}
    network: true
sandbox:
  hosts: [\"old.example:443\"]
  directories:
    - path: /home/me/tides
      access: write
---
Fetch it.
";

fn definition() -> Definition {
    plan::parse(PLAN.as_bytes()).unwrap().definition().clone()
}

fn wanted(host: &str, by: By, command: &str) -> Wanted {
    Wanted::new(host, by, &Command::Shell(command.to_owned()))
}

fn reach(d: &Definition, by: By) -> String {
    d.hosts_of(&by).iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
}

#[test]
fn the_port_is_the_one_beside_the_name() {
    for (command, ports) in [
        ("curl tides.example", &[443][..]),
        ("curl https://tides.example/x", &[443]),
        ("curl http://tides.example/x", &[80]),
        ("curl http://me@Tides.Example:8080/x", &[8080]),
        ("curl http://tides.example:8080/x https://tides.example:8080/ http://tides.example", &[8080, 80]),
        ("git clone ssh://git@tides.example/x", &[22]),
        ("fetch", &[443]),
        ("curl http://not-tides.example http://tides.example.org http://tides.example-b", &[443]),
        ("curl http://other/tides.example", &[443]),
        ("curl http://x tides.example", &[443]),
        ("curl tides.example:0 tides.example:99999", &[443]),
        ("curl tides.example.", &[443]),
    ] {
        assert_eq!(ports_beside("tides.example", command), ports, "{command}");
    }
}

#[test]
fn only_who_asked_may_reach_it() {
    let d = definition();
    let curl = "curl -O https://tides.example/zones.csv";
    let more = amended(&d, WorkItemId::parse("task-2").unwrap(), &[wanted("tides.example", By::Step(0), curl)]);
    let more = more.unwrap().definition().clone();
    assert_eq!(more.follow_up_of, Some(d.id));
    assert_eq!(reach(&more, By::Step(0)), "old.example:443 tides.example:443");
    assert_eq!(reach(&more, By::Step(1)), "old.example:443");
    assert_eq!(reach(&more, By::Check("built".to_owned())), "");
    assert_eq!(reach(&more, By::Check("online".to_owned())), "old.example:443");
    assert_eq!(reach(&more, By::Model), "");
}

#[test]
fn a_host_of_all_steps_stays_theirs_when_a_check_gets_it_too() {
    let d = definition();
    let built = By::Check("built".to_owned());
    let asks = [wanted("old.example", built.clone(), "make check")];
    let more = amended(&d, WorkItemId::parse("task-2").unwrap(), &asks).unwrap().definition().clone();
    for by in [By::Step(0), By::Step(1), By::Check("online".to_owned()), built] {
        assert_eq!(reach(&more, by), "old.example:443");
    }
    assert_eq!(more.hosts, d.hosts);
}

#[test]
fn the_plan_can_be_written_down_and_read_again() {
    let asks = [
        wanted("tides.example", By::Step(1), "./build"),
        wanted("tides.example", By::Check("built".to_owned()), "make check"),
        wanted("zones.example", By::Check("built".to_owned()), "make check"),
    ];
    let item = amended(&definition(), WorkItemId::parse("task-2").unwrap(), &asks).unwrap();
    assert_eq!(item.definition().hosts.len(), 3);
    assert_eq!(plan::parse(plan::render(&item).as_bytes()).unwrap(), item);
    assert_eq!(WorkItem::from_canonical(&item.canonical().unwrap()).unwrap(), item);
    assert_ne!(item.plan_hash().unwrap(), WorkItem::new(definition()).unwrap().plan_hash().unwrap());
}

#[test]
fn what_nobody_can_mean_is_refused() {
    let host = HostGrant::parse("old.example:443").unwrap();
    let with = |only: &[HostFor]| WorkItem::new(Definition { hosts_for: only.to_vec(), ..definition() });
    let entry = |by: By| HostFor { host: host.clone(), by };
    assert!(with(&[entry(By::Step(1))]).is_ok());
    assert_eq!(with(&[entry(By::Step(2))]).unwrap_err().key, "sandbox.hosts_for[0].step");
    assert_eq!(with(&[entry(By::Check("x".to_owned()))]).unwrap_err().key, "sandbox.hosts_for[0].check");
    assert_eq!(with(&[entry(By::Model)]).unwrap_err().key, "sandbox.hosts_for[0].model");
    assert_eq!(with(&[entry(By::Step(0)), entry(By::Step(0))]).unwrap_err().key, "sandbox.hosts_for[1].host");
    let other = HostFor { host: HostGrant::parse("new.example:443").unwrap(), by: By::Step(0) };
    assert_eq!(with(&[other]).unwrap_err().key, "sandbox.hosts_for[0].host");
    let too_many: Vec<Wanted> = (0..40).map(|n| wanted(&format!("h{n}.example"), By::Step(0), "x")).collect();
    assert!(amended(&definition(), WorkItemId::parse("task-2").unwrap(), &too_many).is_err());
}

#[test]
fn addresses_that_stand_in_a_text() {
    let check = |text: &str, expected: &[&str]| {
        let found: Vec<String> = addresses_in(text).iter().map(ToString::to_string).collect();
        assert_eq!(found, expected, "{text}");
    };
    check("curl http://93.184.216.34:8080/a?to=10.0.0.5", &["93.184.216.34", "10.0.0.5"]);
    check("connect(('192.0.2.9', 22)); ssh me@192.0.2.9.", &["192.0.2.9"]);
    // The cell itself, nobody in particular, and what only looks like one.
    check("127.0.0.1 127.8.8.8 0.0.0.0 255.255.255.255 224.0.0.1", &[]);
    check("lib-1.2.3.4 1.2.3.4.5 v1.2.3.4 01.2.3.4 256.1.1.1 1.2.3 x.1.2.3.4", &[]);
    let many: Vec<String> = (1..=40).map(|n| format!("10.0.0.{n}")).collect();
    assert_eq!(addresses_in(&many.join(",")).len(), NAMES_MAX);
}

#[test]
fn an_address_is_granted_at_the_port_that_was_tried() {
    let command = Command::Shell("curl https://93.184.216.34/ http://tides.example/".to_owned());
    let grants = |host: &str| Wanted::new(host, By::Step(0), &command).grants();
    assert_eq!(grants("93.184.216.34:8080"), [HostGrant::parse("93.184.216.34:8080").unwrap()]);
    assert_eq!(grants("tides.example"), [HostGrant::parse("tides.example:80").unwrap()]);
}
