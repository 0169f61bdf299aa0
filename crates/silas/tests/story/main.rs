//! Whole stories against the real binary: real launcher, real sandbox, real SQLite, a real data directory.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod backup;
mod bad_input;
mod crash;
mod demo;
mod doctor;
mod doors;
mod forget;
mod harness;
mod http;
mod inv_01;
mod inv_02;
mod inv_03;
mod inv_04;
mod inv_05;
mod inv_06;
mod kills;
mod known_head;
mod ledger;
mod listeners;
mod outside;
mod page;
mod projects;
mod proving;
mod queue;
mod reach;
mod resting;
mod revocation;
mod sandbox;
mod secrets;
mod story;
mod tasks;
mod traces;
mod upkeep;
mod workspace;
