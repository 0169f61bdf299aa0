//! The sample project for the first minute: its files, what mends it and what judges that. Texts only; laying them out is the
//! launcher's, and what is run there is a plan like any other.

/// A file of the sample, by its path below the sample's directory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SampleFile {
    pub path: &'static str,
    pub text: &'static str,
}

/// One directory deep at most; whoever lays it out counts on that.
pub const FILES: [SampleFile; 7] = [
    SampleFile { path: "README.md", text: include_str!("../sample/README.md") },
    SampleFile { path: "high-water.txt", text: include_str!("../sample/high-water.txt") },
    SampleFile { path: "tides.sh", text: include_str!("../sample/tides.sh") },
    SampleFile { path: "tests/expect.sh", text: include_str!("../sample/tests/expect.sh") },
    SampleFile { path: "tests/midnight.sh", text: include_str!("../sample/tests/midnight.sh") },
    SampleFile { path: "tests/summer.sh", text: include_str!("../sample/tests/summer.sh") },
    SampleFile { path: "tests/winter.sh", text: include_str!("../sample/tests/winter.sh") },
];

/// What the plan is called.
pub const TITLE: &str = "Mend the summer times of the sample project";

/// What mends it.
pub const FIX: &str = "sed -i '/summer/s/ahead=1/ahead=2/' tides.sh";

/// What that changes: the tests open it, and are not judged by it.
pub const CHANGES: &str = "tides.sh";

/// A check, by a name that says what it looks at.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SampleCheck {
    pub name: &'static str,
    pub run: &'static str,
}

/// The first is red until it is mended; the others are green and stay so.
pub const CHECKS: [SampleCheck; 3] = [
    SampleCheck { name: "summer times", run: "sh tests/summer.sh" },
    SampleCheck { name: "winter times", run: "sh tests/winter.sh" },
    SampleCheck { name: "times past midnight", run: "sh tests/midnight.sh" },
];

/// What its directory is called: the first is `silas-sample`, the others are numbered from 2 on.
pub fn directory_name(number: u32) -> String {
    if number <= 1 { "silas-sample".to_owned() } else { format!("silas-sample-{number}") }
}

#[cfg(test)]
mod tests;
