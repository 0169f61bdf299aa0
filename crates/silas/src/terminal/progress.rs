//! How far some work is: a bar for a person, a line for each step where nobody looks, nothing where a program reads.

use super::line::Step;
use super::print::took;
use super::printed::Printed;
use crate::out::wrap;
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::Value;
use std::io::IsTerminal;
use std::time::Duration;

pub(super) struct Progress {
    is_told: bool,
    bar: Option<ProgressBar>,
    printed: Printed,
}

impl Progress {
    pub(super) fn new(is_told: bool) -> Self {
        let is_watched = is_told && std::io::stderr().is_terminal();
        let style = ProgressStyle::with_template("  {bar:20} {pos} of {len}  {wide_msg}").ok();
        let bar = style.filter(|_| is_watched).map(|style| {
            let bar = ProgressBar::new(0).with_style(style).with_message("working in a private copy");
            bar.enable_steady_tick(Duration::from_millis(500));
            bar
        });
        Progress { is_told, bar, printed: Printed::default() }
    }

    pub(super) fn step(&mut self, step: &Step) {
        let text = format!("  {}{}", step.label, took(step.took_ms));
        match &self.bar {
            Some(bar) => {
                bar.set_length(step.n_steps as u64);
                bar.println(wrap::wrapped(&text, wrap::columns(&std::io::stderr())));
                bar.inc(1);
            }
            None if self.is_told => println!("{text}"),
            None => {}
        }
    }

    /// What is printed meanwhile, where somebody looks on.
    pub(super) fn printed(&mut self, output: &Value) {
        for line in self.printed.news(output) {
            match &self.bar {
                Some(bar) => bar.println(line),
                None if self.is_told => println!("{line}"),
                None => {}
            }
        }
    }

    pub(super) fn end(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
