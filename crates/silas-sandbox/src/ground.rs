//! What the launcher is told once, when it is sealed, and stands on from then on.

use crate::cell::{Limits, LimitsInForce};
use crate::error::Doing;
use crate::extent::Bounds;
use crate::memory::Memory;
use crate::{Error, ToolPlaces, durable, handed_over, mounted};
use serde::{Deserialize, Serialize};
use silas_core::evidence::Anchor;
use silas_core::handover::Handover;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Accepted once, before anything else can be asked.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Seal {
    pub data_dir: PathBuf,
    /// What else is Silas's own and never granted: its settings, what it keeps outside its data.
    #[serde(default)]
    pub own: Vec<PathBuf>,
    pub anchor: Anchor,
    /// By which the root key of the anchor came to be that.
    pub handovers: Vec<Handover>,
    /// How long what an apply replaced is kept.
    pub undo_window_secs: u64,
    pub limits: CellLimits,
    pub copies: Copies,
    /// How much a copy may hold.
    #[serde(default)]
    pub bounds: Bounds,
    /// Where tools outside `/usr` are looked for.
    pub tools: ToolPlaces,
}

/// How the private copies of directories are made.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Copies {
    /// As layers over the directories where that works, otherwise whole.
    #[default]
    Auto,
    /// Always whole: slower, but the work never sees what the owner saves meanwhile.
    Whole,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Sealed {
    /// Pairs one device within five minutes.
    pub pairing_code: String,
    /// What holds the programs of a cell to their memory, here and for this user.
    pub limits: LimitsInForce,
}

/// What every cell is held to. Time is not here: it comes from the plan.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct CellLimits {
    pub output_bytes_max: usize,
    pub memory_bytes_max: u64,
    pub cpu_secs_max: u64,
    pub processes_max: u64,
    pub file_bytes_max: u64,
    /// Those at which Silas answers on this machine.
    #[serde(default)]
    pub closed_ports: Vec<u16>,
}

impl Default for CellLimits {
    fn default() -> Self {
        let Limits {
            wall: _,
            output_bytes_max,
            memory_bytes_max,
            cpu_secs_max,
            processes_max,
            file_bytes_max,
            closed_ports,
        } = Limits::default();
        CellLimits { output_bytes_max, memory_bytes_max, cpu_secs_max, processes_max, file_bytes_max, closed_ports }
    }
}

impl CellLimits {
    pub(crate) fn within(&self, wall: Duration) -> Limits {
        Limits {
            wall,
            output_bytes_max: self.output_bytes_max,
            memory_bytes_max: self.memory_bytes_max,
            cpu_secs_max: self.cpu_secs_max,
            processes_max: self.processes_max,
            file_bytes_max: self.file_bytes_max,
            closed_ports: self.closed_ports.clone(),
        }
    }
}

/// The seal, checked, with the launcher's memory opened.
#[derive(Clone, Debug)]
pub(crate) struct Ground {
    /// A real path.
    pub(crate) data_dir: PathBuf,
    /// The data directory and what else is never granted, by their real paths.
    pub(crate) own: Vec<PathBuf>,
    pub(crate) anchor: Anchor,
    pub(crate) undo_window: Duration,
    pub(crate) limits: CellLimits,
    pub(crate) copies: Copies,
    pub(crate) bounds: Bounds,
    pub(crate) tools: ToolPlaces,
    pub(crate) memory: Memory,
}

impl Ground {
    pub(crate) fn new(seal: Seal) -> Result<Self, Error> {
        let data_dir = std::fs::canonicalize(&seal.data_dir).doing(|| "Opening the data directory".to_owned())?;
        for private in ["keys", "run", "launcher"] {
            durable::private_dir(&data_dir.join(private)).doing(|| format!("Making {private} private"))?;
        }
        let memory = Memory::open(&launcher(&data_dir))?;
        handed_over::stand_on(&memory, &seal.anchor, seal.handovers)?;
        let own = std::iter::once(data_dir.clone()).chain(seal.own.iter().map(|own| mounted::real(own))).collect();
        Ok(Ground {
            memory,
            own,
            data_dir,
            anchor: seal.anchor,
            undo_window: Duration::from_secs(seal.undo_window_secs),
            limits: seal.limits,
            copies: seal.copies,
            bounds: seal.bounds,
            tools: seal.tools,
        })
    }

    pub(crate) fn keys(&self) -> PathBuf {
        keys(&self.data_dir)
    }
}

pub(crate) fn keys(data_dir: &Path) -> PathBuf {
    data_dir.join("keys")
}

pub(crate) fn launcher(data_dir: &Path) -> PathBuf {
    data_dir.join("launcher")
}
